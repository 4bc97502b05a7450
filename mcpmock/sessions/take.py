"""`TakeRecording`: a take while it is recorded: its file, header and footer, and what happens when
something cannot be recorded.

`run` decides how many conversations there are: each gets a recorder of its own, and all write one
take. What a recorder notes is the affair of `recording`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct, field, structs

from mcpmock.cassette import FORMAT
from mcpmock.cassette.file import (
    TakeFile,
    find_siblings,
    join_siblings,
    open_take,
    part_of,
    rules_in,
    sibling_path,
    words_of,
)
from mcpmock.cassette.model import Header
from mcpmock.cassette.project_folder import find_recording, is_in_project_folder
from mcpmock.errors import CassetteError, RecordingIncomplete
from mcpmock.printable import first_of, many, mcpmock_command
from mcpmock.protocol.messages import C2S, Frame, StopSignal
from mcpmock.recording.recorder import Ledger, Recorder, with_reason
from mcpmock.redaction.redaction_rules import NO_OWN_RULES, RedactionRules
from mcpmock.redaction.redactor import Redactor, redaction_of
from mcpmock.version import VERSION

LOCK_TIMEOUT_S = 2.0
"""How long a recorder waits for another one to release its file."""
_LOCK_POLL_S = 0.01
_SYNC_INTERVAL_S = 1.0
_SEAL_INTERVAL_S = 0.2

Say = Callable[[str], None]
"""Shows the user one line, on standard error."""


class Recording(Struct, frozen=True, kw_only=True):
    """Where and how to record: the options of `mcpmock record`."""

    output: Path
    folder: bool = False
    """`output` is a folder: every run gets a file of its own in it."""
    overwrite: bool = False
    new: bool = False
    strict: bool = False
    redact: bool = True
    rules: RedactionRules = NO_OWN_RULES
    """The redaction rules of the user."""
    placeholders: int = 0
    """The highest number of the placeholders that a driven client sends."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The values that it sends in place of some of them: secrets, wherever they appear."""
    says_end: bool = False
    """Whether a line at the end says what was recorded: nothing else says that it is whole."""
    test: str | None = None
    """The test that is recorded, for the header."""
    match: Any = None
    """The rules about what may differ, for the header: those of what it is recorded in place of."""
    sibling_of: Path | None = None
    """The cassette that was locked by another recorder, when `output` stands in for it."""
    in_project: bool = False
    """`output` is in the folder of a project's recordings. Its configuration is shared: where the
    file cannot be opened, the client has its server all the same (`may_be_missing`).
    """

    @classmethod
    def to(cls, output: str, **how: Any) -> Recording:
        """Read the words of the command line: a slash at the end makes it a folder."""
        folder, in_project = output.endswith(os.sep), is_in_project_folder(output)
        return cls(output=Path(output), folder=folder, in_project=in_project, **how)

    @property
    def may_be_missing(self) -> bool:
        """Whether the session goes on if the file cannot be opened."""
        return self.in_project and not (self.new or self.strict)


