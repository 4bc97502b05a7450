"""The exchanges of a take over HTTP as HAR entries: heads and bodies as they were, event streams as
their text.

Bodies that are not MCP's were not recorded and are empty here. What happened outside of exchanges
(standard error) has no place in the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Header
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    ExchangeEnd,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)
from mcpmock.view.timeline import Row

from .har_model import (
    HarEntry,
    HarRequest,
    HarResponse,
    content,
    cookies,
    event,
    fields,
    posted,
    query,
    started,
    timings,
)

_VERSION = "HTTP/1.1"
_NOWHERE = "http://server.invalid"
"""Where nothing says which server it was."""


def exchanges(header: Header, rows: Sequence[Row]) -> Iterator[HarEntry]:
    """An entry for each exchange of a take, in the order they began; `rows` are all of the take."""
    found: dict[int, _Exchange] = {}
    for row in rows:
        if row.event.x is not None:
            found.setdefault(row.event.x, _Exchange(row.event.x)).add(row)
    for exchange in found.values():
        if exchange.asked is not None:
            yield exchange.entry(header)


@attrs.define
class _Exchange:
    """What one exchange carried. The times are those of its request's head and of the last of it,
    of its response's head and of the last of that.
    """

    number: int
    asked: HttpRequest | None = None
    answered: HttpResponse | None = None
    ends: list[str] = attrs.field(factory=list)
    rows: list[Row] = attrs.field(factory=list)
    times: list[int] = attrs.field(factory=lambda: [0, 0, 0, 0])
    _sent: list[bytes] = attrs.field(factory=list)
    _came: list[bytes] = attrs.field(factory=list)
    _meta: bytes = b""

    def add(self, row: Row) -> None:
        self.rows.append(row)
        frame = row.event.frame
        if frame is None or row.item:  # of a batch, the whole frame came with its first message
            return
        if isinstance(frame.fact, HttpRequest):
            self.asked, self.times = frame.fact, [row.event.t] * 4
        elif frame.direction is C2S:
            self._add_sent(frame, row.event.t)
        else:
            self._add_come(frame, row.event.t)

    def _add_sent(self, frame: Frame, t: int) -> None:
        if isinstance(frame.fact, ExchangeEnd):
            self.ends.append(f"client {frame.fact.how}")
        else:
            self._sent.append(frame.raw)
            self.times[1] = t

    def _add_come(self, frame: Frame, t: int) -> None:
        self.times[3] = t
        match frame.fact:
            case HttpResponse() as head:
                self.answered, self.times[2] = head, t
            case ExchangeEnd(how):
                self.ends.append(how)
            case SseMeta() as meta:
                self._meta = _lines(meta)
            case None if self.answered is not None and self.answered.media_type == EVENT_STREAM:
                self._came.append(event(frame.raw, self._meta))
                self._meta = b""
            case None | HttpBody():
                self._came.append(frame.raw)

    def entry(self, header: Header) -> HarEntry:
        assert self.asked is not None, "because only such are told"
        first = self.rows[0].event
        if self.answered is None:  # all of it was waiting
            last = max(row.event.t for row in self.rows)
            self.times[2:] = [last, last]
        whole, parts = timings(*self.times)
        return HarEntry(
            started_date_time=started(header.recorded_at, self.times[0]),
            time=whole,
            request=_request(header, self.asked, b"".join(self._sent)),
            response=_response(self.answered, b"".join(self._came)),
            timings=parts,
            mcpmock={
                "take": self.rows[0].take,
                "session": first.s,
                "exchange": self.number,
                "ends": self.ends,
                "messages": list(told(self.rows)),
            },
        )


def told(rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    """What is known of the messages among these: what `show` tells of them."""
    for row in rows:
        if row.event.payload is not None and (row.event.payload or row.method):
            yield {
                "n": row.event.n,
                "t": row.event.t,
                "direction": row.event.d,
                "kind": row.kind,
                "method": row.method,
                "id": row.id,
                "tool": row.tool,
                "notes": row.notes,
            }


def _request(header: Header, head: HttpRequest, body: bytes) -> HarRequest:
    return HarRequest(
        method=head.method,
        url=_url(header, head),
        http_version=_VERSION,
        cookies=cookies(head.headers, "cookie"),
        headers=fields(head.headers),
        query_string=query(head.target),
        post_data=posted(body, head.header("content-type") or "") if body else UNSET,
        body_size=len(body),
    )


def _response(head: HttpResponse | None, body: bytes) -> HarResponse:
    known = head or HttpResponse(0, "no response", [])
    return HarResponse(
        status=known.status,
        status_text=known.reason,
        http_version=_VERSION,
        cookies=cookies(known.headers, "set-cookie"),
        headers=fields(known.headers),
        content=content(body, known.header("content-type") or ""),
        redirect_url=known.header("location") or "",
        body_size=len(body),
    )


def _url(header: Header, head: HttpRequest) -> str:
    """The recorded server's, with the target of the request; the client was talking to us."""
    if "://" in head.target.partition("?")[0]:
        return head.target
    server = header.target if isinstance(header.target, str) else ""
    scheme, separator, rest = server.partition("://")
    if not separator:
        host = head.header("host")
        return (f"http://{host}" if host else _NOWHERE) + head.target
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}{head.target}"


def _lines(meta: SseMeta) -> bytes:
    """The fields of a server-sent event but its data."""
    known = (("", meta.comment), ("event", meta.event), ("id", meta.id), ("retry", meta.retry))
    lines = [
        f"{name}: {line}\n"
        for name, value in known
        if value is not None
        for line in str(value).split("\n")
    ]
    return "".join(lines).encode("utf-8", "replace")
