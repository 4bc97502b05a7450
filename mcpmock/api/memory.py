"""The fake server in memory, for the official SDK and FastMCP: no process, no socket, no thread.

A session is the pipeline that `sessions.run.compose` builds. The caller's own event loop drives it
(asyncio or trio, through anyio, which the SDK installs): `runner` needs trio, and a thread with a
loop of its own would cost more than all the rest. Messages cross as the `SessionMessage` of the
installed SDK. The clock is the caller's: under trio a mock clock makes recorded pauses and timeouts
free; asyncio has only a real clock, so recorded pauses are cut there (`Timing.on_a_real_clock`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, StreamEnd
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.sessions.run import Conversation, Setup, compose

from .log import Log


@attrs.frozen
class SdkCodec:
    """How the installed SDK encodes a message: `write` gives JSON, `read` a SessionMessage."""

    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]

    @classmethod
    def of_the_installed_sdk(cls) -> SdkCodec:
        """Raise ImportError if no SDK is installed."""
        from mcp.shared.message import SessionMessage

        try:
            from mcp_types import jsonrpc_message_adapter
        except ImportError:  # version 1
            from mcp.types import JSONRPCMessage

            validate: Callable[[bytes], Any] = JSONRPCMessage.model_validate_json  # type: ignore[attr-defined]
            how = {"exclude_none": True}
        else:
            validate, how = jsonrpc_message_adapter.validate_json, {"exclude_unset": True}
        return cls(
            lambda item: item.message.model_dump_json(by_alias=True, **how).encode(),
            lambda raw: SessionMessage(validate(raw)),
        )


@asynccontextmanager
async def open_session(setup: Setup, log: Log) -> AsyncIterator[tuple[Any, Any]]:
    """Open a new session: a stream to read and one to write. Its player gets a number in the
    log.
    """
    import anyio
    from sniffio import current_async_library

    replay = setup.replay
    assert replay is not None
    selection = replay.bare_selection
    if current_async_library() != "trio":
        selection = selection.on_a_real_clock()
    # Unbounded: with a bound, a client and a server that both wait for room would wait for ever.
    # All messages to the client come from a cassette, which is bounded.
    to_client, read = anyio.create_memory_object_stream[Any](math.inf)
    write, from_client = anyio.create_memory_object_stream[Any](math.inf)
    player = SessionPlayer(selection, replay.report)
    pipeline = compose(setup, Conversation(number=len(log.players) + 1, player=player))
    pump = _Pump(pipeline, SdkCodec.of_the_installed_sdk(), to_client, from_client)
    async with read, write, to_client, from_client, anyio.create_task_group() as group:
        group.start_soon(pump.run)
        yield read, write
        group.cancel_scope.cancel()


@attrs.define
class _Pump:
    """Moves messages between the client's streams and a pipeline, in the caller's event loop."""

    pipeline: Pipeline
    codec: SdkCodec
    to_client: Any
    from_client: Any
    _left: bool = False
    """Whether the client has closed its stream. Delayed messages may still be due, and a fault may
    ignore the close.
    """
    _over: bool = False
    _pieces: Reassembly = attrs.field(factory=lambda: Reassembly(sys.maxsize))
    """Of messages that are held already, however long they are."""

    async def run(self) -> None:
        """Run until the pipeline ends the stream or hangs up, then close the client's stream."""
        import anyio

        self._send(self.pipeline.begin(anyio.current_time()))
        while not self._over:
            due = self.pipeline.next_due
            wait = math.inf if due is None else max(due - anyio.current_time(), 0)
            with anyio.move_on_after(None if wait == math.inf else wait):
                frame = await self._receive()
                self._send(self.pipeline.enter([frame], anyio.current_time()))
            self._send(self.pipeline.advance(anyio.current_time()))
        self.to_client.close()

    async def _receive(self) -> Frame:
        """Return the next message, or, once, the end of the client's stream."""
        import anyio

        if self._left:
            await anyio.sleep_forever()
        try:
            return Frame(C2S, self.codec.write(await self.from_client.receive()))
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._left = True
            return Frame(C2S, b"", b"", StreamEnd())

    def _send(self, batches: Sequence[Sequence[Frame]]) -> None:
        for frame in (frame for frames in batches for frame in frames):
            whole = None
            if frame.direction is S2C and (frame.fact is None or isinstance(frame.fact, Fragment)):
                # A fault may cut a message: the client's transport would join the pieces.
                whole = self._pieces.add(frame)
            if whole is not None and whole.frame.raw.strip():
                self._send_raw(whole.frame.raw)
            elif frame.direction is S2C and isinstance(frame.fact, StreamEnd):
                self._over = True
        self._over = self._over or self.pipeline.hung_up is not None

    def _send_raw(self, raw: bytes) -> None:
        # As the SDK's own transports do: an error on the stream for a message it cannot parse.
        import anyio

        try:
            item = self.codec.read(raw)
        except ValueError as error:
            item = error
        try:
            self.to_client.send_nowait(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._over = True
