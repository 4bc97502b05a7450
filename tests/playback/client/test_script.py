"""The lines of a recorded client, and what they wait for."""

from __future__ import annotations

import pytest
from msgspec import UNSET, structs

from mcpmock.cassette.model import Event, Gap, Oversize
from mcpmock.playback.client.script import (
    SERVER_END,
    STREAM_OPENING,
    ClientScript,
    LearnedValue,
    find_values,
    script_of,
    unbound_placeholders,
)
from mcpmock.protocol.messages import StreamEnd
from tests.support import (
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
    error,
    notification,
    progress,
    request,
    response,
    s,
)

SAMPLE = request(0, "sampling/createMessage", {"n": 1})


def part(*events: Line) -> ClientScript:
    return script_of(episode(*events))


def sent(found: ClientScript) -> list[bytes]:
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
        s(progress("of nothing")),
        c(cancelled(1)), s(notification("notifications/tools/list_changed")), s(progress("t")),
        c(request(2, "tools/list")),
    )  # fmt: skip

    progressed = ("notifications/progress", 0)
    assert [
        (),
        (progressed, ("notifications/message", None), progressed),
        (("notifications/tools/list_changed", None),),
        (),
    ] == [line.events for line in found.lines]


def test_answers_to_questions_are_no_lines() -> None:
    """They go out when the question comes; one that was never answered is known too."""
    found = part(
        c(call(1, "a")), s(SAMPLE), s(request(1, "roots/list")), c(response(0, {"text": "hi"})),
        s(response(1)),
    )  # fmt: skip

    assert [call(1, "a"), b""] == sent(found)
    assert [("sampling/createMessage", response(0, {"text": "hi"})), ("roots/list", None)] == [
        (one.method, one.reply and one.reply.frame.raw) for one in found.server_requests
    ]
    assert (("request sampling/createMessage", None), ("request roots/list", None)) == (
        found.lines[1].events
    )


def test_an_answer_to_a_question_has_its_place() -> None:
    """Behind the lines that came before it, and so long after the question."""
    found = part(
        c(call(1, "a")), s(SAMPLE), c(cancelled(1)), c(call(2, "b")), c(response(0)),
        c(response(0, "again")),
    )  # fmt: skip
    [question] = found.server_requests
    assert question.reply is not None

    assert (3, 3.0, 1.0) == (question.reply.after, question.reply.delay, question.reply.gap)
    assert response(0) == question.reply.frame.raw


def test_progress_on_a_question() -> None:
    """It names the question whose token it uses."""
    ask = request(0, "sampling/createMessage", token="Q")
    found = part(
        c(call(1, "a")), c(call(2, "b")), s(SAMPLE), s(ask), c(progress("Q")), c(progress("other")),
        c(cancelled(2)),
    )  # fmt: skip

    assert [None, None, 1, None, None, None] == [line.about for line in found.lines]


def test_the_end_of_the_input() -> None:
    """Where it was recorded it has its place; what the server said behind it is not waited for."""
    found = part(c(call(1, "a")), ("end", {"d": "c2s"}), s(response(1)))

    assert [call(1, "a"), b""] == sent(found)
    assert () == found.lines[1].answers


@pytest.mark.parametrize(("exchange", "waits"), [(None, True), (1, False)])
def test_the_end_of_a_server(exchange: int | None, waits: bool) -> None:
    """Over HTTP the recorder ends the server behind its client: a status says nothing there."""
    recorded = episode(c(INITIALIZE), s(WELCOME), ("end", {"d": "s2c"}), ("end", {"exit": 3}))
    said = [structs.replace(one, x=exchange) for one in recorded.events[:2]]
    found = script_of(structs.replace(recorded, events=[*said, *recorded.events[2:]]))

    assert [*[SERVER_END] * waits] == [*found.lines[-1].events]


def test_behind_the_end() -> None:
    """Nothing can be said any more, whatever a file says."""
    found = part(c(call(1, "a")), ("end", {"d": "c2s"}), c(call(2, "b")), ("end", {"d": "c2s"}))

    assert [call(1, "a"), b""] == sent(found)


