"""The clients of PyPI mcp 1.x and 2.x, cancelling calls: what races.mjs is for Node.

    races.py JOB

JOB is a JSON file: `transport` with `url`, or with `command` for stdio (`$N` in it is the number of
the session); `cells`, each with the `tool` to call, the `i` messages after which to cancel it, the
`k` it has in all, and whether it is `answered` behind a cancel by hand; how many of them go into
one `session`; `record`, the file that the server records to (with `$N` too), which tells that a
call is there that is to be cancelled with nothing consumed; `mode` of a client that knows several
eras; `by_hand`, where the library's own way to cancel says nothing. Prints what came of each cell
as a line of JSON.

Behind the answer no library cancels by itself: there the notification is sent by hand.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    import mcp_types as types
    from mcp import Client, MCPDeprecationWarning
except ImportError:  # version 1
    from mcp import types

    Client = None
else:
    warnings.simplefilter("ignore", MCPDeprecationWarning)

PATIENCE = 5.0  # seconds for anything that should come
SETTLING = 0.01  # for what the library may say of late messages
POLLING = 0.005
IMPATIENCE = 0.3  # for what may never come, where a call goes on behind its cancel


@dataclass
class Wire:
    """What goes to the server: the id of the newest call, and whether it is sent."""

    inner: Any
    id: Any = None
    sent: anyio.Event = field(default_factory=anyio.Event)

    async def send(self, item: Any) -> None:
        message = getattr(item.message, "root", item.message)
        await self.inner.send(item)
        if getattr(message, "method", "") == "tools/call":
            self.id = message.id
            self.sent.set()

    async def __aenter__(self) -> Wire:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *how: Any) -> Any:
        return await self.inner.__aexit__(*how)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@dataclass
class Peer:
    """A connected client of either version."""

    session: Any
    wire: Wire
    noise: list[str]
    record: anyio.Path
    """What the server records of the session."""

    async def call(self, tool: str, on_progress: Callable[..., Any] | None = None) -> Any:
        return await self.session.call_tool(tool, {}, progress_callback=on_progress)

    async def arrived(self, tool: str) -> None:
        """Until the server has the call."""
        while json.dumps(tool).encode() not in await self.record.read_bytes():  # noqa: ASYNC110
            await anyio.sleep(POLLING)

    async def cancel(self) -> None:
        """By hand."""
        params = {"requestId": self.wire.id, "reason": "by hand"}
        told = types.CancelledNotification.model_validate(
            {"method": "notifications/cancelled", "params": params}
        )
        session = getattr(self.session, "session", self.session)
        await session.send_notification(told if Client else types.ClientNotification(told))


@asynccontextmanager
async def connected(job: dict[str, Any], number: int) -> AsyncIterator[Peer]:
    noise: list[str] = []
    record = anyio.Path(job["record"].replace("$N", str(number)))

    async def heard(message: Any) -> None:
        if isinstance(message, Exception):
            noise.append(f"{type(message).__name__}: {message}"[:120])

    wires: list[Wire] = []

    @asynccontextmanager
    async def streams() -> AsyncIterator[Any]:
        if job["transport"] == "stdio":
            command, *args = [word.replace("$N", str(number)) for word in job["command"]]
            told = StdioServerParameters(command=command, args=args, env=dict(os.environ))
            opened: Any = stdio_client(told)
        else:
            opened = streamable_http_client(job["url"])
        async with opened as (reading, writing, *_):
            wires.append(Wire(writing))
            yield reading, wires[0]

    if Client is not None:
        async with Client(streams(), mode=job["mode"], message_handler=heard) as client:
            yield Peer(client, wires[0], noise, record)
        return
    async with (
        streams() as (reading, writing),
        ClientSession(reading, writing, message_handler=heard) as session,
    ):
        await session.initialize()
        yield Peer(session, wires[0], noise, record)


def innermost(error: BaseException) -> BaseException:
    """The first that was raised of a group."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def described(error: BaseException) -> str:
    """The code of a JSON-RPC error, or what else was raised."""
    error = innermost(error)
    data = getattr(error, "error", None)
    return f"error {data.code}" if hasattr(data, "code") else type(error).__name__


async def race(peer: Peer, cell: dict[str, Any], job: dict[str, Any]) -> str:
    """Makes the call and cancels it behind i messages; gives what the caller saw."""
    i, k, by_hand = cell["i"], cell["k"], job["by_hand"]
    scope, consumed = anyio.CancelScope(), 0
    saw = "nothing"
    patience = IMPATIENCE if by_hand and not cell["answered"] else PATIENCE
    peer.wire.sent = anyio.Event()

    async def cancel() -> None:
        if by_hand:
            await peer.cancel()
        else:
            scope.cancel()

    async def on_progress(*_: Any) -> None:
        nonlocal consumed
        consumed += 1
        if consumed == i < k:
            await cancel()

    async def at_once() -> None:
        await peer.wire.sent.wait()
        await peer.arrived(cell["tool"])
        await cancel()

    async with anyio.create_task_group() as group:
        if not i:
            group.start_soon(at_once)
        with anyio.move_on_after(patience), scope:
            try:
                result = await peer.call(cell["tool"], on_progress)
                saw = "result" if result.content[0].text == cell["tool"] else "a wrong result"
            except Exception as error:  # noqa: BLE001 (whatever it is, it is what the caller sees)
                saw = described(error)
        if scope.cancelled_caught:
            saw = "cancelled"
        group.cancel_scope.cancel()
    if i == k > 0 and saw == "result":
        await peer.cancel()
    return saw


async def follow_up(peer: Peer) -> str:
    """Whether the session still works, and each answer goes to its own request."""
    with anyio.move_on_after(PATIENCE):
        try:
            result = await peer.call("after")
        except Exception as error:  # noqa: BLE001
            return described(error)
        return "ok" if result.content[0].text == "after" else "a wrong result"
    return "nothing"


async def session(job: dict[str, Any], number: int, cells: list[dict[str, Any]]) -> None:
    """Takes cells from the list until it is empty, the session full or broken."""
    broken, running = False, None
    try:
        async with connected(job, number) as peer:
            await follow_up(peer)  # now it listens: not every era has a handshake
            for _ in range(job["session"]):
                if not cells or broken:
                    break
                cell = running = cells.pop(0)
                saw = await race(peer, cell, job)
                await anyio.sleep(SETTLING)
                after = await follow_up(peer)
                broken = after != "ok"
                told = {"tool": cell["tool"], "saw": saw, "next": after, "noise": peer.noise[:]}
                print(json.dumps(told), flush=True)
                peer.noise.clear()
                running = None
    except Exception as error:  # noqa: BLE001
        told = {"close": f"{described(error)}: {innermost(error)}"[:150], "broken": broken}
        if running is not None:  # the library has ended the session in the middle of it
            told = {"tool": running["tool"], "saw": f"end by {described(error)}", "next": "none"}
        print(json.dumps(told), flush=True)


async def main(job: dict[str, Any]) -> None:
    cells, number = job["cells"], 0
    while cells and number < 2000:
        number += 1
        left = len(cells)
        await session(job, number, cells)
        if len(cells) == left:
            raise SystemExit("no session")


if __name__ == "__main__":
    anyio.run(main, json.loads(Path(sys.argv[1]).read_text("utf-8")))
