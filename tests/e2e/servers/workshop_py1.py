# mypy: ignore-errors
"""The workshop of PyPI mcp 1.x (FastMCP): the legacy era only.  See workshop.py."""

from __future__ import annotations

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import SamplingMessage, TextContent
from pydantic import AnyUrl, BaseModel
from workshop import RETRY, TOPIC, Events, gates, serve


class Store(Events, EventStore):
    """The event store in the form that the library wants."""


class Who(BaseModel):
    """What a user is asked for."""

    name: str
    integer: int = 7


server = FastMCP(
    "workshop",
    instructions="Try every tool once.",
    event_store=Store(EventMessage),
    retry_interval=RETRY,
)


@server.tool()
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@server.tool()
async def countdown(start: int, ctx: Context, quiet: bool = False) -> str:
    """Count down to zero with progress and, unless quiet, a log message for each step."""
    for step in range(1, start + 1):
        await ctx.report_progress(step, start, f"step {step}")
        if not quiet:
            await ctx.info(f"{start - step} to go")
        await anyio.sleep(0.02)
    return "lift-off"


@server.tool()
async def hold(gate: str, ctx: Context) -> str:
    """Report progress twice, wait until somebody lets go, and report it twice again."""
    for step in range(1, 5):
        if step == 3:
            await gates[gate].pass_through()
        await ctx.report_progress(step, 4)
    gates[gate].passed.set()
    return "held"


@server.tool()
async def let_go(gate: str) -> str:
    """Let the call go that holds there, and wait for its end."""
    await gates[gate].open()
    return "it is gone"


@server.tool()
async def fail(ctx: Context) -> str:
    """Raise an exception."""
    raise ValueError("it does not work ☃")


async def sampled(text: str, ctx: Context) -> str:
    """What the client's model says."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    answer = await ctx.session.create_message(
        [message], max_tokens=20, related_request_id=ctx.request_id
    )
    return answer.content.text


@server.tool()
async def ask_model(text: str, ctx: Context) -> str:
    """Ask the client's model."""
    return await sampled(text, ctx)


@server.tool()
async def ask_user(text: str, ctx: Context) -> str:
    """Ask the client's user."""
    answer = await ctx.elicit(text, Who)
    return f"{answer.action}: {getattr(answer, 'data', None)!r}"


@server.tool()
async def ask_roots(ctx: Context) -> list[str]:
    """Ask for the client's roots; the question is not tied to the call."""
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


@server.tool()
async def consult(topic: str, ctx: Context) -> str:
    """Ask the user, then the model, then for the roots."""
    user = await ctx.elicit("Who are you?", Who)
    said = await sampled(f"What do you think of {user.data.name}?", ctx)
    folders = await ctx.session.list_roots()
    return f"{topic}: {user.data.name}, {said}, {len(folders.roots)} roots"


@server.tool()
async def touch(ctx: Context) -> str:
    """Say that the topic has changed."""
    await ctx.session.send_resource_updated(AnyUrl(TOPIC))
    return "touched"


@server.tool()
async def break_off(steps: int, ctx: Context) -> str:
    """End the stream of the answer half-way: the client must come back for the rest."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
        if step == steps // 2:
            await ctx.close_sse_stream()
            await anyio.sleep(2.5 * RETRY / 1000)
        await anyio.sleep(0.02)
    return f"{steps} steps"


@server.resource(TOPIC, mime_type="text/plain")
def topic() -> str:
    """A resource that can change."""
    return "naïve ☃"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"Say hello to {name}."


def main(transport: str, *, moved: bool = False) -> None:
    """Serve over the named transport."""
    if moved:
        server.settings.sse_path, server.settings.streamable_http_path = "/sse/", "/mcp/"
    if transport == "stdio":
        server.run("stdio")
    elif transport == "sse":
        serve(server.sse_app(), transport, moved=moved)
    else:
        serve(server.streamable_http_app(), transport, moved=moved)


if __name__ == "__main__":
    main(sys.argv[1], moved=sys.argv[2:] == ["moved"])