def test_a_line_that_was_too_long_to_be_recorded() -> None:
    """Its head alone is no line; that it is missing is known."""
    recorded = episode(c(call(1, "a")), c(b'{"jsonrpc":'))
    recorded.events = list(recorded.events)
    recorded.events[1].oversize = Oversize(1 << 30, "")
    found = script_of(recorded)

    assert ([call(1, "a"), b""], (2,)) == (sent(found), found.oversized)


def test_late_answers() -> None:
    """One that crossed a cancel, and one to nothing that was asked, are waited for as what a server
    need not say.
    """
    found = part(
        c(call(1, "a")), c(cancelled(1)), s(response(1)), s(error(b"null")), c(call(2, "b"))
    )

    assert (("answer", 0), ("answer", None)) == found.lines[2].events
    assert () == found.lines[2].answers


@pytest.mark.parametrize("raw", [response(99), b"[]", b"noise", batch(LOG)])
def test_an_answer_to_no_question(raw: bytes) -> None:
    """It is a line as any other, and so is what says nothing."""
    assert [raw, b""] == sent(part(c(raw)))


def test_the_standalone_stream() -> None:
    """It is opened once, however often it was: what ends it is chance."""
    recorded = episode(c(INITIALIZE), s(WELCOME), *[c(LOG)] * 2, c(INITIALIZED))
    get = {"method": "GET", "target": "/mcp", "headers": []}
    events = [
        structs.replace(one, m=UNSET, http=get) if one.n in (3, 4) else one
        for one in recorded.events
    ]
    found = script_of(structs.replace(recorded, events=events))

    assert [INITIALIZE, b"", INITIALIZED, b""] == sent(found)
    assert STREAM_OPENING.fact == found.lines[1].frame.fact


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
        (LearnedValue(("params", "cursor"), 0, ("nextCursor",)),),
        (LearnedValue(("params", "requestState"), 1, ("requestState",)),),
        (LearnedValue(("params", "taskId"), 2, ("task", "taskId")),),
        (),
        (),
    ] == [line.learned for line in found.lines]


def test_tokens_in_batches() -> None:
    """In answers, in requests, and in answers to questions."""
    minted = response(1, {"task": {"taskId": "T"}})
    found = part(
        c(call(1, "a")), s(batch(minted, SAMPLE)),
        c(batch(request(2, "tasks/get", {"taskId": "T"}), response(0, {"taskId": "T"}))),
    )  # fmt: skip
    [question] = found.server_requests
    assert question.reply is not None

    assert (LearnedValue((0, "params", "taskId"), 0, ("task", "taskId")),) == found.lines[1].learned
    assert (LearnedValue(("result", "taskId"), 0, ("task", "taskId")),) == question.reply.learned


def test_numbers_as_tokens() -> None:
    """Some servers count; what is neither text nor a number is none."""
    found = part(
        c(request(1, "tools/list")), s(response(1, {"nextCursor": 5})),
        c(request(2, "tools/list", {"cursor": 5})), s(response(2, {"nextCursor": None})),
        c(request(3, "tools/list", {"cursor": None})),
    )  # fmt: skip

    assert [0, 1, 0, 0] == [len(line.learned) for line in found.lines]


def test_deep_nesting() -> None:
    """Nothing recurses."""
    deep = b'{"jsonrpc":"2.0","id":1,"result":%b{"nextCursor":"C"}%b}' % (b"[" * 9999, b"]" * 9999)
    found = part(c(call(1, "a")), s(deep), c(request(2, "tools/list", {"cursor": "C"})))

    assert (0,) == found.lines[1].answers


def test_what_is_no_message() -> None:
    """Standard error and the end of the process are nothing to a client, nor is what the recorder
    noted between.
    """
    said: list[Line] = [c(call(1, "a")), s(response(1))]
    found = episode(said[0], ("stderr", "x"), said[1], ("end", {"exit": 0}))
    noted = structs.replace(found, events=[Event(n=9, gap=Gap(1, 1, "x")), *found.events])

    assert sent(part(*said)) == sent(script_of(found)) == sent(script_of(noted))


