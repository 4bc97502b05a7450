"""The demo server's tools: a tool is a small struct whose fields are its arguments, whose docstring
is its description, and whose `run` is what it does.

A tool that can answer at once does, so that answers keep the order of the calls; one that waits is
a coroutine, and may be cancelled wherever it waits. To add one: write the class, add its row to
`TOOLS`. What a tool may do besides returning is on `call.Call`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Any, ClassVar

import msgspec
import trio
from msgspec import Meta

from . import catalog
from .call import DemoAnswer, DemoCall, Failure
from .peer import INVALID_PARAMS, DemoRefusal

_Shape = type[msgspec.Struct] | None


class Crash(Exception):
    """The server is to end here and now, with an exit status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


class Tool(msgspec.Struct, frozen=True):
    """What every tool is."""

    output: ClassVar[_Shape] = None
    """The shape of its structured content, if it has any."""

    def run(self, call: DemoCall) -> DemoAnswer | Awaitable[DemoAnswer]:
        """Gives the result, or a coroutine that waits for it."""
        raise NotImplementedError


class Echo(Tool, frozen=True):
    """Says what it is told."""

    message: str

    def run(self, call: DemoCall) -> DemoAnswer:  # noqa: ARG002
        return said(self.message)


class Sum(msgspec.Struct):
    """The output of `add`."""

    sum: int


class Add(Tool, frozen=True):
    """Adds two integers."""

    a: int
    b: int

    output: ClassVar[_Shape] = Sum

    def run(self, call: DemoCall) -> DemoAnswer:  # noqa: ARG002
        total = self.a + self.b
        return {**said(str(total)), "structuredContent": {"sum": total}}


class Report(msgspec.Struct):
    """The output of `weather`."""

    city: str
    celsius: int
    sky: str


class Weather(Tool, frozen=True):
    """Says how the weather is in a city, which never changes here."""

    city: str

    output: ClassVar[_Shape] = Report

    def run(self, call: DemoCall) -> DemoAnswer:
        report = catalog.WEATHER.get(self.city)
        if report is None:
            return failed(f"No weather for {self.city}; try {', '.join(catalog.WEATHER)}")
        call.log("info", f"looked up {self.city}")
        text = f"{self.city}: {report['celsius']} degrees, {report['sky']}"
        return {**said(text), "structuredContent": report}


class Countdown(Tool, frozen=True):
    """Counts down, reporting progress at each step."""

    steps: Annotated[int, Meta(ge=1, le=1000)] = 3
    pause: Annotated[float, Meta(ge=0, le=60, description="Seconds at each step.")] = 0.05

    async def run(self, call: DemoCall) -> DemoAnswer:
        for step in range(1, self.steps + 1):
            await trio.sleep(self.pause)
            call.progress(step, self.steps, f"{self.steps - step} to go")
        return said("lift-off")


class Slow(Tool, frozen=True):
    """Waits before it answers."""

    seconds: Annotated[float, Meta(ge=0, le=3600)] = 1.0

    async def run(self, call: DemoCall) -> DemoAnswer:  # noqa: ARG002
        await trio.sleep(self.seconds)
        return said(f"waited {self.seconds} seconds")


class Ask(Tool, frozen=True):
    """Has the client's language model answer a question."""

    question: str

    async def run(self, call: DemoCall) -> DemoAnswer:
        asked = {"role": "user", "content": {"type": "text", "text": self.question}}
        reply = await call.ask("sampling/createMessage", {"messages": [asked], "maxTokens": 100})
        content = reply.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        return said(f"the model says: {text}")


class Confirm(Tool, frozen=True):
    """Has the client's user confirm something, in a form."""

    action: str

    async def run(self, call: DemoCall) -> DemoAnswer:
        sure = {"type": "boolean", "title": "Sure?", "default": False}
        form = {"type": "object", "properties": {"sure": sure}, "required": ["sure"]}
        question = {"message": f"Really {self.action}?", "requestedSchema": form}
        reply = await call.ask("elicitation/create", question)
        content = reply.get("content")
        agreed = isinstance(content, dict) and content.get("sure") is True
        if reply.get("action") == "accept" and agreed:
            return said(f"confirmed: {self.action}")
        return said(f"not confirmed ({reply.get('action')}): {self.action}")


class Roots(Tool, frozen=True):
    """Lists the folders that the client works in."""

    async def run(self, call: DemoCall) -> DemoAnswer:
        reply = await call.ask("roots/list", {})
        roots = reply.get("roots")
        listed = roots if isinstance(roots, list) else []
        return said("\n".join(str(root.get("uri")) for root in listed if isinstance(root, dict)))


class Touch(Tool, frozen=True):
    """Changes a resource, and tells who subscribed to it."""

    uri: str = catalog.COUNTER

    def run(self, call: DemoCall) -> DemoAnswer:
        call.era.touched[self.uri] += 1
        call.era.changed(self.uri)
        return said(f"touched {self.uri}")


class CrashNow(Tool, frozen=True):
    """Ends the server in the middle of the call."""

    code: Annotated[int, Meta(ge=0, le=255)] = 1

    def run(self, call: DemoCall) -> DemoAnswer:  # noqa: ARG002
        raise Crash(self.code)


TOOLS: dict[str, type[Tool]] = {
    "echo": Echo,
    "add": Add,
    "weather": Weather,
    "countdown": Countdown,
    "slow": Slow,
    "ask": Ask,
    "confirm": Confirm,
    "roots": Roots,
    "touch": Touch,
    "crash": CrashNow,
}


def list_tools(_: DemoCall) -> DemoAnswer:
    return {"tools": [_described(name, tool) for name, tool in TOOLS.items()]}


def call_tool(call: DemoCall) -> DemoAnswer | Awaitable[DemoAnswer]:
    """Runs a tool. Raises Refusal if there is none of that name; bad arguments are a result, for
    the model to correct them.
    """
    name = call.text("name")
    tool = TOOLS.get(name)
    if tool is None:
        raise DemoRefusal(INVALID_PARAMS, f"Unknown tool: {name}")
    try:
        ready = msgspec.convert(call.params.get("arguments", {}), tool)
    except msgspec.ValidationError as error:
        return failed(f"{name}: {error}")
    answer = ready.run(call)
    return answer if isinstance(answer, dict) else _told(answer)


def said(text: str) -> DemoAnswer:
    """A result of one text."""
    return {"content": [{"type": "text", "text": text}]}


def failed(text: str) -> DemoAnswer:
    """A result that says what went wrong."""
    return {**said(text), "isError": True}


async def _told(answer: Awaitable[DemoAnswer]) -> DemoAnswer:
    try:
        return await answer
    except Failure as failure:
        return failed(str(failure))


def _described(name: str, tool: type[Tool]) -> DemoAnswer:
    row: DemoAnswer = {"name": name, "description": tool.__doc__, "inputSchema": _schema(tool)}
    return {**row, "outputSchema": _schema(tool.output)} if tool.output else row


def _schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, without the names and docstrings that are Python's."""
    _, parts = msgspec.json.schema_components([struct])
    schema = parts[struct.__name__]
    return {key: schema[key] for key in ("type", "properties", "required")}
