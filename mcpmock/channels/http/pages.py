"""Pages of our own for a browser on this machine: one request a connection, and its answer.

Not for MCP: that is `server`. `sessions.watch` and `logins` are above.
"""

from __future__ import annotations

import h11
import trio

from mcpmock.protocol.messages import HttpRequest


async def read_request(stream: trio.SocketStream, connection: h11.Connection) -> HttpRequest | None:
    """Return the head of the one request; None if it is not HTTP."""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return None
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive_some(65536))
        elif isinstance(event, h11.Request):
            headers = [(name.decode(), value.decode("latin-1")) for name, value in event.headers]
            return HttpRequest(event.method.decode(), event.target.decode("latin-1"), headers)
        else:
            return None


def page_headers(content_type: str) -> list[tuple[str, str]]:
    """Return the headers of a page: nothing is kept, guessed or told to others."""
    return [
        ("Content-Type", content_type),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("Connection", "close"),
    ]


async def send_page(
    stream: trio.SocketStream, connection: h11.Connection, status: int, kind: str, body: bytes
) -> None:
    """Send a whole answer; `kind` is its content type."""
    headers = [*page_headers(kind), ("Content-Length", str(len(body)))]
    parts = (h11.Response(status_code=status, headers=headers), h11.Data(data=body))
    data = b"".join(connection.send(part) or b"" for part in (*parts, h11.EndOfMessage()))
    await stream.send_all(data)