@pytest.mark.parametrize("raw", [b'"nextCursor"', b"nextCursor", b'["nextCursor"]', b"[1]", b""])
def test_no_values_are_found_in_what_has_no_names(raw: bytes) -> None:
    """Whatever texts it has."""
    assert [] == [*find_values(raw, ["nextCursor"])]


@pytest.mark.parametrize(
    ("said", "opens"),
    [
        ([INITIALIZE, INITIALIZED, call(1, "a")], True),
        ([batch(call(1, "a"), INITIALIZE)], True),
        ([call(1, "a")], False),
        ([INITIALIZED, notification("initialize")], False),
        ([], False),
    ],
)
def test_whether_it_opens_a_session(said: list[bytes], opens: bool) -> None:
    """Whatever it sends besides the request `initialize`."""
    assert opens is part(s(LOG), *map(c, said)).opens


def test_placeholders_without_a_value_in_replies() -> None:
    """Each with the line in front of which the reply goes."""
    hole = "mcpmock:secret:token:1"
    said = (
        c(call(1, "a")), s(request(1, "roots/list")), s(SAMPLE), c(response(0, [hole])),
        s(response(1)), c(call(2, "b")),
    )  # fmt: skip

    assert [(hole, 6)] == [*unbound_placeholders(part(*said))]


def test_placeholders_without_a_value() -> None:
    """Those that no answer before them had: a live server cannot give them one."""
    one, two = (f"mcpmock:secret:token:{n}" for n in (1, 2))
    found = part(
        c(call(1, "a", key=one)), s(response(1, [two])), c(call(2, "b", key=two, other=one))
    )

    assert [(one, 1), (one, 3)] == [*unbound_placeholders(found)]


def test_latencies_and_secrets() -> None:
    """How long answers took; of a second answer nothing. What secrets were taken out of is kept."""
    found = part(
        (1.0, "c2s", call(1, "a")), (3.5, "s2c", response(1, "x")), (4.0, "s2c", response(1, "y"))
    )

    assert {0: 2.5} == found.latencies
    assert {} == found.redacted_results
    hidden = part(c(call(1, "a")), s(response(1, ["mcpmock:secret:token:1"])))
    assert {0: b'["mcpmock:secret:token:1"]'} == hidden.redacted_results


def test_gaps_are_from_whatever_came_last() -> None:
    """As a client that waits for what it hears, and then a while."""
    found = part((1.0, "c2s", call(1, "a")), (2.0, "s2c", response(1)), (2.5, "c2s", call(2, "b")))

    assert [0.0, 0.5, 0.0] == [line.gap for line in found.lines]
    assert [0.0, 1.0, 0.0] == [line.wait for line in found.lines]


def test_a_server_that_speaks_first() -> None:
    """The wait for it counts from its first message: the take may have begun long before."""
    found = part((3.0, "s2c", LOG), (4.0, "s2c", LOG), (4.5, "c2s", call(1, "a")))

    assert [(1.0, 0.5), (0.0, 0.0)] == [(line.wait, line.gap) for line in found.lines]


def test_standard_error_ends_no_pause() -> None:
    """A client does not wait for it."""
    found = part((1.0, "s2c", LOG), (2.0, "stderr", "x\n"), (4.0, "c2s", call(1, "a")))

    assert 3.0 == found.lines[0].gap


def test_batches() -> None:
    """A batch is one line with all its calls; of answers alone it is none, and among others each
    answer is one to its question.
    """
    found = part(
        c(batch(call(1, "a"), call(2, "b"))), s(SAMPLE), s(request(1, "roots/list")),
        c(batch(response(0), response(1))), s(request(2, "roots/list")),
        c(batch(LOG, response(2))), s(batch(response(1), response(2))),
    )  # fmt: skip

    assert [(0, 1), (), ()] == [line.calls for line in found.lines]
    assert (0, 1) == found.lines[2].answers
    assert batch(LOG) == found.lines[1].frame.raw
    replies = [one.reply.frame.raw for one in found.server_requests if one.reply is not None]
    assert [response(0), response(1), response(2)] == replies
