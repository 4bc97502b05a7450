"""Resources, prompts and completions: all that is listed is there."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcpmock.demo.routes import WEATHER
from tests.demo.talking import call, talk
from tests.support import request


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
