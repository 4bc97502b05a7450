"""`TakeRecording`: a take that is being recorded: the file it goes to, its header and footer, and
what is
done when something cannot be recorded.

How many conversations there are, and between which ends, is the business of the modes that stand
above: each conversation gets a `recorder` of its own, and all write one take.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import trio

from mcpmock.cassette.file import TakeFile, open_take
from mcpmock.cassette.model import FORMAT, Header
from mcpmock.errors import CassetteError, RecordingIncomplete
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.redactor import RULES, Redactor
from mcpmock.version import VERSION

LOCK_WAIT = 2.0
"""Seconds that a recorder waits for another one to be done with its file."""
_LOCK_POLL = 0.01
_SYNC_EVERY = 1.0

Say = Callable[[str], None]
"""Tells the user one line, on standard error."""


@attrs.frozen(kw_only=True)
class Recording:
    """Where and how to record: the options of `mcpmock record`."""

    output: Path
    folder: bool = False
    """`output` is a folder: every run gets a file of its own in it."""
    overwrite: bool = False
    new: bool = False
    strict: bool = False
    redact: bool = True
    test: str | None = None
    """The test that is recorded, for the header."""

    @classmethod
    def to(cls, output: str, **how: Any) -> Recording:
        """From the words of the command line: a slash at the end makes it a folder."""
        return cls(output=Path(output), folder=output.endswith(os.sep), **how)


@attrs.define
class TakeRecording:
    """A take being recorded: the ledger, the file it goes to, and what is done when it cannot."""

    file: TakeFile
    ledger: Ledger
    recording: Recording
    say: Say
    packed: Path | None = None
    """Where the plain file is packed to at the clean close."""
    incomplete: str | None = None
    _said: bool = False

    @asynccontextmanager
    async def recorded(self, transport: str, target: Sequence[str] | str) -> AsyncIterator[None]:
        """Header, the session inside, footer. Raises RecordingIncomplete at the end if something is
        missing.
        """
        self._begin(transport, target)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_synced)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()
        self._close()
        if self.incomplete is not None:
            raise RecordingIncomplete(f"{self.file.path}: recording incomplete: {self.incomplete}")

    def on_gap(self, reason: str) -> None:
        self.incomplete = self.incomplete or reason
        if not self._said:
            self._said = True
            goes_on = "the session ends here" if self.recording.strict else "the session goes on"
            self.say(f"{self.file.path}: cannot record: {reason}; {goes_on}")

    def recorder(self, session: int = 1) -> Recorder:
        """A stage that notes one conversation."""
        return Recorder(self.ledger, session)

    @contextmanager
    def conversation(self, session: int) -> Iterator[Recorder]:
        """Its recorder. One that a mistake of ours ended was not recorded whole."""
        try:
            yield self.recorder(session)
        except* Exception as group:
            self.ledger.lose(session, 1, 0, f"the session was ended by {group.exceptions[0]!r}")
            raise

    def _begin(self, transport: str, target: Sequence[str] | str) -> None:
        redactor = self.ledger.redactor
        header = Header(
            mcpmock=FORMAT,
            recorded_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            tool=f"mcpmock {VERSION}",
            transport=transport,
            target=_shown(target, redactor),
            redaction={"rules": RULES} if redactor else "off",
            test=self.recording.test,
        )
        try:
            self.file.begin(header)
        except OSError as error:
            self.on_gap(os.strerror(error.errno or 0))

    async def _keep_synced(self) -> None:
        """Group commit: kill -9 loses nothing as it is, and a power loss no more than a second."""
        synced = 0
        while True:
            await trio.sleep(_SYNC_EVERY)
            if self.ledger.events == synced:
                continue
            synced = self.ledger.events
            try:
                await trio.to_thread.run_sync(self.file.sync, abandon_on_cancel=True)
            except OSError as error:  # never tried again: the kernel may have dropped the pages
                self.on_gap(f"cannot sync: {os.strerror(error.errno or 0)}")
                return

    def _close(self) -> None:
        redacted = self.ledger.redactor.count if self.ledger.redactor else 0
        try:
            self.ledger.finish(trio.current_time())
            self.file.close(
                redacted=redacted,
                gaps=self.ledger.lost,
                packed=self.packed,
                overwrite=self.recording.overwrite,
            )
        except OSError as error:
            self.on_gap(os.strerror(error.errno or 0))


async def open_taking(recording: Recording, say: Say) -> TakeRecording:
    """Opens the file to record to; one that another recorder holds for long is left to it, and a
    sibling taken.
    """
    path, packed = _paths(recording, recording.output)
    whole = packed is None  # a `.gz` is made at the end, and then overwritten or added to
    give_up = trio.current_time() + LOCK_WAIT
    while True:
        file = open_take(path, overwrite=whole and recording.overwrite, new=whole and recording.new)
        if file is not None or trio.current_time() >= give_up:
            break
        await trio.sleep(_LOCK_POLL)
    if file is None:
        sibling = _sibling(packed or path)
        say(f"{packed or path}: another mcpmock is recording to it; recording to {sibling}")
        path, packed = _paths(recording, sibling)
        file = open_take(path, new=True)
    if file is None:
        raise CassetteError(path, "another mcpmock is recording to it")
    redactor = Redactor() if recording.redact else None
    ledger = Ledger(file.append, redactor, strict=recording.strict)
    taking = TakeRecording(file, ledger, recording, say, packed)
    ledger.on_gap = taking.on_gap
    return taking


def _paths(recording: Recording, output: Path) -> tuple[Path, Path | None]:
    """The file to write to, and the one to pack it into at the end, if any."""
    if recording.folder and output == recording.output:
        return output / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.jsonl", None
    if output.suffix != ".gz":
        return output, None
    if recording.new and output.exists():
        raise CassetteError(output, "exists", hint="leave out --new to add a take to it")
    return output.with_name(output.name + ".part"), output


def _sibling(path: Path) -> Path:
    """`s.jsonl` -> `s.PID.jsonl`, `s.jsonl.gz` -> `s.PID.jsonl.gz`."""
    suffix = ".jsonl.gz" if path.name.endswith(".jsonl.gz") else path.suffix
    return path.with_name(f"{path.name.removesuffix(suffix)}.{os.getpid()}{suffix}")


def _shown(target: Sequence[str] | str, redactor: Redactor | None) -> list[str] | str:
    """A command line or a URL for a header, without its secrets."""
    if isinstance(target, str):
        return redactor.text(target.encode()).decode() if redactor else target
    if redactor:
        return redactor.argv(target)
    return [os.fsencode(word).decode("utf-8", "replace") for word in target]
