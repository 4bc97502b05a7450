"""The messages around the calls: notifications, progress, questions, noise."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.semantic_diff.compare import compare
from mcpmock.semantic_diff.ignore_rules import IgnoreRules
from tests.support import (
    HEADER,
    LOG,
    Line,
    accepts,
    answers,
    c,
    call,
    cancelled,
    cassette,
    error,
    get,
    in_session,
    notification,
    opens,
    over_http,
    post,
    progress,
    request,
    response,
    s,
    says,
)

ASK, ANSWER = c(request(1, "tools/call", {"name": "a"}, token=1)), s(response(1))
OTHER_LOG = LOG.replace(b"info", b"error")
QUESTION = request("q", "roots/list")
ROOTS, OTHER_ROOTS = response("q", {"roots": []}), response("q", {"roots": [1]})
LATER = c(call(2, "b")), s(response(2))


def told(old: tuple[Line, ...], new: tuple[Line, ...], *ignore: str) -> list[str]:
    found = compare(cassette(*old), cassette(*new), IgnoreRules.parse(ignore)).differences
    return [
        " ".join(filter(None, (one.rule.name, one.method, one.path, "x2" * (one.times == 2))))
        for one in found
    ]


def within(*inside: Line) -> tuple[Line, ...]:
    return (ASK, *inside, ANSWER)


STEPS = tuple(s(progress(1, amount)) for amount in (1, 2, 3))
NOTE = "notifications/message $"
STEP = "notifications/progress $"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (within(*STEPS), within(*STEPS), []),
        (within(*STEPS), within(STEPS[1]), [f"notification-missing {STEP} x2"]),
        (within(), within(*STEPS[:2]), [f"notification-added {STEP} x2"]),
        (within(STEPS[0]), (ASK, STEPS[0]), ["answer-missing tools/call $"]),
        ((ASK, STEPS[0]), within(STEPS[0]), ["answer-added tools/call $"]),
        (within(STEPS[0]), within(STEPS[1]), [f"notification-changed {STEP}.params.progress"]),
        (within(*STEPS), within(STEPS[1], STEPS[0], STEPS[2]), ["messages-reordered tools/call $"]),
        (within(STEPS[0]), (ASK, ANSWER, STEPS[0]), ["messages-reordered tools/call $"]),
        (within(*STEPS[:2]), (ASK, STEPS[1], STEPS[0]),
         ["answer-missing tools/call $", "messages-reordered tools/call $"]),
        (within(s(LOG), STEPS[0]), within(STEPS[0], s(LOG)), []),
        (within(s(LOG), s(OTHER_LOG)), within(s(OTHER_LOG), s(LOG)),
         ["messages-reordered tools/call $"]),
        (within(s(LOG)), within(s(OTHER_LOG)), [f"notification-changed {NOTE}.params.level"]),
        (within(s(LOG)), (*within(), s(LOG)), []),
        (within(s(LOG)), within(), [f"notification-missing {NOTE}"]),
        ((*within(), s(LOG)), (*within(), s(LOG), s(LOG)), [f"notification-added {NOTE}"]),
        (within(s(QUESTION), c(ROOTS)), (*within(), s(QUESTION), c(ROOTS)), []),
        (within(s(QUESTION), c(ROOTS)), within(s(QUESTION), c(OTHER_ROOTS)),
         ["said-changed roots/list $.result.roots[0]"]),
        (within(s(QUESTION), c(ROOTS)), within(s(QUESTION), c(error("q"))),
         ["said-changed roots/list $"]),
        (within(s(QUESTION), c(ROOTS)), within(s(LOG), s(QUESTION), c(OTHER_ROOTS)),
         ["said-changed roots/list $.result.roots[0]", f"notification-added {NOTE}"]),
        (within(s(QUESTION), c(ROOTS)), within(s(QUESTION)), ["said-missing roots/list $"]),
        (within(s(QUESTION)), within(s(QUESTION), c(ROOTS)), ["said-added roots/list $"]),
        (within(), within(s(QUESTION)), ["question-added roots/list $"]),
        ((ASK, s(LOG), STEPS[0]), (ASK, STEPS[1], s(LOG)),
         [f"notification-changed {STEP}.params.progress"]),
        (within(s(QUESTION)), within(), ["question-missing roots/list $"]),
        (within(s(QUESTION)), within(s(request(1, "roots/list", {"a": 1}))),
         ["question-changed roots/list $.params.a"]),
        (within(), (c(notification("x")), *within()), ["said-added x $"]),
        ((c(notification("x")), *within()), within(), ["said-missing x $"]),
        ((s(b"one"), *within()), (s(b"two"), *within()), ["noise-changed output $.text"]),
        (within(), (s(b"two"), *within()), ["noise-added output $"]),
        ((s(b"two"), *within()), within(), ["noise-missing output $"]),
        (within(), (*within(), s(response(77))), ["noise-added response $"]),
    ],
)  # fmt: skip
def test_what_came_otherwise(
    old: tuple[Line, ...], new: tuple[Line, ...], expected: list[str]
) -> None:
    """Messages without a counterpart are differences, and the order of those of one call."""
    assert expected == told(old, new)


def test_a_request_that_was_not_made_is_one_difference() -> None:
    """The progress, the questions and the log messages of its call are no differences of their own;
    messages that belong to no call are.
    """
    asked = within(STEPS[0], s(LOG), s(QUESTION), c(ROOTS))

    assert ["request-missing tools/call $"] == told((*asked, *LATER), LATER)
    assert ["request-added tools/call $"] == told(LATER, (*asked, *LATER))
    assert ["request-missing tools/call $", f"notification-missing {NOTE}"] == told(
        (s(LOG), *asked, *LATER), LATER
    )
    assert ["request-missing tools/call $", f"notification-added {STEP}"] == told(
        (*asked, *LATER), (STEPS[0], *LATER)
    )


def test_what_may_belong_to_a_request_that_was_not_made() -> None:
    """It may come without it."""
    asked = (ASK, s(LOG), ANSWER, *LATER)

    assert ["request-missing tools/call $"] == told(asked, (s(LOG), *LATER))
    assert ["request-added tools/call $"] == told((s(LOG), *LATER), asked)


def test_what_comes_of_a_call_that_was_given_up_is_chance() -> None:
    """How far it got, and whether an answer crossed the cancel."""
    cancel = c(cancelled(1))

    assert [] == told((ASK, *STEPS, cancel), (ASK, STEPS[0], cancel, STEPS[2], ANSWER))
    asked = (ASK, s(QUESTION), STEPS[0], cancel, ANSWER)
    assert ["question-missing roots/list $"] == told(asked, (ASK, cancel, ANSWER))
    assert ["question-added roots/list $"] == told((ASK, cancel), asked)


def test_unrelated_calls_may_come_in_any_order() -> None:
    """The order of unrelated calls is ignored."""
    assert [] == told(
        (ASK, *STEPS, ANSWER, *LATER), (LATER[0], ASK, STEPS[0], LATER[1], *STEPS[1:], ANSWER)
    )


def test_secrets_in_messages_have_other_numbers() -> None:
    """The same notification about the same secret."""
    one, two = (s(notification("x", {"a": f"mcpmock:secret:token:{n}"})) for n in (1, 2))

    assert [] == told(within(one), within(two))
    assert ["notification-changed x $.params.a"] == told(within(one, two), within(one, one))


def test_messages_can_be_ignored() -> None:
    """By their method, by that of their call, in part or as a whole."""
    old, new = within(s(LOG)), within(s(OTHER_LOG), STEPS[0])

    rule = f"notification-added {STEP}"
    assert [rule] == told(old, new, "notifications/message $.params.level")
    assert [] == told(old, new, "tools/call a $")
    assert [] == told(old, new, "notifications/* $")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((ASK, ANSWER, c(cancelled(1))), (ASK, ANSWER)),
        ((ASK, ANSWER), (ASK, ANSWER, c(cancelled(1)))),
        ((ASK, ANSWER, c(cancelled(1))), (ASK, c(cancelled(1)), ANSWER)),
        ((ASK, c(cancelled(1)), ANSWER), (ASK, ANSWER)),
        ((ASK, ANSWER, c(cancelled(1)), *LATER), (ASK, ANSWER, *LATER, c(cancelled(1)))),
        ((ASK, ANSWER, c(cancelled(99))), (ASK, ANSWER)),
        ((ASK, ANSWER, c(cancelled(1)), c(cancelled(1))), (ASK, ANSWER)),
        ((ASK, s(QUESTION), c(ROOTS), s(cancelled("q")), ANSWER),
         (ASK, s(QUESTION), c(ROOTS), ANSWER)),
    ],
)  # fmt: skip
def test_a_cancel_that_comes_too_late(old: tuple[Line, ...], new: tuple[Line, ...]) -> None:
    """A cancel behind the answer of its call changes nothing, and neither does one of no call."""
    assert [] == told(old, new)


def test_a_cancel_that_comes_in_time() -> None:
    """A call that was given up is something else than one that was answered."""
    found = told((ASK, c(cancelled(1))), (ASK, ANSWER))

    assert ["said-missing notifications/cancelled $"] == found


def ask(id_: int, **meta: object) -> Line:
    params = {"name": "a", "arguments": {}, **({"_meta": meta} if meta else {})}
    return c(request(id_, "tools/call", params))


OWN = "meta-changed tools/call $.params._meta"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"x/id": 1}, {"x/id": 2}, [f"{OWN}['x/id']"]),
        ({"x/id": 1}, {}, [f"{OWN}['x/id']"]),
        ({}, {"x/id": 1, "y": {"z": 1}}, [f"{OWN}['x/id']", f"{OWN}.y"]),
        ({"y": {"z": 1}}, {"y": {"z": 2}}, [f"{OWN}.y.z"]),
        ({"progressToken": 1}, {"progressToken": 2}, []),
        ({"io.modelcontextprotocol/related-task": {"taskId": "a"}}, {},
         ["request-changed tools/call $.params._meta['io.modelcontextprotocol/related-task']"]),
    ],
)  # fmt: skip
def test_meta_of_requests(
    old: dict[str, object], new: dict[str, object], expected: list[str]
) -> None:
    """What the protocol does not define there is compatible at most."""
    assert expected == told((ask(1, **old), ANSWER), (ask(1, **new), ANSWER))


def test_calls_that_differ_in_meta_alone_are_paired() -> None:
    """Also many of one tool, whose answers come in another order."""
    ids = range(60)
    old = [line for i in ids for line in (ask(i, run=f"a{i}"), s(response(i, {"n": 1})))]
    new = [line for i in ids for line in (ask(i, run=f"b{i}"), s(response(i, {"n": 1})))]

    assert {"meta-changed"} == {line.split()[0] for line in told(tuple(old), tuple(new))}


NOTED = post(2, notification("notifications/initialized"), session="s")
ENTERED = (post(1, request(0, "initialize", {})), answers(1, response(0)))
LISTED = ASK_A, ANSWER_A = post(4, call(1, "a"), session="s"), answers(4, response(1))
CHANGED = notification("notifications/tools/list_changed")
OPENED, TAKEN = get(3, session="s"), accepts(2)
TOLD, TOLD_WITHIN, ASKED = says(3, CHANGED), says(4, CHANGED), says(3, request(9, "ping"))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([NOTED, OPENED, opens(3), TOLD, TAKEN, *LISTED], []),
        ([NOTED, OPENED, TAKEN, opens(3), TOLD, *LISTED], []),
        ([OPENED, NOTED, opens(3), TAKEN, TOLD, TOLD, *LISTED], []),
        ([OPENED, NOTED, TAKEN, opens(3), TOLD, *LISTED], []),
        ([NOTED, OPENED, opens(3), TAKEN, *LISTED, TOLD], ["notification"]),
        ([OPENED, opens(3), NOTED, TOLD, TAKEN, *LISTED], ["notification"]),
        ([NOTED, TAKEN, OPENED, opens(3), TOLD, *LISTED], ["notification"]),
        ([NOTED, TAKEN, OPENED, opens(3), *LISTED, TOLD], ["notification"]),
        ([NOTED, OPENED, opens(3), TAKEN, ASK_A, TOLD_WITHIN, ANSWER_A], ["notification"]),
        ([NOTED, OPENED, opens(3), ASKED, TAKEN, *LISTED], ["question"]),
    ],
)
def test_what_comes_as_a_stream_opens_may_come_in_one_recording_only(
    steps: list[Any], expected: list[str]
) -> None:
    """Where a POST was open meanwhile: the server may be told of it before it hears of the GET."""
    without = [step for step in steps if step not in (TOLD, TOLD_WITHIN, ASKED)]
    old, new = (over_http(in_session(2, *ENTERED, *rest)) for rest in (steps, without))

    lost = [one.rule.name for one in compare(old, new).differences]
    found = [one.rule.name for one in compare(new, old).differences]
    assert [f"{family}-missing" for family in expected] == lost
    assert [f"{family}-added" for family in expected] == found


def over(transport: str, *lines: Line) -> Cassette:
    """A recording over HTTP or pipes; what the server says unasked comes on a GET stream."""
    if transport != "streamable-http":
        return cassette(*lines, header=HEADER.replace(b"stdio", transport.encode()))
    steps: list[Any] = [get(1, session="s"), opens(1)]
    for x, (side, raw) in enumerate(lines, 2):
        if side == "c2s":
            steps += [post(x, raw, session="s"), accepts(x) if b'"id"' not in raw else opens(x)]
        elif b'"q' in raw or b"list_changed" in raw:
            steps.append(says(1, raw))
        else:
            steps.append(says(2, raw))
    return over_http(in_session(2, *steps))


STDIO, HTTP, SSE = "stdio", "streamable-http", "sse"
SAID = c(notification("notifications/roots/list_changed"))


@pytest.mark.parametrize(
    ("kinds", "message", "expected"),
    [
        ((STDIO, HTTP), s(CHANGED), []),
        ((SSE, HTTP), s(CHANGED), []),
        ((STDIO, SSE), s(CHANGED), ["notification"]),
        ((HTTP, STDIO), s(CHANGED), ["notification"]),
        ((HTTP, HTTP), s(CHANGED), ["notification"]),
        ((STDIO, HTTP), STEPS[0], ["notification"]),
        ((STDIO, HTTP), s(request("q2", "roots/list")), ["question"]),
        ((STDIO, HTTP), SAID, ["said"]),
        ((STDIO, STDIO), c(cancelled(2)), ["said"]),
        ((STDIO, HTTP), c(cancelled(2)), []),
        ((HTTP, STDIO), s(cancelled("q")), ["notification"]),
        ((STDIO, HTTP), s(b"noise"), []),
        ((STDIO, SSE), s(b"noise"), []),
        ((STDIO, HTTP), s(response(77)), []),
    ],
)  # fmt: skip
def test_what_another_transport_may_lack(
    kinds: tuple[str, str], message: Line, expected: list[str]
) -> None:
    """Over HTTP, a notification that belongs to no call; over any, what only one of them has."""
    lines = c(request(2, "tools/call", {"name": "b"}, token=1)), s(QUESTION)
    own, lacking = over(kinds[0], *lines, message), over(kinds[1], *lines)

    lost = [one.rule.name for one in compare(own, lacking).differences]
    found = [one.rule.name for one in compare(lacking, own).differences]
    assert [f"{family}-missing" for family in expected] == lost
    assert [f"{family}-added" for family in expected] == found


def test_what_certainly_belongs_to_a_call_on_one_side_only() -> None:
    """It has no order there: over pipes a log message may belong to another call."""
    asked, log = c(request(2, "tools/call", {"name": "b"}, token=1)), s(LOG)
    one, other = over(HTTP, asked, log, STEPS[0]), over(STDIO, asked, STEPS[0], log)
    alike = over(HTTP, asked, STEPS[0], log)

    assert () == compare(one, other).differences == compare(other, one).differences
    assert ["messages-reordered"] == [found.rule.name for found in compare(one, alike).differences]


def test_what_comes_as_a_stream_opens_in_a_session_that_only_one_recording_has() -> None:
    """It is a difference as the session is."""
    session = [*ENTERED, NOTED, OPENED, opens(3), TOLD, TAKEN]
    old = over_http(in_session(1, *ENTERED), in_session(2, *session))
    found = compare(old, over_http(in_session(1, *ENTERED))).differences

    assert {"notification-missing", "said-missing", "request-missing"} == {
        one.rule.name for one in found
    }


def test_secrets_of_other_conversations() -> None:
    """Each numbers its own: a message that moved to another one has another number."""
    calls = [c(call(1, name, t="mcpmock:secret:token:1")) for name in "ab"]
    old, new = (s(notification("x", {"t": f"mcpmock:secret:token:{n}"})) for n in (1, 2))

    assert [] == told(
        (calls[0], ("take", None), calls[1], old), (calls[0], new, ("take", None), calls[1])
    )
