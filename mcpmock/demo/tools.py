"""The demo server's tools. A tool is a function: its parameters are the arguments, its docstring is
the description, and it returns the result or is a generator (see `call`).
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import attrs
import msgspec
from msgspec import Meta

from mcpmock.protocol.error_codes import INVALID_PARAMS

from . import catalog
from .call import (
    DemoCall,
    DemoError,
    JsonObject,
    ServerCrash,
    Steps,
    as_object,
)


@attrs.frozen
class DemoTool:
    """A tool: what it does, the shape of its arguments, and how `tools/list` describes it."""

    run: Callable[..., JsonObject | Steps]
    arguments: type[msgspec.Struct]
    listed: JsonObject


TOOLS: dict[str, DemoTool] = {}


def _tool(run: Callable[..., JsonObject | Steps], output: JsonObject | None = None) -> Any:
    hints = get_type_hints(run, include_extras=True)
    fields = [
        (p.name, hints[p.name], *(() if p.default is Parameter.empty else (p.default,)))
        for p in list(signature(run).parameters.values())[1:]
    ]
    arguments = msgspec.defstruct(run.__name__, fields)
    _, parts = msgspec.json.schema_components([arguments])
    schema = {key: parts[run.__name__][key] for key in ("type", "properties", "required")}
    listed = {"name": run.__name__, "description": run.__doc__, "inputSchema": schema}
    if output is not None:
        shape = {"type": "object", "properties": output, "required": list(output)}
        listed["outputSchema"] = shape
    TOOLS[run.__name__] = DemoTool(run, arguments, listed)
    return run


def _tool_with_output(**output: str) -> Callable[[Callable[..., JsonObject]], Any]:
    properties = {name: {"type": type_} for name, type_ in output.items()}
    return lambda run: _tool(run, properties)


@_tool
def echo(_: DemoCall, message: str) -> JsonObject:
    """Return the message."""
    return text_result(message)


@_tool_with_output(sum="integer")
def add(_: DemoCall, a: int, b: int) -> JsonObject:
    """Add two integers."""
    return {**text_result(str(a + b)), "structuredContent": {"sum": a + b}}


@_tool_with_output(city="string", celsius="integer", sky="string")
def weather(call: DemoCall, city: str) -> JsonObject:
    """Return the weather in a city. It never changes."""
    report = catalog.WEATHER.get(city)
    if report is None:
        return failed(f"No weather for {city}; try {', '.join(catalog.WEATHER)}")
    call.log("info", f"looked up {city}")
    text = f"{city}: {report['celsius']} degrees, {report['sky']}"
    return {**text_result(text), "structuredContent": report}


@_tool
def countdown(
    call: DemoCall,
    steps: Annotated[int, Meta(ge=1, le=1000)] = 3,
    pause: Annotated[float, Meta(ge=0, le=60, description="Seconds per step.")] = 0.05,
) -> Steps:
    """Count down, with a progress notification at each step."""
    for step in range(1, steps + 1):
        yield pause
        call.progress(step, steps, f"{steps - step} to go")
    return text_result("lift-off")


@_tool
def slow(_: DemoCall, seconds: Annotated[float, Meta(ge=0, le=3600)] = 1.0) -> Steps:
    """Wait before answering."""
    yield seconds
    return text_result(f"waited {seconds} seconds")


@_tool
def ask(call: DemoCall, question: str) -> Steps:
    """Ask the client's language model a question."""
    message = {"role": "user", "content": {"type": "text", "text": question}}
    params = {"messages": [message], "maxTokens": 100}
    reply = yield from call.ask("sampling/createMessage", params)
    return text_result(f"the model says: {as_object(reply.get('content')).get('text')}")


@_tool
def confirm(call: DemoCall, action: str) -> Steps:
    """Ask the client's user to confirm an action, in a form."""
    sure = {"type": "boolean", "title": "Sure?", "default": False}
    form = {"type": "object", "properties": {"sure": sure}, "required": ["sure"]}
    question = {"message": f"Really {action}?", "requestedSchema": form}
    reply = yield from call.ask("elicitation/create", question)
    if reply.get("action") == "accept" and as_object(reply.get("content")).get("sure") is True:
        return text_result(f"confirmed: {action}")
    return text_result(f"not confirmed ({reply.get('action')}): {action}")


@_tool
def roots(call: DemoCall) -> Steps:
    """List the folders that the client works in."""
    listed = (yield from call.ask("roots/list", {})).get("roots")
    uris = [as_object(root).get("uri") for root in listed] if isinstance(listed, list) else []
    return text_result("\n".join(uri for uri in uris if isinstance(uri, str)))


@_tool
def touch(call: DemoCall, uri: str = catalog.COUNTER) -> JsonObject:
    """Change a resource, and notify its subscribers."""
    call.session.touch(uri)
    return text_result(f"touched {uri}")


@_tool
def crash(_: DemoCall, code: Annotated[int, Meta(ge=0, le=255)] = 1) -> JsonObject:
    """End the server process in the middle of the call."""
    raise ServerCrash(code)


def list_tools(_: DemoCall) -> JsonObject:
    return {"tools": [tool.listed for tool in TOOLS.values()]}


def call_tool(call: DemoCall) -> JsonObject | Steps:
    """Run a tool. Raises DemoError if there is none of that name. Bad arguments are a result, so
    that the model sees them and can correct them.
    """
    name = call.text("name")
    tool = TOOLS.get(name)
    if tool is None:
        raise DemoError(INVALID_PARAMS, f"Unknown tool: {name}")
    try:
        arguments = msgspec.convert(call.params.get("arguments", {}), tool.arguments)
    except msgspec.ValidationError as error:
        return failed(f"{name}: {error}")
    return tool.run(call, **msgspec.structs.asdict(arguments))


def text_result(text: str) -> JsonObject:
    """A tool result with one text."""
    return {"content": [{"type": "text", "text": text}]}


def failed(text: str) -> JsonObject:
    """A tool result that reports a failure."""
    return {**text_result(text), "isError": True}
