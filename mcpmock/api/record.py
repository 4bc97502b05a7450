"""`record`: a real server, recorded while a program under trio talks to it in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from mcpmock.channels.channel import MessageChannel, memory_pair
from mcpmock.faults.control import Faults, run_of
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.runner import LiveSession, run
from mcpmock.sessions.ends import Command, Reach, Server, Url, numbers
from mcpmock.sessions.fault_stages import with_faults
from mcpmock.sessions.take_recording import Recording, open_taking

from .thread import require_trio


def server_of(server: Sequence[str] | None, url: str | None) -> Server:
    """Raises TypeError unless exactly one of the two is given."""
    if (server is None) is (url is None):
        raise TypeError("say either server=[COMMAND, ...] or url=, to name the server")
    if url is None:
        return Command(words_of(server))
    if not isinstance(url, str):
        raise TypeError(f"url={url!r}: say an address, as http://127.0.0.1:8000/mcp")
    return Url.parse(url)


def words_of(server: object) -> list[str]:
    """The words of a command line. Raises TypeError for what is none: a text is not split."""
    if (
        isinstance(server, str | bytes)
        or not isinstance(server, Iterable)
        or not (words := [str(word) for word in server])
    ):
        raise TypeError(f"server={server!r}: say the words of a command, [COMMAND, ...]")
    return words


def say(line: str) -> None:
    """One line for the user."""
    sys.stderr.write(f"mcpmock: {line}\n")


@asynccontextmanager
async def record(
    output: Path | str,
    *,
    server: Sequence[str] | None = None,
    url: str | None = None,
    faults: Faults | None = None,
    seed: int | None = None,
    **how: bool,
) -> AsyncIterator[MessageChannel]:
    """Records a server under trio: gives the client's end of a session with it, a channel that
    `send`s and `receive`s lists of frames.

    >>> from mcpmock.protocol.messages import C2S, Frame
    >>> async def main():
    ...     server = ["mcpmock", "replay", "weather.jsonl"]
    ...     async with mcpmock.record("new.jsonl", server=server) as channel:
    ...         channel.send_nowait([Frame(C2S, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')])
    ...         return [frame.raw for frame in await channel.receive()]
    >>> trio.run(main)
    [b'{"jsonrpc":"2.0","id":1,"result":{}}']
    >>> [event.payload for event in mcpmock.load("new.jsonl").takes[0].events if event.payload]
    [b'{"jsonrpc":"2.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"result":{}}']

    `server` is a command line, `url` an address; `how` are options of `mcpmock record`:
    `overwrite`, `new`, `strict`, `redact`; `faults` and `seed` are as in `serve`, and what fired is
    an event of the recording. Raises CassetteError, PlanError and CannotStart before anything was
    said, RecordingIncomplete at the end.
    """
    require_trio("record")
    target, run_ = server_of(server, url), run_of(faults, seed)
    taking = await open_taking(Recording.to(os.fspath(output), **how), say)
    try:
        target.check()
        process = await target.open(Reach(say))
    except BaseException:
        taking.file.discard()
        raise
    async with taking.recorded("stdio", target.described), trio.open_nursery() as nursery:
        client, ours = memory_pair()
        recorder = taking.recorder()
        ahead = with_faults([recorder], run_ if run_.armed else None)
        stages = [*ahead, *target.rules(numbers())]
        nursery.start_soon(run, LiveSession(Pipeline(stages), ours, process))
        try:
            yield client
        finally:
            await client.aclose()
