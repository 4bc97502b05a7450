"""What the faults of HTTP and of event streams do to the conversation."""

from __future__ import annotations

from mcpmock.faults.kinds.connection import CloseBeforeResponse
from mcpmock.faults.kinds.http import (
    EmptyResponse,
    HttpStatus,
    JsonInsteadOfSse,
    MalformedChunk,
    Outage,
    Quota,
    SessionExpired,
    WrongContentType,
)
from mcpmock.faults.kinds.loss import SseGap
from mcpmock.faults.kinds.sse import SseCommentStorm, SseDuplicateId, SseRetry
from mcpmock.faults.match import Match

from .conversation import ANSWER, EVEN, EVEN_ANSWER, EVEN_PROGRESS, LISTED, ODD
from .hearing import Answer, Run
from .row import END, Check, Row
from .rows_bytes import BREAKS_AT_ANSWER, breaks_off, way_of
from .rows_messages import BOTH, CALL, SECOND, UNANSWERED

NEITHER = {**UNANSWERED, EVEN_PROGRESS: [], EVEN_ANSWER: []}


def refused(*names: str, status: int, fields: dict[str, str] | None = None) -> Check:
    """These requests, at once and with nothing but that."""

    def check(run: Run, base: Run) -> None:
        for name in names:
            answer = run.client[0][name].answer()
            assert (status, [], True) == (answer.status, answer.body, answer.whole)
            assert (fields or {}).items() <= answer.headers.items()

    return check


def answer_to(run: Run, name: str) -> Answer:
    return run.client[0][name].answer()


def broken(run: Run, base: Run) -> None:
    """A good chunk, and then what is none."""
    answer = answer_to(run, "odd")
    assert (200, True, b"{") == (answer.status, answer.broken, b"".join(d for _, d in answer.body))


def mislabelled(run: Run, base: Run) -> None:
    answer = answer_to(run, "tools/list")
    assert ("text/html", [(3.0, LISTED)]) == (answer.headers["content-type"], answer.messages)


def mislabelled_stream(run: Run, base: Run) -> None:
    """The events come at their times, as the bytes of a body."""
    answer, before = answer_to(run, "odd"), answer_to(base, "odd")
    assert ("text/html", before.body) == (answer.headers["content-type"], answer.body)


def alone(run: Run, base: Run) -> None:
    answer = answer_to(run, "odd")
    assert ("application/json", [(2.5, ANSWER)]) == (
        answer.headers["content-type"],
        answer.messages,
    )


def in_front(lines: bytes) -> Check:
    """These lines stand in front of the answer."""

    def check(run: Run, base: Run) -> None:
        came = b"".join(data for _, data in way_of(run).answer().body)
        before = b"".join(data for _, data in way_of(base).answer().body)
        event = b"data: " + ANSWER + b"\n\n"
        assert before.replace(event, lines + event) == came

    return check


def streams(lines: bytes, fault: object) -> Row:
    """A row for what stands in front of the event of an answer."""
    way = {"streamable-http": {"free": ["odd"]}, "sse": {"free": ["get"]}}
    return Row(fault=fault, check=in_front(lines), on=way)  # type: ignore[arg-type]


ROWS = [
    Row(
        fault=HttpStatus(status=429, retry_after=3, match=CALL),
        client=UNANSWERED,
        server={ODD: []},
        free=["odd"],
        check=refused("odd", status=429, fields={"retry-after": "3"}),
    ),
    Row(
        fault=SessionExpired(match=CALL),
        client=UNANSWERED,
        server={ODD: []},
        free=["odd"],
        check=refused("odd", status=404),
    ),
    Row(
        fault=EmptyResponse(match=CALL),
        client=UNANSWERED,
        server={ODD: []},
        free=["odd"],
        check=refused("odd", status=200, fields={"content-type": "application/json"}),
    ),
    Row(
        fault=MalformedChunk(match=CALL),
        client=UNANSWERED,
        server={ODD: []},
        free=["odd"],
        check=broken,
    ),
    Row(
        fault=Outage(match=BOTH, time=1.0),
        client=NEITHER,
        server={ODD: [], EVEN: []},
        free=["odd", "even"],
        check=refused("odd", "even", status=503),
    ),
    Row(
        fault=Quota(match=BOTH, requests=1, window=1.0),
        client={EVEN_PROGRESS: [], EVEN_ANSWER: []},
        server={EVEN: []},
        free=["even"],
        check=refused("even", status=429, fields={"retry-after": "1"}),
    ),
    Row(
        fault=WrongContentType(match=Match(method="tools/list")),
        free=["tools/list"],
        check=mislabelled,
    ),
    Row(fault=WrongContentType(match=CALL), free=["odd"], check=mislabelled_stream),
    Row(fault=JsonInsteadOfSse(match=CALL), free=["odd"], check=alone),
    Row(
        fault=CloseBeforeResponse(match=CALL),
        client={ANSWER: [END]},
        check=breaks_off(b""),
        on=BREAKS_AT_ANSWER,
    ),
    streams(b": storm\n\n" * 3, SseCommentStorm(count=3, text="storm", match=SECOND)),
    streams(b"retry: 5\n\n", SseRetry(retry=5, match=SECOND)),
    streams(b"id: 9\n", SseDuplicateId(id="9", match=SECOND)),
    Row(fault=SseGap(match=SECOND), client={ANSWER: []}),
]
