"""What an event says, in a few words."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Event
from mcpmock.protocol.messages import C2S, S2C, Frame, HttpRequest, HttpResponse, parse
from mcpmock.view.summary import (
    MAX_SUMMARY_CHARS,
    brief,
    event_summary,
    head_text,
    message_summary,
    text_member,
)
from tests.support import dump, error, notification, progress, request, response


def asked(method: str, params: object) -> str:
    raw = request(1, method, params)
    return message_summary(parse(raw), raw, method)


def answered(method: str | None, result: object) -> str:
    raw = response(1, result)
    return message_summary(parse(raw), raw, method)


@pytest.mark.parametrize(
    ("method", "params", "summary"),
    [
        ("tools/call", {"name": "add", "arguments": {"a": 1}}, 'add {"a":1}'),
        ("resources/read", {"uri": "file:///x"}, "file:///x"),
        ("sampling/createMessage", {"messages": [{"content": {"text": "hi"}}]}, "hi"),
        ("x/y", {"a": [1]}, '{"a":[1]}'),
        ("tools/list", None, ""),
    ],
)
def test_a_request_is_told_by_what_matters_of_its_method(
    method: str, params: object, summary: str
) -> None:
    """A request is summed up by the members that tell its method's calls apart."""
    assert summary == asked(method, params)


@pytest.mark.parametrize(
    ("method", "result", "summary"),
    [
        ("tools/list", {"tools": [{"name": "a"}, {"name": "b"}]}, "a, b"),
        ("tools/call", {"content": [{"type": "text", "text": "21\n C"}]}, "21 C"),
        ("tools/call", {"content": [{"type": "image", "data": "x"}]}, "image"),
        ("tools/call", {"content": 7}, "7"),
        (None, {"a": 1}, '{"a":1}'),
    ],
)
def test_a_result_is_told_by_the_method_it_answers(
    method: str | None, result: object, summary: str
) -> None:
    """A result is summed up by the names or texts in it."""
    assert summary == answered(method, result)


def test_an_error_is_told_by_code_and_message() -> None:
    """An error shows its code and its message, whatever was called."""
    raw = error(1, -32602, "no such city")

    assert "-32602 no such city" == message_summary(parse(raw), raw, "tools/call")


def test_progress_is_told_without_its_token() -> None:
    """A progress notification shows how far it is."""
    raw = progress(7, 3)

    assert "3" == message_summary(parse(raw), raw, None)


def test_long_lists_are_cut() -> None:
    """Of a long list only the first items are told."""
    summary = answered("tools/list", {"tools": [{"name": "t"}] * 21})

    assert ", ".join(["t"] * 20) + ", ..." == summary


def test_a_summary_is_one_short_line() -> None:
    """Line breaks become spaces and what is too long ends in dots."""
    assert "a b c" == brief("a\nb\u2028\tc")
    assert MAX_SUMMARY_CHARS == len(brief("x" * 1000))
    assert brief("x" * 1000).endswith("...")


def test_what_no_decoder_takes_is_still_told() -> None:
    """Lone surrogates, bytes that are no UTF-8 and deep nesting do not stop a summary."""
    lone = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\\ud800"}}'

    assert "a\\ud800" == message_summary(parse(lone), lone, None)
    assert "\\xff" == message_summary(parse(b"\xff"), b"\xff", None)
    deep = notification("x")[:-1] + b',"params":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    assert "[[[" == message_summary(parse(deep), deep, None)[:3]


def test_a_member_that_is_no_string_is_no_text() -> None:
    """Only a string is the text of a member."""
    assert "x" == text_member(dump({"a": {"b": "x"}}), "a", "b")
    assert text_member(dump({"a": 1}), "a") is None
    assert text_member(None, "a") is None


def test_a_head_is_told_as_http_spells_it() -> None:
    """A line for what comes first and one for each field; a message is no head."""
    asked = Frame(C2S, fact=HttpRequest("GET", "/mcp", [("A", "1"), ("a", "2")]))
    answered = Frame(S2C, fact=HttpResponse(404, "Not Found", []))

    assert "GET /mcp\nA: 1\na: 2" == head_text(asked)
    assert ("404 Not Found", "") == (head_text(answered), head_text(Frame(C2S, b"{}")))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [([], "GET /mcp"), ([["Last-Event-ID", "s1/66"]], "GET /mcp after event s1/66")],
)
def test_a_resumed_stream_says_what_it_goes_on_from(
    headers: list[list[str]], expected: str
) -> None:
    """A GET that resumes a stream has the event that was received last in its summary."""
    head = {"method": "GET", "target": "/mcp", "headers": headers}

    assert expected == event_summary(Event(n=1, x=1, d="c2s", http=head))


def test_a_receipt_tells_which_fault_did_what_to_what() -> None:
    """Its name and kind, what it was for, and what it drew; anything else as it was written."""
    receipt = {
        "name": "slow",
        "kind": "latency",
        "fired": 1,
        "on": "response",
        "method": "tools/call",
        "id": "7",
        "drawn": {"seconds": 0.25},
    }

    assert "slow (latency) response of tools/call 7: seconds=0.25" == event_summary(
        Event(n=1, fault=receipt)
    )
    assert "drop message" == event_summary(Event(n=1, fault={"kind": "drop", "on": "message"}))
    assert "{'a': 1}" == event_summary(Event(n=1, fault={"a": 1}))
    assert "x" == event_summary(Event(n=1, fault="x"))
