# mypy: ignore-errors
"""The workshop of PyPI mcp 2.x: both eras on one port.  See workshop.py."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import anyio
from mcp import MCPDeprecationWarning
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.server.streamable_http import EventMessage, EventStore
from mcp_types import (
    CreateMessageResult,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount
from workshop import RETRY, TOPIC, Events, gates, serve

server = MCPServer("workshop", version="1.0.0", instructions="Try every tool once.")


class Store(Events, EventStore):
    """The event store in the form that the library wants."""


class Who(BaseModel):
    """What a user is asked for."""

    name: str
    integer: int = 7


def question(text: str) -> list[SamplingMessage]:
    """What a model is asked."""
    return [SamplingMessage(role="user", content=TextContent(type="text", text=text))]


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


@server.tool()
async def ask_model(text: str, ctx: Context) -> str:
    """Ask the client's model, as the legacy era does."""
    answer = await ctx.session.create_message(
        question(text), max_tokens=20, related_request_id=ctx.request_id
    )
    return f"{answer.model}: {answer.content.text}"


@server.tool()
async def ask_user(text: str, ctx: Context) -> str:
    """Ask the client's user, as the legacy era does."""
    answer = await ctx.elicit(text, Who)
    return f"{answer.action}: {getattr(answer, 'data', None)!r}"


@server.tool()
async def ask_roots(ctx: Context) -> list[str]:
    """Ask for the client's roots, as the legacy era does."""
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


async def who() -> Elicit[Who]:
    """Ask the user in whatever way the era has."""
    return Elicit("Who are you?", Who)


async def opinion(name: Annotated[Who, Resolve(who)]) -> Sample:
    """Ask the model once the user has answered."""
    return Sample(
        question(f"What do you think of {name.name}?"),
        max_tokens=20,
        model_preferences=ModelPreferences(hints=[ModelHint(name="none")]),
    )


async def roots() -> ListRoots:
    """Ask for the roots."""
    return ListRoots()


@server.tool()
async def consult(
    topic: str,
    user: Annotated[Who, Resolve(who)],
    model: Annotated[CreateMessageResult, Resolve(opinion)],
    folders: Annotated[ListRootsResult, Resolve(roots)],
) -> str:
    """Ask all three in two rounds (modern era) or three requests (legacy era)."""
    return f"{topic}: {user.name}, {model.content.text}, {len(folders.roots)} roots"


@server.tool()
async def touch(ctx: Context) -> str:
    """Say that the topic has changed, to subscribers of either era."""
    await ctx.session.send_resource_updated(TOPIC)
    await ctx.notify_resource_updated(TOPIC)
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
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # of what 2026-07-28 dropped
    if transport == "stdio":
        server.run("stdio")
    elif transport == "sse":
        app = server.sse_app(sse_path="/sse/" if moved else "/sse")
        serve(app, transport, moved=moved)
    else:
        path = "/" if moved else "/mcp"
        app = server.streamable_http_app(
            streamable_http_path=path, event_store=Store(EventMessage), retry_interval=RETRY
        )
        serve(mounted(app) if moved else app, transport, moved=moved)


def mounted(app: Starlette) -> Starlette:
    """Return an application that has this one at /mcp."""
    mount = Mount("/mcp", app=app)
    return Starlette(routes=[mount], lifespan=lambda _: app.router.lifespan_context(app))


if __name__ == "__main__":
    main(sys.argv[1], moved=sys.argv[2:] == ["moved"])