class TakeRecording(Struct, eq=False):
    """A take while it is recorded. Made by `open_take_recording`."""

    file: TakeFile
    ledger: Ledger
    recording: Recording
    say: Say
    packed: Path | None = None
    """The `.gz` that the plain file is packed into at the clean close."""
    incomplete: str | None = None
    _gap_reported: bool = False
    _revised: int = 0
    """Up to which event values were looked for that became known to be secret behind it."""

    @asynccontextmanager
    async def recorded(self, transport: str, target: Sequence[str] | str) -> AsyncIterator[None]:
        """Write the header, at the end of the block the footer. Raises RecordingIncomplete then if
        anything is missing.
        """
        self._begin(transport, target)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_synced)
            nursery.start_soon(self._keep_sealed)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()
        self._close()
        if self.incomplete is not None:
            raise RecordingIncomplete(f"{self.file.path}: {self._loss}")
        if self.recording.says_end:
            self.say(f"{self._cassette}: {many(self.file.events, 'event')} recorded")

    def on_gap(self, reason: str) -> None:
        self.incomplete = with_reason(self.incomplete or "", reason)
        if not self._gap_reported:
            self._gap_reported = True
            goes_on = "the session ends here" if self.recording.strict else "the session goes on"
            self.say(f"{self.file.path}: cannot record: {reason}; {goes_on}")

    def authorized(self, value: dict[str, Any]) -> None:
        """Note how requests to the server are authorized from now on."""
        self.recorder().authorized(value, trio.current_time())

    def signalled(self, signum: int) -> None:
        """Note a signal that asks the server to end."""
        self.ledger.ending = True
        self.recorder().feed([Frame(C2S, fact=StopSignal(signum))], trio.current_time())

    def recorder(self, session: int = 1) -> Recorder:
        """Return a stage that records one conversation."""
        return Recorder(self.ledger, session)

    @contextmanager
    def conversation(self, session: int) -> Iterator[Recorder]:
        """Open its recorder. A conversation that an internal error ends is not recorded whole: the
        take counts a gap.
        """
        try:
            yield self.recorder(session)
        except* Exception as group:
            self.ledger.lose(session, 1, 0, f"the session was ended by {group.exceptions[0]!r}")
            raise

    def next_recording(self) -> Recording:
        """Return how a further take of the same run is recorded: behind this one, into the same
        file.
        """
        output = self.packed or self.file.path
        return structs.replace(
            self.recording, output=output, folder=False, overwrite=False, new=False
        )

    def _begin(self, transport: str, target: Sequence[str] | str) -> None:
        redactor = self.ledger.redactor
        header = Header(
            mcpmock=FORMAT,
            recorded_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            tool=f"mcpmock {VERSION}",
            transport=transport,
            target=_redacted_target(target, redactor),
            redaction=redaction_of(redactor.rules) if redactor else "off",
            match=self.recording.match,
            test=self.recording.test,
            sibling_of=self._cassette.name if self.recording.sibling_of else None,
        )
        try:
            self.file.begin(header)
        except OSError as error:
            self.on_gap(os.strerror(error.errno or 0))
        if redactor is not None:
            redactor.table.learned = False  # by the command line, before the first event

    async def _keep_synced(self) -> None:
        """Group commit: after kill -9 the kernel still has every event, so fsync only matters for a
        power loss, and that costs at most a second.
        """
        synced = 0
        while True:
            await trio.sleep(_SYNC_INTERVAL_S)
            if self.ledger.events == synced:
                continue
            synced = self.ledger.events
            try:
                await trio.to_thread.run_sync(self.file.sync, abandon_on_cancel=True)
            except OSError as error:
                # Never tried again: the kernel may have dropped the dirty pages, and a second fsync
                # would succeed without them.
                self.on_gap(f"cannot sync: {os.strerror(error.errno or 0)}")
                return

    async def _keep_sealed(self) -> None:
        """Have the footer in the file whenever nothing was recorded for a moment, from the end of
        the client's input or the first stop signal on: clients send SIGKILL soon after.
        """
        events = -1
        while True:
            await trio.sleep(_SEAL_INTERVAL_S)
            ledger = self.ledger
            if ledger.ending and ledger.events == events and not ledger.reassembly:
                try:
                    self._revise()
                    self.file.seal(**ledger.counts)
                except OSError as error:
                    self.on_gap(os.strerror(error.errno or 0))
                    return
            events = ledger.events

    @property
    def _loss(self) -> str:
        lost = self.ledger.lost
        if not lost:
            return f"recording incomplete: {self.incomplete}"
        there = self.file.events - self.ledger.noted_gaps
        were = "was" if lost == 1 else "were"
        return f"{lost} of {many(there + lost, 'event')} {were} not recorded: {self.incomplete}"

    def _close(self) -> None:
        try:
            self.ledger.finish(trio.current_time())
            self._revise()
            self._say_skill_files()
            self.file.close(
                packed=self.packed, overwrite=self.recording.overwrite, **self.ledger.counts
            )
        except OSError as error:
            self.on_gap(os.strerror(error.errno or 0))
            return
        try:
            join_siblings(self._cassette)
        except (OSError, CassetteError) as error:
            self.say(f"{self._cassette}: its siblings are not joined: {error}")

    def _say_skill_files(self) -> None:
        """Say which files of skills were redacted: their digests no longer fit."""
        if not self.ledger.counts["redacted"]:
            return
        from mcpmock.redaction.skill_files import describe_redacted, redacted_files_in

        with self.file.path.open("rb") as lines:
            takes = redacted_files_in(lines)
        if takes and takes[-1]:
            self.say(f"{self._cassette}: {describe_redacted(takes[-1])}")

    @property
    def _cassette(self) -> Path:
        """The file that the take belongs into, in the end."""
        return self.recording.sibling_of or self.packed or self.file.path

    def _revise(self) -> None:
        """Replace what became known to be secret after it was recorded; say what cannot be."""
        redactor, events = self.ledger.redactor, self.ledger.revised_events
        if redactor is None or events == self._revised:
            return
        self._revised = events
        from mcpmock.redaction.cassettes import LineReviser  # most recordings do not need it

        reviser = LineReviser(redactor)
        scan = f"`{mcpmock_command('scan', str(self.file.path))}` names the places"
        try:
            self.file.revise(reviser.revise, events)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            self.say(f"{self.file.path}: secrets may be left in it: {reason}; {scan}")
            return
        if reviser.suspects:
            left = first_of([*map(str, sorted(reviser.suspects))], 1)
            where = f"the value of a secret is left in event {left}"
            self.say(f"{self.file.path}: {where}: numbers and split values are not replaced")


