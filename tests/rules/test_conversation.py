"""`ConversationChecker`: frames in, violations out; what was not seen is no violation."""

from __future__ import annotations

import random

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody
from mcpmock.rules import conversation as module
from mcpmock.rules import memory, messages
from mcpmock.rules.conversation import ConversationChecker
from mcpmock.rules.specification import Unjudged
from tests.rules.violations import (
    HTTP,
    Step,
    ask,
    asked,
    got,
    modern_http,
    names,
    opening,
    opening_http,
    posted,
    violations,
)
from tests.support import (
    accepts,
    answers,
    batch,
    c2s,
    cancelled,
    ends,
    error,
    exits,
    hangs_up,
    logs,
    notification,
    opens,
    post,
    progress,
    request,
    response,
    s2c,
    says,
)

COMPLETE = notification("notifications/elicitation/complete", {"elicitationId": "e"})
GET_TASK = request(1, "tasks/get", {"taskId": "t"})
NEXT_PAGE = request(1, "tools/list", {"cursor": "c"})


def pieces(raw: bytes, *, last: bool = True, exchange: int | None = None) -> list[Frame]:
    """A message from the server in two pieces."""
    halves = raw[: len(raw) // 2], raw[len(raw) // 2 :]
    facts = Fragment(), Fragment(last=last)
    return [Frame(S2C, h, fact=f, exchange=exchange) for h, f in zip(halves, facts, strict=True)]


def test_a_violation_says_all() -> None:
    """A violation has its frame, its rule with the sentence and page, and a text."""
    [told] = violations(*opening("2025-06-18"), c2s(request(None, "ping")))

    assert (4, "id-null", "2025-06-18 basic/index") == (told.number, told.rule.name, told.cited)
    assert "Unlike base JSON-RPC, the ID MUST NOT be null." == told.rule.sentence
    assert ("ping with a null id", "error") == (told.text, told.level.value)


def test_facts_are_no_messages() -> None:
    """Events of the transport break no rule of stdio."""
    assert [] == names(*opening(), logs("up\n"), hangs_up(C2S), exits(0))


def test_each_member_of_a_batch_is_heard() -> None:
    """As if it had come alone."""
    both = batch(response(1), response(1), b"7")

    assert ["answered-twice", "not-a-message"] == names(
        *opening("2025-03-26"), c2s(request(1, "ping")), s2c(both)
    )


def test_a_message_in_pieces_is_one() -> None:
    """A message is checked when its last piece has arrived."""
    asks = [*opening(), c2s(request(1, "ping"))]

    assert [] == names(*asks, pieces(response(1)))
    assert ["answers-nothing"] == names(*asks, pieces(response(2)))


def test_what_is_too_long_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a message that was too long nothing counts as missing; other violations are found."""
    monkeypatch.setattr(memory, "_MAX_MESSAGE_BYTES", 10)
    asks: list[Step] = [*opening(), pieces(request(1, "roots/list")), c2s(response(1))]

    assert ["id-null"] == names(*asks, s2c(progress(9)), c2s(request(None, "ping")))


def test_an_incomplete_session_breaks_no_rule() -> None:
    """A response, progress and a cancel may belong to a request that was not seen."""
    conversation = ConversationChecker()
    conversation.mark_incomplete()
    late: list[Frame] = [
        *opening(),
        s2c(response(5)),
        s2c(progress(7)),
        c2s(request(1, "tools/list")),
    ]

    assert [] == [told for frame in late for told in conversation.check(frame, 1)]


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ([posted(3, response("q", {"roots": []})), accepts(3)], "answers-nothing"),
        ([posted(3, cancelled(5)), accepts(3)], "cancels-nothing"),
        ([got(3), opens(3), says(3, progress("t"))], "progress-token"),
        ([got(3), opens(3), says(3, COMPLETE)], "elicitation-unknown"),
        ([posted(3, GET_TASK), answers(3, error(1, -32000))], "not-found-code"),
        ([posted(3, NEXT_PAGE), answers(3, error(1, -31000))], "error-code-differs"),
    ],
)
def test_a_session_may_have_begun_before_the_recording(steps: list[Step], rule: str) -> None:
    """Over HTTP: what was asked for before was not seen, unless its handshake was."""
    assert [] == names(*steps, transport=HTTP)
    assert rule in names(*opening_http(), *steps, transport=HTTP)


def test_long_requests_are_not_kept() -> None:
    """The arguments of a long request are dropped, its id and token are not."""
    conversation = ConversationChecker()
    big = {"name": "dig", "arguments": {"text": "x" * 100_000}}
    for frame in (*opening(), c2s(request(1, "tools/call", big, token=7)), s2c(progress(7))):
        found = conversation.check(frame, 1)
        assert [] == [one for one in found if not isinstance(one, Unjudged)]
    [call] = conversation._checker.session.calls.open_calls(C2S)

    assert len(call.request.params or b"") < 100
    assert not conversation.state.incomplete
    assert [] == conversation.check(c2s(request("x" * 2000, "ping")), 1)
    assert conversation.state.incomplete


def test_a_long_meta_is_not_kept_either() -> None:
    """A long `_meta` may contain the token, so later progress breaks no rule."""
    raw = request(1, "tools/call", {"name": "dig", "_meta": {"progressToken": 7, "x": "y" * 2000}})

    assert [] == names(*opening(), c2s(raw), s2c(progress(7)))


def test_exchanges_that_never_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers without a session come and go, and some are never answered."""
    monkeypatch.setattr(messages, "MAX_CALLS", 10)
    conversation = ConversationChecker.over(HTTP, sessionless=True)
    for x in range(100):
        for frame in asked(x, ask(1, "tools/list"), "tools/list"):
            assert [] == conversation.check(frame, 1)

    assert len(conversation._checker._exchanges) <= 11
    assert len(conversation._checker._origins) <= 11


def test_an_error_without_an_id_answers_what_was_posted() -> None:
    """A request that could not be read is answered all the same, and its stream may end."""
    asks = post(3, request(1, "ping"), session="s-1", mcp_protocol_version="2025-06-18")
    unread = b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"what?"}}'
    stream: list[Step] = [asks, opens(3), says(3, unread), ends(3)]

    assert [] == names(*opening_http("2025-06-18"), *stream, transport=HTTP)


