"""What was written, in the words of the protocol."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.methods import LATEST
from mcpmock.stubs.results import SERVER_INFO, Speaker, failed, result_of, with_revision_members
from mcpmock.stubs.script import RouteKind, StubEntry

OLD, STRUCTURED = "2025-03-26", "2025-06-18"


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def made(kind: RouteKind, value: Any, revision: str = STRUCTURED, **listed: Any) -> Any:
    return result_of(StubEntry(kind, "a", "last"), listed, value, "a:b", Speaker(revision))


@pytest.mark.parametrize(
    ("value", "revision", "expected"),
    [
        ("sun", STRUCTURED, {"content": [text("sun")]}),
        (None, STRUCTURED, {"content": []}),
        (1.5, STRUCTURED, {"content": [text("1.5")]}),
        ({"t": 1}, OLD, {"content": [text('{"t":1}')]}),
        ({"t": 1}, STRUCTURED, {"content": [text('{"t":1}')], "structuredContent": {"t": 1}}),
        ([1, 2], STRUCTURED, {"content": [text("[1,2]")]}),
        ([], STRUCTURED, {"content": [text("[]")]}),
        ([text("a"), text("b")], STRUCTURED, {"content": [text("a"), text("b")]}),
        ({"content": [text("a")], "x": 1}, STRUCTURED, {"content": [text("a")], "x": 1}),
    ],
)
def test_a_tool(value: Any, revision: str, expected: Any) -> None:
    """Content, and structured content where there is such; what is whole stays as it is."""
    assert expected == made(RouteKind.TOOL, value, revision)


def test_data_that_has_content() -> None:
    """Only blocks make a whole result of it."""
    assert {"content": [1]} == made(RouteKind.TOOL, {"content": [1]})["structuredContent"]


def test_the_latest_revision() -> None:
    """Any value is structured; a result says that it is whole, a resource for how long."""
    whole = {"resultType": "complete", "content": [text("[1]")], "structuredContent": [1]}

    assert whole == made(RouteKind.TOOL, [1], LATEST)
    assert {"resultType": "task"} == made(RouteKind.METHOD, {"resultType": "task"}, LATEST)
    assert {"ttlMs", "cacheScope", "resultType", "contents"} == made(
        RouteKind.RESOURCE, "", LATEST
    ).keys()
    assert {"ttlMs": 5} == with_revision_members("tools/list", {"ttlMs": 5}, Speaker(OLD))
    assert 5 == with_revision_members("tools/list", {"ttlMs": 5}, Speaker(LATEST))["ttlMs"]
    info = {"name": "a", "version": "1"}
    assert {SERVER_INFO: info} == with_revision_members("x", {}, Speaker(LATEST, info))["_meta"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sun", [{"role": "user", "content": text("sun")}]),
        (["a", text("b")], [{"role": "user", "content": text(t)} for t in "ab"]),
        ({"role": "assistant", "content": "hi"}, [{"role": "assistant", "content": text("hi")}]),
        ({"role": "user", "content": text("b")}, [{"role": "user", "content": text("b")}]),
    ],
)
def test_a_prompt(value: Any, expected: Any) -> None:
    """Messages of the user, unless said otherwise."""
    assert {"messages": expected} == made(RouteKind.PROMPT, value)


def test_a_prompt_that_is_described() -> None:
    """In the result as in the list; a whole result stays as it is."""
    assert "d" == made(RouteKind.PROMPT, "x", description="d")["description"]
    assert {"messages": []} == made(RouteKind.PROMPT, {"messages": []}, description="d")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sun", {"mimeType": "text/plain", "text": "sun"}),
        ({"t": 1}, {"mimeType": "application/json", "text": '{"t":1}'}),
        (b"\0", {"blob": "AA=="}),
    ],
)
def test_a_resource(value: Any, expected: dict[str, Any]) -> None:
    """Under the URI that was asked for; the type is what was said, else what it looks like."""
    assert {"contents": [{"uri": "a:b", **expected}]} == made(RouteKind.TEMPLATE, value)
    named = {"uri": "a:b", **expected, "mimeType": "x/y"}
    assert {"contents": [named]} == made(RouteKind.RESOURCE, value, mimeType="x/y")


def test_a_whole_resource() -> None:
    """It stays as it is."""
    assert {"contents": []} == made(RouteKind.RESOURCE, {"contents": []})


def test_a_method() -> None:
    """Its result is whatever was said."""
    assert [1] == made(RouteKind.METHOD, [1])


def test_an_unfinished_result() -> None:
    """A tool that asks its client something says so itself."""
    asks = {"resultType": "input_required", "inputRequests": {}}

    assert asks == made(RouteKind.TOOL, asks, LATEST)


def test_a_failure() -> None:
    """What a tool says that failed."""
    assert {"content": [text("no")], "isError": True} == made(RouteKind.TOOL, failed("no"))
