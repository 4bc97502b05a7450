"""What a recorded client did, and what it had heard by then."""

from __future__ import annotations

import json

from mcpmock.cassette.part import Learned, Part, part_of
from mcpmock.protocol.messages import StreamEnd
from tests.helpers import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Line,
    batch,
    c,
    call,
    cancelled,
    episode,
    notification,
    progress,
    request,
    response,
    s,
)

SAMPLE = request(0, "sampling/createMessage", {"n": 1})


def part(*events: Line) -> Part:
    return part_of(episode(*events))


def sent(found: Part) -> list[bytes]:
    return [line.frame.raw for line in found.lines]


def test_lines_in_order() -> None:
    """Each has its requests by number, and the answers that had come since the line before."""
    found = part(
        c(INITIALIZE), s(WELCOME), c(INITIALIZED),
        c(call(1, "a")), c(call(2, "b")), s(response(2)), c(call(3, "c")), s(response(1)),
    )  # fmt: skip

    assert [(0,), (), (1,), (2,), (3,), ()] == [line.calls for line in found.lines]
    assert [(), (0,), (), (), (2,), (1,)] == [line.answers for line in found.lines]
    assert isinstance(found.lines[-1].frame.fact, StreamEnd)


def test_what_a_line_waited_for() -> None:
    """Messages of the server count by kind, progress by its call; what came late does not."""
    found = part(
        c(request(1, "tools/call", token="t")), s(progress("t")), s(LOG), s(progress("t")),
        c(cancelled(1)), s(notification("notifications/tools/list_changed")), s(progress("t")),
        c(request(2, "tools/list")),
    )  # fmt: skip

    progressed = ("notifications/progress", "0")
    assert [
        (),
        (progressed, ("notifications/message",), progressed),
        (("notifications/tools/list_changed",),),
        (),
    ] == [line.signs for line in found.lines]


def test_answers_to_questions_are_no_lines() -> None:
    """They go out when the question comes; one that was never answered is known too."""
    found = part(
        c(call(1, "a")), s(SAMPLE), s(request(1, "roots/list")), c(response(0, {"text": "hi"})),
        s(response(1)),
    )  # fmt: skip

    assert [call(1, "a"), b""] == sent(found)
    assert [("sampling/createMessage", response(0, {"text": "hi"})), ("roots/list", None)] == [
        (one.method, one.reply and one.reply.raw) for one in found.questions
    ]
    assert (("request", "sampling/createMessage"), ("request", "roots/list")) == (
        found.lines[1].signs
    )


def test_the_end_of_the_input() -> None:
    """Where it was recorded it has its place; what the server said behind it is not waited for."""
    found = part(c(call(1, "a")), ("end", {"d": "c2s"}), s(response(1)))

    assert [call(1, "a"), b""] == sent(found)
    assert () == found.lines[1].answers


def test_tokens_that_servers_mint() -> None:
    """A cursor, a state, a task: live ones go where the recorded ones went, by path."""
    task = {"task": {"taskId": "T", "status": "working"}}
    found = part(
        c(request(1, "tools/list")), s(response(1, {"nextCursor": "C", "tools": []})),
        c(request(2, "tools/list", {"cursor": "C"})), s(response(2, {"requestState": "C"})),
        c(request(3, "tools/call", {"requestState": "C", "arguments": {"x": "C"}})),
        s(response(3, task)), c(request(4, "tasks/get", {"taskId": "T"})),
        c(request(5, "tasks/get", {"taskId": "other"})),
    )  # fmt: skip

    assert [
        (),
        (Learned(("params", "cursor"), 0, ("nextCursor",)),),
        (Learned(("params", "requestState"), 1, ("requestState",)),),
        (Learned(("params", "taskId"), 2, ("task", "taskId")),),
        (),
        (),
    ] == [line.learned for line in found.lines]


def test_answers_and_latencies() -> None:
    """The recorded answers are kept, with how long they took; a second answer is not."""
    found = part(
        (1.0, "c2s", call(1, "a")), (3.5, "s2c", response(1, "x")), (4.0, "s2c", response(1, "y"))
    )

    assert {0: 2.5} == found.latencies
    assert {0: "x"} == {n: json.loads(raw)["result"] for n, raw in found.answers.items()}


def test_gaps_are_from_whatever_came_last() -> None:
    """As a client that waits for what it hears, and then a while."""
    found = part((1.0, "c2s", call(1, "a")), (2.0, "s2c", response(1)), (2.5, "c2s", call(2, "b")))

    assert [1.0, 0.5, 0.0] == [line.gap for line in found.lines]


def test_batches() -> None:
    """A batch is one line with all its calls; of answers alone it is none."""
    found = part(
        c(batch(call(1, "a"), call(2, "b"))), s(SAMPLE), c(batch(response(0))),
        s(batch(response(1), response(2))),
    )  # fmt: skip

    assert [(0, 1), ()] == [line.calls for line in found.lines]
    assert (0, 1) == found.lines[1].answers