def test_paths_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many paths that messages were posted to some are remembered."""
    monkeypatch.setattr(module, "MAX_REMEMBERED", 3)
    conversation = ConversationChecker.over(HTTP, sessionless=True)
    for x in range(9):
        for frame in post(x, request(1, "ping"), to=f"/{x}"):
            conversation.check(frame, 1)
        conversation.check(Frame(C2S, b"more", fact=HttpBody(), exchange=x), 1)

    assert 3 == len(conversation.state.server.paths)


def test_an_error_page_is_no_message() -> None:
    """The body of an HTTP error need not be JSON-RPC."""
    pages = [b"<html>", b'{"error":"invalid_token"}', b'{"error":{"code":1}}']
    for page in pages:
        asks = [post(3, request(1, "ping"), session="s-1", mcp_protocol_version="2025-11-25")]
        assert [] == names(*opening_http(), *asks, answers(3, page, 401), transport=HTTP)


def test_garbage_never_raises() -> None:
    """Frames of all kinds in any order, torn and odd ones too, raise no error."""
    dice = random.Random(1)
    raws = [request(1, "tools/call", {"_meta": []}), response(1), b"[", b"[]", b"[[1]]", b"\xff",
            b'{"jsonrpc":2,"id":{},"method":"notifications/cancelled","params":[]}', b"{}",
            b'{"id":1,"result":[],"error":7}', progress(7), ask(1, "subscriptions/listen"),
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":[]}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":{},"capabilities":7}}',
            b'{"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":[]}}}',
            b'{"jsonrpc":"2.0","id":1,"error":{"code":[],"data":[]}}']  # fmt: skip
    for _ in range(300):
        transport = dice.choice(["stdio", HTTP, "sse"])
        told = ConversationChecker.over(transport, sessionless=dice.random() < 0.5)
        for _ in range(40):
            raw, x = dice.choice(raws), dice.randrange(4)
            made = dice.choice([post(x, raw), says(x, raw, id="1"), opens(x), [ends(x)],
                                [c2s(raw)], [s2c(raw)], answers(x, raw), pieces(raw)])  # fmt: skip
            for frame in made:
                told.check(frame, 1)


def test_the_eras_do_not_mix() -> None:
    """A server that shows itself as modern to one caller owes nothing of that to a session."""
    assert [] == names(*modern_http(), transport=HTTP, sessionless=True)
    assert [] == names(*opening_http(), transport=HTTP)
