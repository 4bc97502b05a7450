"""`mcpmock wrap`: puts the recorder in front of a server in a client's configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError, NotOnThisPlatform
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.wrap import ChangeOptions, WrapOptions
from mcpmock.printable import many, mcpmock_command, printable

from .option_table import options
from .options_wrap import carry_out, choose_servers, is_meant, own_words, place_of
from .output import cells, data_size, emit, encodable, fit, say

if TYPE_CHECKING:
    from mcpmock.client_config.changes import ServerEdit
    from mcpmock.client_config.clients import Machine
    from mcpmock.client_config.files import FoundServer


@click.command(short_help="Record a server that a client's configuration names.")
@click.argument("name", required=False)
@options(wrapping=WrapOptions, change=ChangeOptions)
def wrap(
    name: str | None, wrapping: WrapOptions, change: ChangeOptions, console: ConsoleOptions
) -> int:
    """Put the recorder in front of server NAME in the configuration of a client.

    Shows the change, asks, and writes it. Only the command and its arguments change; everything
    else stays byte for byte, and `mcpmock unwrap NAME` takes the change back. A remote server
    becomes one over stdio: a proxy that speaks to its URL, with its headers or with the login of
    `mcpmock login URL`. With --replay a recording answers instead, and a file beside it has what
    the replay reports. --list finds the configurations of all known clients.
    """
    from mcpmock.client_config.files import machine_here

    machine = machine_here()
    if wrapping.lists:
        return _list(machine, name, change, console)
    if sys.platform == "win32":
        raise NotOnThisPlatform("wrap", "record a server at a URL with `mcpmock record --url`")
    if name is None:
        raise click.UsageError("name a server; --list lists them")
    output = wrapping.output and wrapping.output.resolve()
    if output is not None and output.exists() and not output.is_dir():
        raise click.BadParameter(f"{output} is a file; name a folder", param_hint="-o")
    edits: list[ServerEdit] = []
    for found in choose_servers(machine, name, change, recorded=False):
        recorder = found.entry.recorder
        if recorder is not None and not recorder.replays and wrapping.replay is None:
            where = f"is recorded already, to {recorder.output}"
            hint = "" if output is None else "; unwrap it first to record it elsewhere"
            say(f"{found.entry.name} in {place_of(found)} {where}{hint}")
            continue
        edits.append(_planned(found, machine, wrapping, output))
    for edit in carry_out("wrap", edits, machine, change, console):
        if not console.quiet:
            _say_what_next(edit, machine, change)
    return 0


def _planned(
    found: FoundServer, machine: Machine, wrapping: WrapOptions, output: Path | None
) -> ServerEdit:
    """Return what puts the recorder there, or a replay, also in the place of the other."""
    from mcpmock.client_config.changes import log_beside, plan_rewrap, plan_wrap, recording_path
    from mcpmock.client_config.clients import PROJECT
    from mcpmock.client_config.entry import RecorderWords
    from mcpmock.client_config.files import side_store

    place, log = recording_path(found.config, found.entry.name, machine, output), ""
    if wrapping.replay is not None:
        place = _cassette(found, machine, place, wrapping.replay)
        log = log_beside(place)
    program = ["mcpmock"] if found.config.scope == PROJECT else own_words()
    wrapped = partial(
        plan_wrap,
        recorder=RecorderWords(program, place, log=log),
        can_log_in=find_spec("mcp") is not None,  # of the extra `oauth`
    )
    if found.entry.recorder is None:
        return wrapped(found)
    return plan_rewrap(found, side_store(machine), wrapped)


def _cassette(found: FoundServer, machine: Machine, place: str, given: str) -> str:
    """Return the recording to replay, as the configuration names it: in a project relative to its
    root if it is in the folder of its recordings. Raises CassetteError.
    """
    from mcpmock.cassette.project_folder import is_in_project_folder
    from mcpmock.client_config.files import newest_recording
    from mcpmock.errors import CassetteError

    if given:
        file = Path(given).resolve()
        if not file.exists():
            raise CassetteError(file, "no such file or folder")
    else:
        recorder = found.entry.recorder
        before = [] if recorder is None else [Path(recorder.output)]
        if recorder is not None and recorder.replays:
            before = [Path(place), Path(recorder.output).parent]
        places = [machine.root / one for one in before or [Path(place)]]
        newest = next(filter(None, map(newest_recording, places)), None)
        if newest is None:
            hint = "start a client with it wrapped, or name a file: --replay FILE"
            raise CassetteError(places[0], f"nothing is recorded of {found.entry.name}", hint=hint)
        file = newest
    if file.is_relative_to(machine.root):
        relative = str(file.relative_to(machine.root))
        if is_in_project_folder(relative):
            return relative
    return str(file)


def _say_what_next(edit: ServerEdit, machine: Machine, change: ChangeOptions) -> None:
    from mcpmock.client_config.clients import BY_ID, PROJECT

    config, name = edit.found.config, edit.entry.name
    show = mcpmock_command("show", _from_here(edit.output, machine))
    take_back = mcpmock_command("unwrap", name, options=_places(change))
    recorder = edit.entry.recorder
    if recorder is not None and recorder.replays:
        from mcpmock.client_config.changes import log_beside

        log = _from_here(log_beside(edit.output), machine)
        say(f"{name}: answered from {edit.output} from its next start; `{take_back}` takes it back")
        say(f"{name}: what the recording lacks is in {log}")
    else:
        say(f"{name}: recorded from its next start, see `{show}`; `{take_back}` takes it back")
    if edit.logs_in:
        from mcpmock.redaction.masks import masked_url

        login = mcpmock_command(
            "login", masked_url(edit.found.entry.url), options=_registered(edit)
        )
        say(f"{name}: if it needs a login, run `{login}` (once)")
    for client in (BY_ID[id_] for id_ in config.clients):
        say(f"{client.title}: {'; '.join(filter(None, [client.restart, client.approval]))}")
    if config.scope == PROJECT:
        say(f"all who work on the project need `mcpmock` in the PATH of their client; {_found()}")
    if edit.entry.value.get("sandboxEnabled"):
        say(f"{name} runs in a sandbox: add {edit.output} to its `allowWrite`")


def _from_here(output: str, machine: Machine) -> str:
    """Return where a recording is, as a command in this folder names it."""
    return output if machine.root == Path.cwd() else f"{machine.root / output}"


def _places(change: ChangeOptions) -> list[str]:
    """Return the options that chose what was wrapped, to choose it again from any folder."""
    file = None if change.config is None else str(change.config.absolute())
    given = {"--client": change.client, "--scope": change.scope, "--config": file}
    words = [word for flag, value in given.items() if value is not None for word in (flag, value)]
    return words + ["--all-places"] * change.all_places


def _registered(edit: ServerEdit) -> list[str]:
    """Return the client that the entry has registered for a login."""
    oauth = edit.found.entry.value.get("oauth")
    client_id = oauth.get("clientId") if isinstance(oauth, dict) else None
    return ["--client-id", client_id] if isinstance(client_id, str) else []


def _found() -> str:
    """Return whether clients find `mcpmock` on this machine."""
    path = which("mcpmock")
    if path is None:
        return "it is not in the PATH here: `pipx install mcpmock` puts it there"
    if (Path(path).parent.parent / "pyvenv.cfg").exists():
        return f"{path} is in a virtual environment, where only its own shells find it"
    return f"here it is {path}"


def _list(
    machine: Machine, name: str | None, change: ChangeOptions, console: ConsoleOptions
) -> int:
    """Give 3 if a file cannot be read."""
    from mcpmock.client_config.document import ConfigError
    from mcpmock.client_config.files import find_servers, find_stored

    found = find_servers(machine, change.config)
    places = {(one.config.path, one.config.keys) for one in found.servers}
    elsewhere = (
        one for one in find_stored(machine, lambda _: None)
        if (one.config.path, one.config.keys) not in places
    )  # fmt: skip
    servers = [
        one
        for one in (*found.servers, *elsewhere)
        if is_meant(one, change) and name in (None, one.entry.name)
    ]
    for error in found.errors:
        say(f"{error.found}; this file was left out")
    if console.json:
        for one in servers:
            _emit_server(one, machine)
    else:
        for line in _lines(servers, machine):
            click.echo(printable(line))
        for config in found.empty if console.verbose else ():
            click.echo(printable(f"{config.path} ({', '.join(config.clients)}): no servers"))
        if not servers and not console.quiet:
            say("no MCP servers found; --config FILE names another file")
    return ConfigError.exit_code if found.errors else 0


def _lines(found: Sequence[FoundServer], machine: Machine) -> Iterator[str]:
    widest = max((cells(printable(one.entry.name)) for one in found), default=0)
    place = ""
    for one in found:
        if place != place_of(one):
            place = place_of(one)
            yield place
        yield f"  {fit(printable(one.entry.name), widest)}  {_described(one, machine)}"


def _described(found: FoundServer, machine: Machine) -> str:
    from mcpmock.redaction.masks import masked_command, masked_url

    entry = found.entry
    if not entry.value:
        return "removed by a command that was interrupted; unwrap it with --run to add it again"
    if entry.recorder is not None:
        if entry.recorder.replays:
            return f"answered from {entry.recorder.output}"
        sizes = _sizes(found, machine)
        held = f"{many(len(sizes), 'recording')}, {data_size(sum(sizes))}"
        return f"recorded to {entry.recorder.output} ({held if sizes else 'nothing yet'})"
    if entry.transport == "stdio":
        return f"stdio   {masked_command(entry.words)}"
    if entry.transport == "other":
        return entry.transport
    return f"remote  {masked_url(entry.url)} ({_wrapped_as(found)})"


def _wrapped_as(found: FoundServer) -> str:
    """Return what `wrap` would make of a remote server."""
    from mcpmock.client_config.changes import plan_wrap
    from mcpmock.client_config.entry import RecorderWords

    try:
        edit = plan_wrap(found, RecorderWords(["mcpmock"], ""))
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
