"""`mcpmock unwrap`: takes the recorder out of a client's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.wrap import ChangeOptions, UnwrapOptions

from .option_table import options
from .options_wrap import carry_out, choose_servers, is_meant, place_of
from .output import say

if TYPE_CHECKING:
    from mcpmock.client_config.changes import ServerEdit


@click.command(short_help="Undo `mcpmock wrap`.")
@click.argument("name", required=False)
@options(undoing=UnwrapOptions, change=ChangeOptions)
def unwrap(
    name: str | None, undoing: UnwrapOptions, change: ChangeOptions, console: ConsoleOptions
) -> int:
    """Take the recorder out of the configuration of server NAME, or of all servers with --all.

    The entry is as it was before `mcpmock wrap`, byte for byte. If it was changed since, its
    command is what stands behind the recorder. Recordings are not removed.
    """
    from mcpmock.client_config.changes import plan_unwrap
    from mcpmock.client_config.clients import BY_ID
    from mcpmock.client_config.files import find_stored, machine_here, side_store

    machine = machine_here()
    if (name is None) is not undoing.everything:
        raise click.UsageError("name a server, or give --all")
    store = side_store(machine)
    if name is None:
        stored = find_stored(machine, say, forget=not change.dry_run)
        chosen = [one for one in stored if is_meant(one, change)]
    else:
        chosen = choose_servers(machine, name, change, recorded=True)
    edits: list[ServerEdit] = []
    for found in chosen:
        if found.entry.recorder is None and found.entry.value:
            say(f"{found.entry.name} in {place_of(found)} has no recorder")
            continue
        edits.append(plan_unwrap(found, store))
    if name is None and not edits:
        say("nothing to take back")
    for edit in carry_out("unwrap", edits, machine, change, console):
        if not console.quiet:
            how = "as it was before, byte for byte" if edit.exact else "without the recorder"
            stay = f"; the recordings stay in {edit.output}" if edit.output else ""
            say(f"{edit.found.config.path}: {how}{stay}")
            for client in (BY_ID[id_] for id_ in edit.found.config.clients):
                say(f"{client.title}: {client.restart}")
    return 0
