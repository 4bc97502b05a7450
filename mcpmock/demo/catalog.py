"""What the demo server offers besides tools: resources, prompts, completions, and the weather.

Data first, then a handler for each method that reads it. A handler takes a `DemoCall` and returns
the result, or raises `DemoError`; `server` has the table of them.
"""

from __future__ import annotations

from typing import Any

from mcpmock.protocol.error_codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from mcpmock.protocol.messages import encode

from .call import DemoCall, DemoError, JsonObject, as_object

WEATHER = {
    "Bergen": {"city": "Bergen", "celsius": 9, "sky": "rain"},
    "Cairo": {"city": "Cairo", "celsius": 34, "sky": "clear"},
    "Lima": {"city": "Lima", "celsius": 19, "sky": "fog"},
    "Oslo": {"city": "Oslo", "celsius": 4, "sky": "snow"},
    "Tromsø": {"city": "Tromsø", "celsius": -7, "sky": "northern lights"},
}

COUNTER = "demo://counter"
_CITY = "demo://weather/"
_TEXTS = {"demo://greeting": "Hello from the demo server, with a snowman: \u2603\n"}
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJg"
    "gg=="
)
_RESOURCES = [
    {"uri": "demo://greeting", "name": "greeting", "mimeType": "text/plain"},
    {
        "uri": COUNTER,
        "name": "counter",
        "description": "Number of times that it was touched.",
        "mimeType": "text/plain",
    },
    {"uri": "demo://pixel", "name": "pixel", "mimeType": "image/png"},
]
_TEMPLATES = [
    {
        "uriTemplate": _CITY + "{city}",
        "name": "weather",
        "description": "The weather of a city.",
        "mimeType": "application/json",
    }
]

_NAMES = ["Ada", "Alan", "Edsger", "Grace"]
_STYLES = ["formal", "friendly"]
_PROMPTS = [
    {
        "name": "greet",
        "description": "Greet a person.",
        "arguments": [
            {"name": "name", "description": "The person.", "required": True},
            {"name": "style", "description": "`formal` or `friendly`."},
        ],
    },
    {"name": "haiku", "description": "Ask for a haiku about recordings."},
]
_COMPLETIONS = {
    ("greet", "name"): _NAMES,
    ("greet", "style"): _STYLES,
    (_CITY + "{city}", "city"): list(WEATHER),
}


def list_resources(_: DemoCall) -> JsonObject:
    return {"resources": _RESOURCES}


def list_templates(_: DemoCall) -> JsonObject:
    return {"resourceTemplates": _TEMPLATES}


def read_resource(call: DemoCall) -> JsonObject:
    uri = call.text("uri")
    content = _content(uri, call.session.touched[uri])
    if content is None:
        code = INVALID_PARAMS if call.modern else RESOURCE_NOT_FOUND
        raise DemoError(code, f"Unknown resource: {uri}", {"uri": uri})
    return {"contents": [{"uri": uri, **content}]}


def list_prompts(_: DemoCall) -> JsonObject:
    return {"prompts": _PROMPTS}


def get_prompt(call: DemoCall) -> JsonObject:
    name = call.text("name")
    arguments = as_object(call.params.get("arguments"))
    match name:
        case "greet" if isinstance(arguments.get("name"), str):
            words = f"Greet {arguments['name']} in a {arguments.get('style', 'friendly')} way."
        case "greet":
            raise DemoError(INVALID_PARAMS, "Missing argument: name")
        case "haiku":
            words = "Write a haiku about a conversation that can be heard again."
        case _:
            raise DemoError(INVALID_PARAMS, f"Unknown prompt: {name}")
    return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}


def complete(call: DemoCall) -> JsonObject:
    """The values that begin with the text typed so far."""
    ref, argument = call.params.get("ref"), call.params.get("argument")
    if not isinstance(ref, dict) or not isinstance(argument, dict):
        raise DemoError(INVALID_PARAMS, "params.ref and params.argument must be objects")
    about = str(ref.get("name", ref.get("uri"))), str(argument.get("name"))
    typed = str(argument.get("value", ""))
    values = [value for value in _COMPLETIONS.get(about, []) if value.startswith(typed)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def _content(uri: str, touched: int) -> dict[str, Any] | None:
    """The content of a resource; None if there is no such resource."""
    if uri in _TEXTS:
        return {"mimeType": "text/plain", "text": _TEXTS[uri]}
    if uri == COUNTER:
        return {"mimeType": "text/plain", "text": f"touched {touched} times\n"}
    if uri == "demo://pixel":
        return {"mimeType": "image/png", "blob": _PIXEL}
    found = WEATHER.get(uri.removeprefix(_CITY)) if uri.startswith(_CITY) else None
    if found is None:
        return None
    return {"mimeType": "application/json", "text": encode(found).decode()}
