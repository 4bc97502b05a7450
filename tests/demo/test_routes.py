"""What the demo server offers: tools, resources, prompts and completions."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcpmock.demo.routes import STUB, WEATHER
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


def result(method: str, params: Any = None) -> Any:
    return (talk(request(1, method, params))).last["result"]


def read(uri: str) -> Any:
    (content,) = (result("resources/read", {"uri": uri}))["contents"]
    return content


def test_every_resource() -> None:
    """Every listed resource can be read, as what the list says it is."""
    listed = (result("resources/list"))["resources"]
    contents = [read(resource["uri"]) for resource in listed]

    assert [(r["uri"], r["mimeType"]) for r in listed] == [
        (c["uri"], c["mimeType"]) for c in contents
    ]


def test_blob() -> None:
    """The picture is a picture."""
    assert base64.b64decode((read("demo://pixel"))["blob"]).startswith(b"\x89PNG\r\n")


def test_template() -> None:
    """Every city has a resource by the listed template."""
    (row,) = (result("resources/templates/list"))["resourceTemplates"]

    for city in WEATHER:
        assert city in (read(row["uriTemplate"].replace("{city}", city)))["text"]


def test_counter() -> None:
    """What is read changes when it is touched."""
    uri = {"uri": "demo://counter"}
    steps = [request(1, "resources/read", uri), call(2, "touch"), request(3, "resources/read", uri)]
    before, _, after = (talk(*steps)).messages

    assert ["touched 0 times\n", "touched 1 times\n"] == [
        message["result"]["contents"][0]["text"] for message in (before, after)
    ]


@pytest.mark.parametrize("uri", ["demo://weather/Atlantis", "file:///etc/passwd", ""])
def test_no_resource(uri: str) -> None:
    """Nothing else can be read."""
    assert -32002 == (talk(request(1, "resources/read", {"uri": uri}))).code


def test_every_prompt() -> None:
    """Every listed prompt can be had, given the arguments it requires."""
    for row in (result("prompts/list"))["prompts"]:
        required = [a["name"] for a in row.get("arguments", []) if a.get("required")]
        arguments = {name: f"<{name}>" for name in required}
        got = result("prompts/get", {"name": row["name"], "arguments": arguments})

        text = got["messages"][0]["content"]["text"]
        assert all(argument in text for argument in arguments.values())


@pytest.mark.parametrize("params", [{"name": "greet"}, {"name": "nothing"}, {}])
def test_no_prompt(params: Any) -> None:
    """An unknown prompt, or one without a required argument, is refused."""
    assert -32602 == (talk(request(1, "prompts/get", params))).code


@pytest.mark.parametrize(
    ("ref", "argument", "values"),
    [
        ({"name": "greet"}, {"name": "name", "value": "A"}, ["Ada", "Alan"]),
        ({"name": "greet"}, {"name": "style", "value": ""}, ["formal", "friendly"]),
        ({"name": "greet"}, {"name": "other", "value": ""}, []),
        ({"uri": "demo://weather/{city}"}, {"name": "city", "value": "Tr"}, ["Tromsø"]),
    ],
)
def test_complete(ref: Any, argument: Any, values: list[str]) -> None:
    """A completion begins with what was typed."""
    got = result("completion/complete", {"ref": ref, "argument": argument})

    assert (values, len(values)) == (got["completion"]["values"], got["completion"]["total"])


def test_odd_completion() -> None:
    """A completion of nothing is refused."""
    assert -32602 == (talk(request(1, "completion/complete", {"ref": 1}))).code
