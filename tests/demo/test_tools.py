"""The tools, one by one, as a legacy client calls them."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.demo.routes import STUB
from mcpmock.stubs.script import RouteKind
from tests.demo.talking import call, talk, welcome
from tests.support import request, response


def test_list() -> None:
    """Every tool is listed, with a description and a schema of an object."""
    listed = (talk(request(1, "tools/list"))).last["result"]["tools"]

    assert [name for kind, name in STUB.script.listed if kind is RouteKind.TOOL] == [
        tool["name"] for tool in listed
    ]
    assert all(tool["description"] for tool in listed)
    assert {"object"} == {tool["inputSchema"]["type"] for tool in listed}


def test_schema() -> None:
    """A schema holds what the arguments are and nothing of Python."""
    listed = (talk(request(1, "tools/list"))).last["result"]["tools"]
    add = next(tool for tool in listed if tool["name"] == "add")

    integers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert {"type": "object", "properties": integers, "required": ["a", "b"]} == add["inputSchema"]
    assert {"sum": {"type": "integer"}} == add["outputSchema"]["properties"]


def test_echo() -> None:
    """Echo says what it is told."""
    assert "\u2603" == (talk(call(1, "echo", message="\u2603"))).text


def test_add() -> None:
    """Add gives the sum as text and as structured content, however large."""
    heard = talk(call(1, "add", a=10**30, b=1))

    assert str(10**30 + 1) == heard.text
    assert "isError" not in heard.last["result"]


def test_add_structured() -> None:
    """The structured sum fits the schema."""
    assert {"sum": 5} == (talk(call(1, "add", a=2, b=3))).last["result"]["structuredContent"]


def test_weather() -> None:
    """The weather of a city never changes; it is logged that somebody looked."""
    heard = talk(call(1, "weather", city="Oslo"))

    assert "Oslo: 4 degrees, snow" == heard.text
    assert ["looked up Oslo"] == [p["data"] for p in heard.notified("notifications/message")]


def test_no_weather() -> None:
    """An unknown city is an error of the tool, which names the known ones."""
    heard = talk(call(1, "weather", city="Atlantis"))

    assert heard.last["result"]["isError"]
    assert "No weather for Atlantis; try Bergen, Cairo, Lima, Oslo, Tromsø" == heard.text


def test_countdown() -> None:
    """A countdown reports each step when it is taken, and then answers."""
    heard = talk(call(1, "countdown", steps=3, pause=2, token="t"), 10)

    assert [2.0, 4.0, 6.0, 6.0] == heard.times
    reports = heard.notified("notifications/progress")
    assert [("t", n, 3) for n in (1, 2, 3)] == [
        (r["progressToken"], r["progress"], r["total"]) for r in reports
    ]
    assert "lift-off" == heard.text


def test_slow() -> None:
    """A slow call answers when it said it would."""
    heard = talk(call(1, "slow", seconds=30), 60)

    assert ([30.0], "waited 30.0 seconds") == (heard.times, heard.text)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"action": "accept", "content": {"sure": True}}, "confirmed: go"),
        ({"action": "accept", "content": {"sure": False}}, "not confirmed (accept): go"),
        ({"action": "accept", "content": 7}, "not confirmed (accept): go"),
        ({"action": "decline"}, "not confirmed (decline): go"),
        ({}, "not confirmed (None): go"),
    ],
)
def test_confirm(reply: Any, text: str) -> None:
    """Only who accepts and is sure confirms."""
    asked = [welcome(elicitation={}), call(1, "confirm", action="go")]

    assert text == (talk(*asked, response(1, reply))).text


def test_ask_odd_reply() -> None:
    """A reply of another shape than it should have is no text."""
    asked = [welcome(sampling={}), call(1, "ask", question="?")]

    assert "the model says: None" == (talk(*asked, response(1, {"content": []}))).text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}, "file:///a\nfile:///b"),
        ({"roots": [1]}, ""),
        ({}, ""),
    ],
)
def test_roots(reply: Any, text: str) -> None:
    """The client's folders are listed one a line."""
    assert text == (talk(welcome(roots={}), call(1, "roots"), response(1, reply))).text


def test_crash() -> None:
    """A crash ends the server with the status it was told, and leaves the call unanswered."""
    heard = talk(call(1, "echo", message="last words"), call(2, "crash", code=7))

    assert ([1], 7) == (heard.ids, heard.status)


@pytest.mark.parametrize(
    "arguments", [{}, {"a": 1}, {"a": 1, "b": "2"}, {"a": 1.5, "b": 2}, {"a": True, "b": 2}]
)
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    """Arguments that do not fit are an error of the tool, which says what is wrong."""
    heard = talk(call(1, "add", **arguments))

    assert heard.last["result"]["isError"]
    assert heard.text.startswith("add: ")


@pytest.mark.parametrize("params", [{"name": "nothing"}, {"name": ["echo"]}, {}])
def test_no_tool(params: Any) -> None:
    """A tool that there is not is refused."""
    assert -32602 == (talk(request(1, "tools/call", params))).code
