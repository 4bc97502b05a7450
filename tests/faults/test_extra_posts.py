"""What faults add toward a server over HTTP."""

from __future__ import annotations

from mcpmock.faults.extra_posts import ExtraPosts
from mcpmock.protocol.messages import C2S, Frame, HttpRequest
from tests.support import answers, get, notification, post, request, response, says, shown

CALL = request(1, "tools/call", {"name": "x"})
LOG = notification("notifications/message")


def test_what_came_is_not_touched() -> None:
    """Frames of the client's own exchange, and all that goes the other way."""
    postings, unit = ExtraPosts(), post(1, CALL)

    assert shown(unit) == shown(postings.posted(unit, unit))
    assert shown(unit[1:]) == shown(postings.posted(unit[1:], unit[1:]))  # its head came before
    assert answers(1, LOG) == postings.posted(answers(1, LOG), unit)
    assert 0 == postings.newest


def test_what_is_added() -> None:
    """Each message is posted where the client's are, in front of it and behind."""
    postings, unit = ExtraPosts(), post(1, CALL, session="s", content_length="9")
    added = Frame(C2S, LOG, exchange=1)

    frames = postings.posted([added, *unit, added], unit)
    assert [
        "-1 POST /mcp",
        f"-1 {LOG.decode()}",
        "1 POST /mcp",
        f"1 {CALL.decode()}",
        "-2 POST /mcp",
        f"-2 {LOG.decode()}",
    ] == shown(frames)
    head = frames[0].fact
    assert isinstance(head, HttpRequest)
    assert ("s", None) == (head.header("mcp-session-id"), head.header("content-length"))


def test_an_answer_to_the_server() -> None:
    """What answers a request on an event stream is posted as the client's last message was."""
    postings, asked = ExtraPosts(), says(1, request("s", "roots/list"))
    answer = [Frame(C2S, response("s"), exchange=1)]

    assert [] == postings.posted(answer, asked)  # nobody has posted anything yet
    postings.learn(get(2, to="/other")[0])
    postings.learn(post(1, CALL, to="/here")[0])
    assert ["-1 POST /here", f"-1 {response('s').decode()}"] == shown(
        postings.posted(answer, asked)
    )


def test_what_heads_say_again() -> None:
    """From 2026-07-28 on the head names the method and what it is about."""
    postings = ExtraPosts()
    unit = post(1, CALL, mcp_method="tools/call", mcp_name="x")
    added = [Frame(C2S, raw, exchange=1) for raw in (request(2, "prompts/get", {"name": "p"}), LOG)]
    heads = [f.fact for f in postings.posted([*unit, *added], unit)[2::2]]

    assert [("prompts/get", "p"), ("notifications/message", "x")] == [
        (head.header("mcp-method"), head.header("mcp-name"))
        for head in heads
        if isinstance(head, HttpRequest)
    ]


def test_what_comes_back_is_for_nobody() -> None:
    """Whatever it is; all else is for somebody."""
    own, theirs = answers(-1, response(1)), answers(1, response(1))

    assert theirs == ExtraPosts().unanswered([*own, *theirs])
    assert post(1, CALL) == ExtraPosts().unanswered(post(1, CALL))
