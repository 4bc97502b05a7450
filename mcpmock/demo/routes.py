"""`STUB`: what the demo server offers: tools, resources, prompts and completions.

Nothing depends on chance or on the wall clock: equal requests get equal answers.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta

from mcpmock.protocol.error_codes import INVALID_PARAMS
from mcpmock.stubs.builder import Stub
from mcpmock.stubs.call import Steps, StubCall, StubError, StubExit, as_object
from mcpmock.stubs.results import failed
from mcpmock.stubs.server import StubServer
from mcpmock.stubs.typed_tool import declare_tool

WEATHER = {
    "Bergen": {"city": "Bergen", "celsius": 9, "sky": "rain"},
    "Cairo": {"city": "Cairo", "celsius": 34, "sky": "clear"},
    "Lima": {"city": "Lima", "celsius": 19, "sky": "fog"},
    "Oslo": {"city": "Oslo", "celsius": 4, "sky": "snow"},
    "Tromsø": {"city": "Tromsø", "celsius": -7, "sky": "northern lights"},
}
COUNTER = "demo://counter"
_CITY = "demo://weather/{city}"
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJg"
    "gg=="
)
_COMPLETIONS = {
    ("greet", "name"): ["Ada", "Alan", "Edsger", "Grace"],
    ("greet", "style"): ["formal", "friendly"],
    (_CITY, "city"): list(WEATHER),
}

STUB = Stub(
    "mcpmock-demo",
    title="mcpmock's demo server",
    version="1.0.0",
    instructions="A small server that does a little of everything, always the same way.",
    capabilities={
        "tools": {},
        "resources": {"subscribe": True},
        "prompts": {},
        "completions": {},
        "logging": {},
    },
)


def _tool(function: Callable[..., Any], output: dict[str, str] | None = None) -> None:
    more: dict[str, Any] = {} if output is None else {"outputSchema": _object_of(output)}
    declare_tool(STUB, function, **more)


def _object_of(types: dict[str, str]) -> dict[str, Any]:
    properties = {name: {"type": type_} for name, type_ in types.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _tool_with_output(**output: str) -> Callable[[Callable[..., Any]], None]:
    return lambda function: _tool(function, output)


@_tool
def echo(_: StubCall, message: str) -> str:
    """Return the message."""
    return message


@_tool_with_output(sum="integer")
def add(_: StubCall, a: int, b: int) -> Any:
    """Add two integers."""
    return _structured(str(a + b), {"sum": a + b})


@_tool_with_output(city="string", celsius="integer", sky="string")
def weather(call: StubCall, city: str) -> Any:
    """Return the weather in a city. It never changes."""
    report = WEATHER.get(city)
    if report is None:
        return failed(f"No weather for {city}; try {', '.join(WEATHER)}")
    call.log("info", f"looked up {city}", "demo")
    return _structured(f"{city}: {report['celsius']} degrees, {report['sky']}", report)


@_tool
def countdown(
    call: StubCall,
    steps: Annotated[int, Meta(ge=1, le=1000)] = 3,
    pause: Annotated[float, Meta(ge=0, le=60, description="Seconds per step.")] = 0.05,
) -> Steps:
    """Count down, with a progress notification at each step."""
    for step in range(1, steps + 1):
        yield pause
        call.progress(step, steps, f"{steps - step} to go")
    return "lift-off"


@_tool
def slow(_: StubCall, seconds: Annotated[float, Meta(ge=0, le=3600)] = 1.0) -> Steps:
    """Wait before answering."""
    yield seconds
    return f"waited {seconds} seconds"


@_tool
def ask(call: StubCall, question: str) -> Steps:
    """Ask the client's language model a question."""
    message = {"role": "user", "content": {"type": "text", "text": question}}
    params = {"messages": [message], "maxTokens": 100}
    reply = yield from call.ask("sampling/createMessage", params)
    return f"the model says: {as_object(reply.get('content')).get('text')}"


@_tool
def confirm(call: StubCall, action: str) -> Steps:
    """Ask the client's user to confirm an action, in a form."""
    sure = {"type": "boolean", "title": "Sure?", "default": False}
    form = {"type": "object", "properties": {"sure": sure}, "required": ["sure"]}
    question = {"message": f"Really {action}?", "requestedSchema": form}
    reply = yield from call.ask("elicitation/create", question)
    if reply.get("action") == "accept" and as_object(reply.get("content")).get("sure") is True:
        return f"confirmed: {action}"
    return f"not confirmed ({reply.get('action')}): {action}"


@_tool
def roots(call: StubCall) -> Steps:
    """List the folders that the client works in."""
    listed = (yield from call.ask("roots/list")).get("roots")
    uris = [as_object(root).get("uri") for root in listed] if isinstance(listed, list) else []
    return "\n".join(uri for uri in uris if isinstance(uri, str))


@_tool
def touch(call: StubCall, uri: str = COUNTER) -> str:
    """Change a resource, and notify its subscribers."""
    call.state.setdefault("touched", Counter())[uri] += 1
    call.update(uri)
    return f"touched {uri}"


@_tool
def crash(_: StubCall, code: Annotated[int, Meta(ge=0, le=255)] = 1) -> None:
    """End the server process in the middle of the call."""
    raise StubExit(code)


def _structured(text: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return the complete result of a tool, the same in all revisions."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": value}


STUB.resource("demo://greeting", name="greeting", mime_type="text/plain").reply(
    "Hello from the demo server, with a snowman: \u2603\n"
)
STUB.resource(
    COUNTER,
    name="counter",
    description="Number of times that it was touched.",
    mime_type="text/plain",
).run(lambda call: f"touched {call.state.get('touched', Counter())[COUNTER]} times\n")
STUB.resource("demo://pixel", name="pixel", mime_type="image/png").reply(b64decode(_PIXEL))


STUB.resource(
    _CITY, name="weather", description="The weather of a city.", mime_type="application/json"
).when(city=lambda city: city in WEATHER).reply(lambda variables: WEATHER[variables["city"]])


@STUB.prompt(
    "greet",
    [
        {"name": "name", "description": "The person.", "required": True},
        {"name": "style", "description": "`formal` or `friendly`."},
    ],
    description="Greet a person.",
).run
def greet(call: StubCall) -> Any:
    name = call.arguments.get("name")
    if not isinstance(name, str):
        raise StubError(INVALID_PARAMS, "Missing argument: name")
    return _prompt(f"Greet {name} in a {call.arguments.get('style', 'friendly')} way.")


def _prompt(text: str) -> dict[str, Any]:
    """Return the result of a prompt, without its description."""
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


STUB.prompt("haiku", description="Ask for a haiku about recordings.").reply(
    _prompt("Write a haiku about a conversation that can be heard again.")
)


@STUB.method("completion/complete").run
def complete(call: StubCall) -> Any:
    """Return the values that begin with the text typed so far."""
    ref, argument = call.params.get("ref"), call.params.get("argument")
    if not isinstance(ref, dict) or not isinstance(argument, dict):
        raise StubError(INVALID_PARAMS, "params.ref and params.argument must be objects")
    about = str(ref.get("name", ref.get("uri"))), str(argument.get("name"))
    typed = str(argument.get("value", ""))
    values = [value for value in _COMPLETIONS.get(about, []) if value.startswith(typed)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


class DemoServer(StubServer):
    """One conversation of the demo server with its client."""

    def __init__(self) -> None:
        super().__init__(STUB.script)
