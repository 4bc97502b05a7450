"""The calls of a take over stdio as HAR entries, as if they had been posted over Streamable HTTP.

HAR knows exchanges and stdio has none, so each request is made one, its answer the response, and
all that the server said during it (progress, log lines, questions) an event stream ahead of the
answer. The URL is made up of who was asked and for what: `http://server.invalid/tools/call/add`,
`http://client.invalid/roots/list`; viewers list entries by it, and `.invalid` is nobody's name (RFC
2606). A notification is a POST answered with 202; what the server said of itself is the stream of a
GET. An error has the status 500, for viewers show that in red.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Header
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import C2S, S2C, member
from mcpmock.view.summary import LIMIT, text_member
from mcpmock.view.timeline import Row, raws

from .har_http import told
from .har_model import (
    JSON,
    HarContent,
    HarEntry,
    HarRequest,
    HarResponse,
    content,
    event,
    posted,
    started,
    timings,
)

_VERSION = "stdio"
_ASKED = {C2S: "server", S2C: "client"}
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""What tells the calls of a method apart."""
_ANSWERS = ("response", "error")
_NO_ANSWER = ("cancelled", "unanswered")


def calls(header: Header, rows: Sequence[Row], first: int) -> Iterator[HarEntry]:
    """An entry for each request and each client's notification of a take, in their order, and ahead
    of them one for what the server said of itself. `first` is the place of the take's first row.
    """
    told_rows = [_Told(row, raw) for row, raw in zip(rows, raws(rows), strict=True)]
    during: dict[int, list[_Told]] = {}
    alone: list[_Told] = []
    for one in told_rows:
        row = one.row
        if row.kind not in ("request", "notification", *_ANSWERS):
            continue
        owner = row.call if row.call is not None and row.kind != "request" else row.within
        if owner is not None:
            during.setdefault(owner - first, []).append(one)
        elif row.direction is S2C and row.kind == "notification":
            alone.append(one)
    if alone:
        yield _stream(header, alone)
    for place, one in enumerate(told_rows):
        if one.row.kind == "request":
            yield _call(header, one, during.get(place, []))
        elif one.row.kind == "notification" and one.row.direction is C2S:
            yield _notification(header, one)


@attrs.frozen
class _Told:
    """A row, and its message."""

    row: Row
    raw: bytes


def _call(header: Header, asked: _Told, during: Sequence[_Told]) -> HarEntry:
    back = [one for one in during if one.row.direction is not asked.row.direction]
    answer = next((one for one in back if one.row.kind in _ANSWERS and _in_time(one)), None)
    t = asked.row.event.t
    came = [one.row.event.t for one in back]
    if answer is None:
        status = 0
        text = next((note for note in asked.row.notes if note in _NO_ANSWER), "unanswered")
    else:
        status, text = (500, "error") if answer.row.kind == "error" else (200, "OK")
    first, last = (min(came), max(came)) if came else (t, t)
    return _entry(
        header,
        asked,
        _response(status, text, _body(back, answer)),
        (t, t, first, last),
        [asked, *during],
    )


def _in_time(answer: _Told) -> bool:
    return not any(note.startswith("late") for note in answer.row.notes)


def _body(back: Sequence[_Told], answer: _Told | None) -> HarContent:
    """The answer alone, or an event stream of all that came."""
    if answer is not None and len(back) == 1:
        return content(answer.raw, JSON)
    return content(_events(back), EVENT_STREAM if back else "")


def _events(said: Iterable[_Told]) -> bytes:
    return b"".join(event(one.raw) for one in said)


def _notification(header: Header, said: _Told) -> HarEntry:
    t = said.row.event.t
    return _entry(header, said, _response(202, "Accepted", content(b"", "")), (t,) * 4, [said])


def _stream(header: Header, said: Sequence[_Told]) -> HarEntry:
    """What nobody had asked for."""
    times = (said[0].row.event.t, said[-1].row.event.t)
    body = content(_events(said), EVENT_STREAM)
    whole, parts = timings(times[0], times[0], *times)
    return HarEntry(
        started_date_time=started(header.recorded_at, times[0]),
        time=whole,
        request=_request("GET", "http://server.invalid/", b""),
        response=_response(200, "OK", body),
        timings=parts,
        mcpmock=_ours(said),
    )


def _entry(
    header: Header,
    asked: _Told,
    response: HarResponse,
    times: tuple[int, ...],
    belonging: Sequence[_Told],
) -> HarEntry:
    whole, parts = timings(*times)
    return HarEntry(
        started_date_time=started(header.recorded_at, asked.row.event.t),
        time=whole,
        request=_request("POST", _url(asked), asked.raw),
        response=response,
        timings=parts,
        mcpmock=_ours(belonging),
    )


def _ours(said: Sequence[_Told]) -> dict[str, object]:
    row = said[0].row
    messages = list(told(one.row for one in said))
    return {"take": row.take, "session": row.event.s, "stdio": True, "messages": messages}


def _request(method: str, url: str, body: bytes) -> HarRequest:
    return HarRequest(
        method=method,
        url=url,
        http_version=_VERSION,
        cookies=[],
        headers=[],
        query_string=[],
        post_data=posted(body, JSON) if body else UNSET,
        body_size=len(body),
    )


def _response(status: int, text: str, body: HarContent) -> HarResponse:
    return HarResponse(
        status=status,
        status_text=text,
        http_version=_VERSION,
        cookies=[],
        headers=[],
        content=body,
        body_size=body.size,
    )


def _url(asked: _Told) -> str:
    method = asked.row.method or ""
    name = None
    if method in _NAMES:
        name = text_member(member(asked.raw, "params"), _NAMES[method])
    path = quote(method[:LIMIT], errors="replace")
    end = "" if name is None else "/" + quote(name[:LIMIT], safe="", errors="replace")
    host = _ASKED[C2S if asked.row.direction is None else asked.row.direction]
    return f"http://{host}.invalid/{path}{end}"
