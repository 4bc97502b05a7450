"""What the demo server offers: tools, resources, prompts and completions."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcpmock.demo.routes import WEATHER
from tests.demo.talking import call, talk, welcome
from tests.support import request, response

SURE = {"action": "accept", "content": {"sure": True}}


def test_list() -> None:
    """Every tool is listed, with a description and a schema of its arguments and of its output."""
    listed = talk(request(1, "tools/list")).last["result"]["tools"]
    add = next(tool for tool in listed if tool["name"] == "add")

    assert all(tool["description"] for tool in listed)
    integers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert {"type": "object", "properties": integers, "required": ["a", "b"]} == add["inputSchema"]
    assert {"sum": {"type": "integer"}} == add["outputSchema"]["properties"]


@pytest.mark.parametrize(
    ("tool", "arguments", "reply", "text"),
    [
        ("echo", {"message": "\u2603"}, None, "\u2603"),
        ("add", {"a": 10**30, "b": 1}, None, str(10**30 + 1)),
        ("weather", {"city": "Oslo"}, None, "Oslo: 4 degrees, snow"),
        ("weather", {"city": "X"}, None, f"No weather for X; try {', '.join(WEATHER)}"),
        ("slow", {"seconds": 30}, None, "waited 30.0 seconds"),
        ("confirm", {"action": "go"}, SURE, "confirmed: go"),
        ("confirm", {"action": "go"}, {**SURE, "content": {}}, "not confirmed (accept): go"),
        ("confirm", {"action": "go"}, {**SURE, "content": 7}, "not confirmed (accept): go"),
        ("confirm", {"action": "go"}, {"action": "decline"}, "not confirmed (decline): go"),
        ("confirm", {"action": "go"}, {}, "not confirmed (None): go"),
        ("ask", {"question": "?"}, {"content": {"text": "42"}}, "the model says: 42"),
        ("ask", {"question": "?"}, {"content": []}, "the model says: None"),
        ("roots", {}, {"roots": [{"uri": "a"}, {"uri": "b"}]}, "a\nb"),
        ("roots", {}, {"roots": [1]}, ""),
        ("roots", {}, {}, ""),
    ],
)
def test_tools(tool: str, arguments: dict[str, Any], reply: Any, text: str) -> None:
    """The text of the result, be the client's reply to a question of another shape or none."""
    able = welcome(sampling={}, elicitation={}, roots={})
    replies = [] if reply is None else [response(1, reply)]

    assert text == talk(able, call(1, tool, **arguments), *replies, 60).text


def test_weather() -> None:
    """It is logged that somebody looked, and the report is structured."""
    heard = talk(call(1, "weather", city="Oslo"))

    assert WEATHER["Oslo"] == heard.last["result"]["structuredContent"]
    assert ["looked up Oslo"] == [p["data"] for p in heard.notified("notifications/message")]


def test_countdown() -> None:
    """A countdown reports each step when it is taken, and then answers."""
    heard = talk(call(1, "countdown", steps=3, pause=2, token="t"), 10)

    assert [2.0, 4.0, 6.0, 6.0] == heard.times
    reports = heard.notified("notifications/progress")
    assert [("t", n, 3) for n in (1, 2, 3)] == [
        (r["progressToken"], r["progress"], r["total"]) for r in reports
    ]
    assert "lift-off" == heard.text


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
