"""`mcpmock wrap`: puts the recorder in front of a server in a client's configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError
from mcpmock.printable import printable

from .options_wrap import (
    carry_out,
    change_options,
    choose_servers,
    is_meant,
    own_words,
    place_of,
)
from .output import data_size, emit, encodable, many, say

if TYPE_CHECKING:
    from mcpmock.client_config.changes import ServerEdit
    from mcpmock.client_config.clients import Machine
    from mcpmock.client_config.files import FoundServer


@click.command(short_help="Record a server that a client's configuration names.")
@click.option(
    "--list", "list_", is_flag=True, help="List the servers of all clients, and change nothing."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, resolve_path=True),
    metavar="DIR",
    help="Record to this folder, a file for each run.  [default: one for the server, in the data "
    "folder of the user; for a project .mcpmock/NAME.jsonl]",
)
@change_options
def wrap(list_: bool, output: Path | None, **options: Any) -> int:
    """Put the recorder in front of server NAME in the configuration of a client.

    Shows the change, asks, and writes it. Only the command and its arguments change; everything
    else stays byte for byte, and `mcpmock unwrap NAME` takes the change back. A remote server
    becomes one over stdio: a proxy that speaks to its URL, with its headers or with the login of
    `mcpmock login URL`. --list finds the configurations of all known clients.
    """
    from mcpmock.client_config.files import machine_here

    machine = machine_here()
    if list_:
        return _list(machine, options)
    if options["name"] is None:
        raise click.UsageError("name a server; --list lists them")
    from mcpmock.client_config.changes import plan_wrap, recording_path
    from mcpmock.client_config.clients import PROJECT

    edits: list[ServerEdit] = []
    can_log_in = find_spec("mcp") is not None  # of the extra `oauth`
    for found in choose_servers(machine, options, recorded=False):
        if found.entry.recorder is not None:
            say(f"{found.entry.name} in {place_of(found)} is recorded already")
            continue
        path = recording_path(found.config, found.entry.name, machine, output)
        program = ["mcpmock"] if found.config.scope == PROJECT else own_words()
        edits.append(plan_wrap(found, program, path, can_log_in=can_log_in))
    for edit in carry_out("wrap", edits, machine, options):
        if not options["quiet"]:
            _say_what_next(edit)
    return 0


def _say_what_next(edit: ServerEdit) -> None:
    from mcpmock.client_config.clients import BY_ID, PROJECT

    config, name = edit.found.config, edit.entry.name
    say(f"{name}: recorded to {edit.output}; `mcpmock unwrap {name}` takes it back")
    if edit.logs_in:
        url = edit.found.entry.url
        say(f"{name}: if it needs a login, run `mcpmock login {url}` (once)")
    for client in (BY_ID[id_] for id_ in config.clients):
        say(f"{client.title}: {'; '.join(filter(None, [client.restart, client.approval]))}")
    if config.scope == PROJECT:
        say("all who work on the project need `mcpmock` in the PATH of their client")
    if edit.entry.value.get("sandboxEnabled"):
        say(f"{name} runs in a sandbox: add {edit.output} to its `allowWrite`")


def _list(machine: Machine, options: dict[str, Any]) -> int:
    """Gives 3 if a file cannot be read."""
    from mcpmock.client_config.document import ConfigError
    from mcpmock.client_config.files import find_servers

    found = find_servers(machine, options["config"])
    servers = [one for one in found.servers if is_meant(one, options)]
    for error in found.errors:
        say(str(error))
    if options["json"]:
        for one in servers:
            _emit_server(one, machine)
    else:
        for line in _lines(servers, machine):
            click.echo(printable(line))
        for config in found.empty if options["verbose"] else ():
            click.echo(printable(f"{config.path} ({', '.join(config.clients)}): no servers"))
        if not servers and not options["quiet"]:
            say("no MCP servers found; --config FILE names another file")
    return ConfigError.exit_code if found.errors else 0


def _lines(found: Sequence[FoundServer], machine: Machine) -> Iterator[str]:
    widest = max((len(one.entry.name) for one in found), default=0)
    place = ""
    for one in found:
        if place != place_of(one):
            place = place_of(one)
            yield place
        yield f"  {one.entry.name:{widest}}  {_described(one, machine)}"


def _described(found: FoundServer, machine: Machine) -> str:
    from mcpmock.client_config.masked_diff import masked_command, masked_url

    entry = found.entry
    if entry.recorder is not None:
        sizes = _sizes(found, machine)
        held = f"{many(len(sizes), 'recording')}, {data_size(sum(sizes))}"
        return f"recorded to {entry.recorder.output} ({held if sizes else 'nothing yet'})"
    if entry.transport == "stdio":
        return f"stdio   {masked_command(entry.words)}"
    if entry.transport == "other":
        return entry.transport
    return f"remote  {masked_url(entry.url)} ({_wrapped_as(found)})"


def _wrapped_as(found: FoundServer) -> str:
    """What `wrap` would make of a remote server."""
    from mcpmock.client_config.changes import plan_wrap

    try:
        edit = plan_wrap(found, ["mcpmock"], "")
    except McpMockError:
        return "cannot be recorded"
    if edit.logs_in:
        return "wrap: a proxy with the login of `mcpmock login`"
    return (
        "wrap: a proxy with its headers" if "--header-env" in edit.entry.words else "wrap: a proxy"
    )


def _emit_server(found: FoundServer, machine: Machine) -> None:
    entry, config = found.entry, found.config
    value: dict[str, Any] = {
        "type": "server",
        "client": next(iter(config.clients), None),
        "clients": config.clients,
        "path": encodable(config.path),
        "scope": config.scope,
        "server": entry.name,
        "transport": entry.transport,
        "wrapped": entry.recorder is not None,
    }
    if entry.recorder is not None:
        sizes = _sizes(found, machine)
        value |= {"output": entry.recorder.output, "recordings": len(sizes), "bytes": sum(sizes)}
    emit(value)


def _sizes(found: FoundServer, machine: Machine) -> list[int]:
    from mcpmock.client_config.files import sizes_of_recordings

    assert found.entry.recorder is not None
    return sizes_of_recordings(machine.root / found.entry.recorder.output)
