"""The server behind a proxy over HTTP: it says what `conversation` has, on whichever stream the
transport has for it, and keeps what it gets.
"""

from __future__ import annotations

from typing import Any

import trio

from tests.support.http_upstream import Asked, Reply, Upstream

from .conversation import decoded, said
from .hearing import Run, Way


class Tapped(trio.abc.Stream):
    """A stream that keeps what it gives to read."""

    def __init__(self, stream: trio.abc.Stream, way: Way) -> None:
        self._stream, self._way = stream, way

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = bytes(await self._stream.receive_some(max_bytes))
        if data:
            self._way.pieces.append((trio.current_time(), data))
        else:
            self._way.ended = (trio.current_time(), "closed")
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()


class Serves(Upstream):
    """What both have: a nursery for what is said later."""

    nursery: trio.Nursery


class ServesStreamable(Serves):
    """Streamable HTTP: calls are answered by event streams, all else in JSON."""

    def __init__(self, heard: Run) -> None:
        super().__init__(self._script)
        self._heard, self._sessions = heard, 0

    async def _script(self, asked: Asked, reply: Reply) -> None:
        now, name = trio.current_time(), asked.header("mcp-session-id")
        if asked.method == "GET":
            await reply.open()
            await reply.left()
            return
        message, answers = decoded(asked.body), said(asked.body)
        opens = isinstance(message, dict) and message.get("method") == "initialize"
        if opens:
            self._sessions += 1
            name = f"session-{self._sessions}"
        if asked.method == "POST":
            self._heard.server[int((name or "-1")[-1]) - 1].append((now, asked.body))
        if answers is None and asked.method == "POST":
            await reply.whole(b"what?", 400, "text/plain")
        elif asked.method == "DELETE":
            await reply.whole()
        elif not answers:
            await reply.whole(status=202)
        elif len(answers) == 1:
            fields: dict[str, Any] = {"mcp_session_id": name} if opens else {}
            await reply.whole(answers[0][1], **fields)
        else:
            await reply.open()
            for after, raw in answers:
                await trio.sleep_until(now + after)
                await reply.event(raw)
            await reply.close()


class ServesStreams(Serves):
    """HTTP+SSE: all answers come on the stream that a session began with."""

    def __init__(self, heard: Run) -> None:
        super().__init__(self._script)
        self._heard = heard
        self._streams: list[Reply] = []
        self._telling = trio.Lock()

    async def _script(self, asked: Asked, reply: Reply) -> None:
        now = trio.current_time()
        if asked.method == "GET":
            self._streams.append(reply)
            await reply.open()
            uri = f"/messages?session={len(self._streams)}".encode()
            await reply.event(uri, b"event: endpoint\n")
            await reply.left()
            return
        number = int(asked.target[-1]) - 1
        self._heard.server[number].append((now, asked.body))
        if (answers := said(asked.body)) is None:
            await reply.whole(b"what?", 400, "text/plain")
            return
        await reply.whole(b"Accepted", 202, "text/plain")
        for after, raw in answers:
            self.nursery.start_soon(self._tell, self._streams[number], now + after, raw)

    async def _tell(self, stream: Reply, at: float, raw: bytes) -> None:
        await trio.sleep_until(at)
        try:
            async with self._telling:
                await stream.event(raw)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # nobody listens any more