async def open_take_recording(recording: Recording, say: Say) -> TakeRecording:
    """Open the file to record to. Where another recorder keeps the file locked, a sibling is
    recorded to instead. Raises CassetteError.
    """
    if recording.in_project:
        recording = structs.replace(
            recording, output=find_in_project(recording.output), in_project=False
        )
    path, packed = _paths(recording)
    # A `.gz` is made at the end, and only then overwritten or added to.
    whole = packed is None
    if recording.overwrite and recording.output.exists():
        join_siblings(recording.output)  # they belong to what is overwritten
        recording = structs.replace(recording, match=rules_in(recording.output))
    give_up = trio.current_time() + LOCK_TIMEOUT_S
    while True:
        file = open_take(path, overwrite=whole and recording.overwrite, new=whole and recording.new)
        if file is not None or trio.current_time() >= give_up:
            break
        await trio.sleep(_LOCK_POLL_S)
    if file is None:
        cassette = packed or path
        sibling = sibling_path(cassette)
        say(f"{cassette}: another mcpmock is recording to it; recording to {sibling}")
        recording = structs.replace(
            recording, output=sibling, folder=False, overwrite=False, sibling_of=cassette
        )
        path, packed = _paths(recording)
        # One of an earlier process with the same id is there if it was killed.
        file = open_take(path, new=path not in find_siblings(cassette))
    if file is None:
        raise CassetteError(path, "another mcpmock is recording to it")
    redactor = Redactor(recording.rules) if recording.redact else None
    if redactor is not None:
        redactor.learn(os.environ)
        redactor.learn_bindings(recording.values)
        redactor.table.reserve(recording.placeholders)
    ledger = Ledger(file.append, redactor, strict=recording.strict)
    take = TakeRecording(file, ledger, recording, say, packed)
    ledger.on_gap = take.on_gap
    return take


def find_in_project(output: Path) -> Path:
    """Return where a recording of the project is, for a process in one of its folders. Raises
    CassetteError.
    """
    # Path.home() fails for a user that the machine does not know, as containers have them.
    home = Path(os.path.expanduser("~"))
    try:
        return find_recording(output, Path.cwd(), home)
    except OSError as error:
        raise CassetteError(error.filename or output, words_of(error)) from error


def _paths(recording: Recording) -> tuple[Path, Path | None]:
    """Return the file to write to, and the one to pack it into at the end, if any."""
    output = recording.output
    if recording.folder:
        # A folder of recordings is emptied by removing it; the next run must start all the same.
        try:
            output.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CassetteError(output, os.strerror(error.errno or 0).lower()) from error
        return output / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.jsonl", None
    if output.suffix != ".gz":
        return output, None
    if recording.new and output.exists():
        raise CassetteError(output, "exists", hint="leave out --new to add a take to it")
    return part_of(output), output


def _redacted_target(target: Sequence[str] | str, redactor: Redactor | None) -> list[str] | str:
    """Return a command line or a URL for a header, without its secrets."""
    if isinstance(target, str):
        return redactor.url(target) if redactor else target
    if redactor:
        return redactor.argv(target)
    return [os.fsencode(word).decode("utf-8", "replace") for word in target]
