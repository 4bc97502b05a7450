"""`mcpmock mcp`: the MCP server for coding agents (`mcpmock.agent_tools`), and its entry in the
configuration of a client.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.options.agents import AgentOptions
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.endpoints import ListenOptions
from mcpmock.options.wrap import WriteOptions
from mcpmock.printable import mcpmock_command

from .interrupts import run_trio
from .option_table import options
from .options_wrap import carry_out, own_words, place_of
from .output import CASSETTE, is_terminal, say, say_waiting
from .run_setup import front_of

if TYPE_CHECKING:
    from mcpmock.client_config.clients import KnownClient, Machine

_NAME = "mcpmock"
"""Of the entry in configurations."""


@click.command(short_help="Serve a folder of cassettes to coding agents.")
@click.argument("folder", type=CASSETTE, default=Path())
@options(serving=AgentOptions, listening=ListenOptions, change=WriteOptions)
def mcp(
    folder: Path,
    serving: AgentOptions,
    listening: ListenOptions,
    change: WriteOptions,
    console: ConsoleOptions,
) -> int:
    """Be an MCP server with which an agent reads the cassettes in FOLDER, by default this one.

    Its tools list cassettes, show and filter events, explain misses, check, compare and count, as
    the commands do. Nothing is written, links are not followed, secrets stay out, and recorded text
    is marked as data. An agent starts it over stdio; --listen serves URLs. --add CLIENT writes its
    entry into the configuration of a client, as `mcpmock wrap` writes, and --remove takes it out.
    """
    import sys

    import trio

    from mcpmock.agent_tools.folder import CassetteFolder
    from mcpmock.agent_tools.tools import AgentServer, make_stub
    from mcpmock.sessions.run import Setup, run_sessions
    from mcpmock.sessions.stub_sessions import StubSessions
    from mcpmock.stubs.server import StubServer

    if not folder.is_dir():
        raise click.BadParameter("is not a folder", param_hint="FOLDER")
    if serving.add is not None or serving.remove is not None:
        return _change_entry(folder, serving, change, console)
    server = AgentServer.over(CassetteFolder(folder))
    stub = make_stub(server, allow_replay=serving.allow_replay)
    front, tell = front_of(listening, json=console.json)

    async def serve() -> int:
        async with trio.open_nursery() as nursery:
            back = StubSessions("mcpmock mcp", partial(StubServer, stub.script), nursery)
            status = await run_sessions(Setup(front=front, back=back, say=tell))
            nursery.cancel_scope.cancel()
        return status

    if listening.listen is None and is_terminal(sys.stdin):
        say_waiting("waiting for JSON-RPC on standard input: an agent starts this command", console)
    try:
        return run_trio(serve)
    finally:
        server.servers.close()


def _change_entry(
    folder: Path, serving: AgentOptions, change: WriteOptions, console: ConsoleOptions
) -> int:
    """Add the server to the configuration of a client, or take it out."""
    from mcpmock.client_config.changes import plan_add, plan_remove
    from mcpmock.client_config.clients import BY_ID
    from mcpmock.client_config.document import ConfigError
    from mcpmock.client_config.files import added_store, machine_here, place_for, server_at

    if serving.add is not None and serving.remove is not None:
        raise click.UsageError("--add and --remove are mutually exclusive")
    flag, id_ = ("--add", serving.add) if serving.remove is None else ("--remove", serving.remove)
    client = BY_ID.get(id_ or "")
    if client is None:
        raise click.BadParameter(f"known clients: {', '.join(BY_ID)}", param_hint=flag)
    machine = machine_here()
    config = place_for(machine, client, change.scope)
    if config is None:
        raise click.BadParameter(
            f"{client.title} has no configuration of this kind", param_hint="--scope"
        )
    found, store = server_at(config, _NAME), added_store(machine)
    if serving.remove is None:
        value = _entry(folder, serving, config.scope, client, machine)
        if found.entry.value == value:
            say(f"{_NAME} is in {place_of(found)} already")
            return 0
        if found.entry.value:
            hint = mcpmock_command("mcp", options=["--remove", client.id])
            raise ConfigError(config.path, f"has another server {_NAME}; `{hint}` takes it out")
        edit = plan_add(found, value)
    elif found.entry.value:
        edit = plan_remove(found, store)
    else:
        say(f"{_NAME} is not in {place_of(found)}")
        return 0
    for made in carry_out(flag.strip("-"), [edit], machine, change, console, store):
        if not console.quiet:
            how = "as it was before, byte for byte" if made.exact else "changed"
            say(f"{config.path}: {how if serving.remove else f'{_NAME} is added'}")
            say(f"{client.title}: {'; '.join(filter(None, [client.restart, client.approval]))}")
    return 0


def _entry(
    folder: Path, serving: AgentOptions, scope: str, client: KnownClient, machine: Machine
) -> dict[str, Any]:
    """Return the entry that starts this server. In a project it names no place of this machine."""
    from mcpmock.client_config.clients import PROJECT

    program, place = own_words(), folder.resolve()
    if scope == PROJECT:
        program = ["mcpmock"]
        if place.is_relative_to(machine.root.resolve()):
            place = place.relative_to(machine.root.resolve())
    words = [*program, "mcp", str(place), *(["--allow-replay"] if serving.allow_replay else [])]
    if client.one_list:
        return {**dict(client.members), "command": words}
    return {**dict(client.members), "command": words[0], "args": words[1:]}
