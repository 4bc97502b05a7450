"""The least that a reverse proxy on trio and h11 can cost: `http_relay.py PORT` passes on what it
hears, piece by piece, and looks at none of it. Each connection of a client has one of its own to
the server at that port.
"""

from __future__ import annotations

import signal
import sys
from functools import partial

import h11
import trio

CHUNK = 1 << 16


class Side:
    """One of two connections, and what of HTTP it is in the middle of."""

    def __init__(self, stream: trio.SocketStream, http: h11.Connection) -> None:
        self._stream, self._http = stream, http

    async def pass_on(self, other: Side) -> bool:
        """One message to the other side, as it comes; whether it came."""
        while True:
            data = b""
            while (event := self._http.next_event()) is not h11.NEED_DATA:
                if not isinstance(event, (h11.Request, h11.Response, h11.Data, h11.EndOfMessage)):
                    return False
                data += other._http.send(event) or b""
                if isinstance(event, h11.EndOfMessage):
                    await other._stream.send_all(data)
                    return True
            if data:
                await other._stream.send_all(data)
            self._http.receive_data(await self._stream.receive_some(CHUNK))

    def start_next(self) -> None:
        self._http.start_next_cycle()


async def serve(client: trio.SocketStream, *, port: int) -> None:
    async with client, await trio.open_tcp_stream("127.0.0.1", port) as server:
        front = Side(client, h11.Connection(h11.SERVER))
        back = Side(server, h11.Connection(h11.CLIENT))
        while await front.pass_on(back) and await back.pass_on(front):
            front.start_next()
            back.start_next()


async def main(port: int) -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    here = listener.socket.getsockname()[1]
    print(f"listening on http://127.0.0.1:{here}/mcp", file=sys.stderr, flush=True)
    await trio.serve_listeners(partial(serve, port=port), [listener])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be done at the end
    trio.run(main, int(sys.argv[1]))
