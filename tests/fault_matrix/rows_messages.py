"""What the faults of messages do to the conversation."""

from __future__ import annotations

from typing import Any

from mcpmock.faults.kinds.content import (
    Deep,
    Empty,
    Huge,
    IdTypeFlip,
    Inject,
    InvalidJson,
    InvalidUtf8,
    Replace,
    Truncate,
    UnsolicitedResponse,
    WrongId,
)
from mcpmock.faults.kinds.errors import Error, ToolError
from mcpmock.faults.kinds.loss import Drop, NeverRespond
from mcpmock.faults.kinds.order import Duplicate, Reorder, RespondTwice, SwapResponses
from mcpmock.faults.kinds.timing import Delay, Hold
from mcpmock.faults.match import Match
from tests.support import LOG, error, response

from .conversation import (
    ANSWER,
    ASK,
    ASKED,
    EVEN_ANSWER,
    EVEN_PROGRESS,
    LISTED,
    ODD,
    PROGRESS,
    REPLY,
)
from .row import MISSED, Becomes, Changes, Row

CALL = Match(tool="odd")
SECOND = Match(tool="odd", nth=2)
"""Of what comes back, the answer."""
BOTH = Match(tool="[eo]*")
SAMPLING = Match(method="sampling/*")
POSTED: Changes = {"sse": {"free": ["odd"]}}
"""Where the POST is answered by us."""
UNANSWERED: Becomes = {PROGRESS: [], ANSWER: []}
NOBODY_ASKED = response(1_000_000_000)
REFUSED = error(1, -32603, "Internal error")
FAILED = response(1, {"content": [{"type": "text", "text": "the tool failed"}], "isError": True})
MISSES: dict[str, Any] = {"client": {PROGRESS: [], ANSWER: [MISSED]}, "late": {MISSED: -0.5}}
"""What comes of a call that the recording does not have."""
EVENT, MISSED_EVENT = b"data: " + ANSWER, b"event: message\ndata: " + MISSED
"""Over HTTP+SSE the answer comes as an event; what a replay says itself names the event's type."""
MISSES_SSE: dict[str, Any] = {
    "client": {PROGRESS: [], EVENT: [MISSED_EVENT]},
    "late": {MISSED_EVENT: -0.5},
    "free": ["odd"],
}
OTHER_CALL = ODD.replace(b'"arguments":{}', b'"arguments":{"x":1}')

