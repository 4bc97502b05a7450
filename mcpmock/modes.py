"""What each command is put together from: two ends, some stages, and how it ends.

Every mode is a composition: it fills three slots (client end, stages, server end) and hands them to
the runner. Nothing below this file asks which mode it is in. The faces (`cli/`, later the pytest
plugin) call these and turn the outcome into words. Signals are taken here, because what they mean
depends on what was put together.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import trio

from mcpmock.cassette.file import TakeFile, open_take
from mcpmock.cassette.model import FORMAT, Cassette, Header
from mcpmock.cassette.redact import RULES, Redactor
from mcpmock.endpoints.channel import MessageChannel
from mcpmock.endpoints.process import ProcessChannel, start_process
from mcpmock.endpoints.stdio import take_stdio
from mcpmock.errors import CassetteError, RecordingIncomplete
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.recorder import Recorder
from mcpmock.protocol.stage import Stage
from mcpmock.runner import Session, run
from mcpmock.version import VERSION

if TYPE_CHECKING:
    from mcpmock.pipeline.player import Player, Playing, Report

LOCK_WAIT = 2.0
"""Seconds that a recorder waits for another one to be done with its file."""
_LOCK_POLL = 0.01
_SYNC_EVERY = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

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

    @classmethod
    def to(cls, output: str, **how: bool) -> Recording:
        """From the words of the command line: a slash at the end makes it a folder."""
        return cls(output=Path(output), folder=output.endswith(os.sep), **how)


async def record(command: Sequence[str], recording: Recording, say: Say) -> int:
    """Records `command`, a server over stdio, for the client on our own stdio. Gives the exit
    status to end with.

    Raises CassetteError before anything is started, CannotStart, and RecordingIncomplete at the end
    of a session that was not recorded whole.
    """
    with _taking_signals() as signals:
        take = await _open(recording, say)
        try:
            server = await start_process(command)
        except BaseException:
            take.file.discard()
            raise
        async with take.recorded("stdio", command):
            return await _run([take.recorder], signals, client=take_stdio(), server=server)


async def replay(
    cassette: Cassette, playing: Playing, report: Report, *, recording: Recording | None, say: Say
) -> tuple[int, Player]:
    """Plays the server of a cassette to the client on our own stdio, recording it once more where
    asked to.

    Gives the recorded exit status (0 where the client left first) and the player, which knows what
    it missed.
    """
    from mcpmock.pipeline.player import Casting, Player  # a recorder starts without it

    player = Player(Casting(cassette, playing), report)
    with _taking_signals() as signals:
        if recording is None:
            return await _run([player], signals, client=take_stdio()), player
        take = await _open(recording, say)
        async with take.recorded("stdio", ["mcpmock", "replay", cassette.name]):
            return await _run([take.recorder, player], signals, client=take_stdio()), player


@contextmanager
def _taking_signals() -> Iterator[AsyncIterator[int]]:
    """The signals that tell us to stop. They are taken for good: behind the session the exit status
    is settled, and a late one must neither change it nor print anything.
    """
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        yield signals


async def _run(
    stages: Sequence[Stage],
    signals: AsyncIterator[int],
    *,
    client: MessageChannel,
    server: ProcessChannel | None = None,
) -> int:
    """Runs the pipeline until it is over or we are told to stop, and gives the exit status."""
    interrupted = 0

    async def obey() -> None:
        nonlocal interrupted
        async for signum in signals:
            interrupted = signum
            if server is not None:
                server.interrupt(signum)
                session.client_left()
            else:
                session.end()

    session = Session(Pipeline(stages), client, server)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(obey)
        exit_ = await run(session)
        nursery.cancel_scope.cancel()
    if exit_ is None:
        return 128 + interrupted if interrupted else 0
    return exit_.status


@attrs.define
class _Take:
    """A take being recorded: the recorder, the file it goes to, and what is done when it cannot."""

    file: TakeFile
    recorder: Recorder
    recording: Recording
    say: Say
    packed: Path | None = None
    """Where the plain file is packed to at the clean close."""
    incomplete: str | None = None
    _said: bool = False

    @asynccontextmanager
    async def recorded(self, transport: str, target: Sequence[str]) -> AsyncIterator[None]:
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

    def _begin(self, transport: str, target: Sequence[str]) -> None:
        redactor = self.recorder.redactor
        header = Header(
            mcpmock=FORMAT,
            recorded_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            tool=f"mcpmock {VERSION}",
            transport=transport,
            target=redactor.argv(target) if redactor else _readable(target),
            redaction={"rules": RULES} if redactor else "off",
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
            if self.recorder.events == synced:
                continue
            synced = self.recorder.events
            try:
                await trio.to_thread.run_sync(self.file.sync, abandon_on_cancel=True)
            except OSError as error:  # never tried again: the kernel may have dropped the pages
                self.on_gap(f"cannot sync: {os.strerror(error.errno or 0)}")
                return

    def _close(self) -> None:
        redacted = self.recorder.redactor.count if self.recorder.redactor else 0
        try:
            self.recorder.finish(trio.current_time())
            self.file.close(
                redacted=redacted,
                gaps=self.recorder.lost,
                packed=self.packed,
                overwrite=self.recording.overwrite,
            )
        except OSError as error:
            self.on_gap(os.strerror(error.errno or 0))


async def _open(recording: Recording, say: Say) -> _Take:
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
    recorder = Recorder(file.append, redactor, strict=recording.strict)
    take = _Take(file, recorder, recording, say, packed)
    take.recorder.on_gap = take.on_gap
    return take


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


def _readable(words: Sequence[str]) -> list[str]:
    """A command line for a header: arguments may be any bytes."""
    return [os.fsencode(word).decode("utf-8", "replace") for word in words]
