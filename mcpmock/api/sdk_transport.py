"""`sdk_transport`: what `.transport()` gives, whatever is behind it: memory, a process or a URL.
One object for the Client of the official SDK (versions 1 and 2), for `ClientSession(*streams)`,
and, where FastMCP is loaded, for its Client.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

_FASTMCP = "fastmcp.client.transports"
Streams = tuple[Any, Any]
"""A stream to read and one to write."""


class SdkTransport:
    """A way to a server: entered, it gives the two streams of a new session. It may be entered
    again once it was left.
    """

    def __init__(
        self,
        open_streams: Callable[[], AbstractAsyncContextManager[Any]],
        judged: Callable[[], Any] = nullcontext,
    ) -> None:
        self._open_streams = open_streams
        self._judged = judged
        self._session: AsyncExitStack | None = None

    async def __aenter__(self) -> Streams:
        if self._session is not None:
            raise RuntimeError("a client uses this transport: make one for each by .transport()")
        async with AsyncExitStack() as stack:
            streams = await stack.enter_async_context(self._streams())
            self._session = stack.pop_all()
        return streams

    async def __aexit__(self, *how: Any) -> bool | None:
        session, self._session = self._session, None
        assert session is not None
        return await session.__aexit__(*how)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[Streams]:
        with self._judged():
            async with self._open_streams() as streams:
                # Over a URL, version 1 of the SDK gives a third: a function for the session's id.
                yield streams[0], streams[1]


def sdk_transport(
    open_streams: Callable[[], AbstractAsyncContextManager[Any]],
    judged: Callable[[], Any] = nullcontext,
) -> AbstractAsyncContextManager[Any]:
    """Return the transport whose sessions `open_streams` opens, each inside of a `judged` block. If
    FastMCP is loaded, it is a `ClientTransport` of FastMCP as well.
    """
    kind = SdkTransport
    # FastMCP imports its client when that is first used, which may be after this.
    if "fastmcp" in sys.modules or _FASTMCP in sys.modules:
        kind = _fastmcp_kind(import_module(_FASTMCP).ClientTransport)
    return kind(open_streams, judged)


@cache
def _fastmcp_kind(base: type) -> type[SdkTransport]:
    class FastMcpTransport(SdkTransport, base):  # type: ignore[misc]
        """The SDK enters it; FastMCP calls `connect_session`."""

        @asynccontextmanager
        async def connect_session(
            self, *, transport_options: Any = None, **more: Any
        ) -> AsyncIterator[Any]:
            from mcp import ClientSession

            kind = getattr(transport_options, "session_class", ClientSession)
            async with self._streams() as streams, kind(*streams, **more) as live:
                yield live

    return FastMcpTransport
