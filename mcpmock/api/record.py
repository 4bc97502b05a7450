"""`record`: records a real server while a program under trio uses it in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mcpmock.batch.redaction_rules import redaction_rules_of
from mcpmock.channels.channel import MessageChannel
from mcpmock.faults.control import Faults, run_of
from mcpmock.options.option import options_of, read_options
from mcpmock.options.redaction import RedactionOptions
from mcpmock.sessions.memory import record_in_memory
from mcpmock.sessions.run import Setup
from mcpmock.sessions.take import Recording

from .targets import parse_server, say
from .thread import require_trio


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
    """Record a server under trio: gives the client's end of a session, a channel that sends and
    receives lists of frames.

    >>> async def main():
    ...     server = ["mcpmock", "replay", "weather.jsonl"]
    ...     ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    ...     async with mcpmock.record("new.jsonl", server=server) as channel:
    ...         await channel.send([mcpmock.Frame(mcpmock.C2S, ping)])
    ...         return [frame.raw for frame in await channel.receive()]
    >>> trio.run(main)
    [b'{"jsonrpc":"2.0","id":1,"result":{}}']
    >>> [event.payload for event in mcpmock.load("new.jsonl").takes[0].events if event.payload]
    [b'{"jsonrpc":"2.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"result":{}}']

    The clients of SDKs do not take this channel. Give them a command that records:
    `StdioServerParameters(command="mcpmock", args=["record", "-o", "new.jsonl", "--", *server])`,
    or the fixture `mcpmock_server` with `--mcp-record=once`.

    `server` is a command line, `url` an address; `how` are options of `mcpmock record`:
    `overwrite`, `new`, `strict`, `redact`, `redact_key`, `redact_value`, `redact_path`, `keep_key`,
    `redact_as`; `faults` and `seed` are as in `serve`, and each fault
    that fires is an event of the recording. Raises CassetteError, PlanError and CannotStart before
    the session begins, RecordingIncomplete at the end.
    """
    require_trio("record")
    run = run_of(faults, seed)
    known = {one.name for one in options_of(RedactionOptions)}
    redaction = {name: how.pop(name) for name in known & how.keys()}
    rules = redaction_rules_of(read_options(RedactionOptions, redaction), Path(output))
    setup = Setup(
        back=parse_server(server, url),
        faults=run if run.armed else None,
        recording=Recording.to(os.fspath(output), rules=rules, **how),
        say=say,
    )
    async with record_in_memory(setup) as client:
        yield client