ROWS = [
    Row(fault=Delay(delay=1.0, match=CALL), late={PROGRESS: 1.0, ANSWER: 1.0}),
    Row(
        fault=Delay(delay=1.0, match=CALL, toward="server"),
        late={ODD: 1.0, PROGRESS: 1.0, ANSWER: 1.0},
        on={"sse": {"free": ["odd"]}},
    ),
    Row(fault=Drop(match=CALL), client=UNANSWERED),
    Row(fault=Drop(match=CALL, toward="server"), client=UNANSWERED, server={ODD: []}, on=POSTED),
    Row(fault=Duplicate(match=CALL), client={PROGRESS: [PROGRESS] * 2, ANSWER: [ANSWER] * 2}),
    Row(
        fault=Duplicate(match=CALL, toward="server"),
        client={PROGRESS: [PROGRESS] * 2, ANSWER: [ANSWER] * 2},
        server={ODD: [ODD, ODD]},
        on={
            "replay": {"client": {ANSWER: [MISSED, ANSWER]}, "late": {MISSED: -0.5}},
            "streamable-http": {"client": {}, "late": {}},
            "sse replay": {
                "client": {EVENT: [MISSED_EVENT, EVENT]},
                "late": {MISSED_EVENT: -0.5},
            },
        },
    ),
    Row(
        fault=Reorder(match=SECOND), client={ANSWER: [ANSWER]}, late={ANSWER: 0.1875}, last=[ANSWER]
    ),
    Row(
        fault=Hold(match=Match(tool="odd", nth=1), time=1.0),
        late={
            PROGRESS: 1.0,
            EVEN_PROGRESS: 0.8125,
            ANSWER: 0.75,
            EVEN_ANSWER: 0.5625,
            LISTED: 0.25,
        },
        on={"sse": {"free": ["tools/list"]}},
    ),
    Row(fault=Replace(match=CALL, result={"x": 1}), client={ANSWER: [response(1, {"x": 1})]}),
    Row(
        fault=Replace(match=CALL, toward="server", text=OTHER_CALL.decode()),
        server={ODD: [OTHER_CALL]},
        on={"replay": MISSES, "sse replay": MISSES_SSE},
    ),
    Row(fault=Inject(match=SECOND, text=LOG.decode()), client={ANSWER: [LOG, ANSWER]}),
    Row(
        fault=Inject(match=CALL, text=LOG.decode(), toward="server"),
        server={ODD: [LOG, ODD]},
    ),
    Row(
        fault=Error(match=CALL),
        client={PROGRESS: [], ANSWER: [REFUSED]},
        server={ODD: []},
        late={REFUSED: -0.5},
        on=POSTED,
    ),
    Row(
        fault=Error(match=SAMPLING, toward="client"),
        client={ASK: []},
        server={REPLY: [error("s1", -32603, "Internal error")]},
        free=["reply s1"],
    ),
    Row(
        fault=ToolError(match=CALL),
        client={PROGRESS: [], ANSWER: [FAILED]},
        server={ODD: []},
        late={FAILED: -0.5},
        on=POSTED,
    ),
    Row(fault=Empty(match=CALL), client={ANSWER: [response(1)]}),
    Row(fault=NeverRespond(match=CALL), client={ANSWER: []}),
    Row(
        fault=NeverRespond(match=SAMPLING, toward="server"),
        server={REPLY: []},
        free=["reply s1"],
        on={"replay": {"client": {ASKED: []}}},
    ),
    Row(fault=RespondTwice(match=CALL), client={ANSWER: [ANSWER, ANSWER]}),
    Row(fault=RespondTwice(match=SAMPLING, toward="server"), server={REPLY: [REPLY, REPLY]}),
    Row(
        fault=SwapResponses(match=BOTH),
        client={
            ANSWER: [],
            EVEN_ANSWER: [
                ANSWER.replace(b'"id":1', b'"id":2'),
                EVEN_ANSWER.replace(b'"id":2', b'"id":1'),
            ],
        },
    ),
    Row(
        fault=WrongId(match=CALL), client={ANSWER: [ANSWER.replace(b'"id":1', b'"id":1000000001')]}
    ),
    Row(fault=IdTypeFlip(match=CALL), client={ANSWER: [ANSWER.replace(b'"id":1', b'"id":"1"')]}),
    Row(fault=UnsolicitedResponse(match=SECOND), client={ANSWER: [NOBODY_ASKED, ANSWER]}),
    Row(fault=UnsolicitedResponse(match=CALL, toward="server"), server={ODD: [NOBODY_ASKED, ODD]}),
    Row(
        fault=Huge(match=SECOND, size=9),
        client={ANSWER: [ANSWER[:-2] + b',"mcpmock":"xxxxxxxxx"}}']},
    ),
    Row(
        fault=Huge(match=CALL, size=9, toward="server"),
        server={ODD: [ODD[:-2] + b',"mcpmock":"xxxxxxxxx"}}']},
        on={"replay": MISSES, "sse replay": MISSES_SSE},
    ),
    Row(fault=Deep(match=SECOND, depth=3), client={ANSWER: [ANSWER[:-2] + b',"mcpmock":[[[]]]}}']}),
    Row(fault=Truncate(match=SECOND, bytes=10), client={ANSWER: [ANSWER[:10]]}),
    Row(
        fault=Truncate(match=CALL, bytes=10, toward="server"),
        client=UNANSWERED,
        server={ODD: [ODD[:10]]},
        on={"streamable-http": {"free": ["odd"]}, "sse": {"free": ["odd"]}},
    ),
    Row(fault=InvalidJson(match=SECOND), client={ANSWER: [ANSWER[:-1] + b",,}"]}),
    Row(
        fault=InvalidUtf8(match=SECOND),
        client={ANSWER: [b'\xff"'.join(ANSWER.rsplit(b'"', 1))]},
    ),
]
