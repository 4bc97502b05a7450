"""What `wrap`, `unwrap` and `run` share: this machine, the choice of a server among
its configurations, and how changes are shown, confirmed and carried out.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CannotStart, McpMockError
from mcpmock.printable import did_you_mean, printable, shell_command

from .interrupts import PythonHandler
from .output import BAD, GOOD, emit, encodable, say

if TYPE_CHECKING:
    from mcpmock.client_config.changes import ClientCommand, ServerEdit
    from mcpmock.client_config.clients import Machine
    from mcpmock.client_config.document import ConfigError
    from mcpmock.client_config.files import FoundServer, SideStore
    from mcpmock.options.console import ConsoleOptions
    from mcpmock.options.wrap import ChangeOptions, WriteOptions

_COLORS = {"-": BAD, "+": GOOD}
_COMMAND_TIMEOUT_S = 60
_TAB_COLUMNS = 4
_UV_CACHES = {"archive-v0", "environments-v2", "builds-v0"}


class NotWritten(McpMockError):
    """The user said no, no configuration has the server, or a client refused the change."""


class NoSuchServer(NotWritten):
    """No configuration has the server, unless it is in one of those that cannot be read."""

    def __init__(self, text: str, unread: Sequence[ConfigError]) -> None:
        super().__init__(text)
        if unread:
            self.exit_code = unread[0].exit_code


class NotChosen(McpMockError):
    """What to change, or that it may be changed, was not said."""

    exit_code = 2


def own_words() -> list[str]:
    """Return the command line of this program, in any folder and without PATH: programs with
    windows have a poor one.
    """
    if _UV_CACHES & set(Path(sys.prefix).parts):  # of `uvx mcpmock`; removed at any time
        return [which("uvx") or "uvx", "mcpmock"]
    script = Path(sys.executable).with_name("mcpmock")
    return [str(script)] if script.exists() else [sys.executable, "-m", "mcpmock"]


def choose_servers(
    machine: Machine, name: str, change: ChangeOptions, *, recorded: bool
) -> list[FoundServer]:
    """Return the entries of a name, where the options say; those with a recorder, wherever `wrap`
    has put one, if `recorded` and there are any. Raises NoSuchServer, NotChosen.
    """
    from mcpmock.client_config.files import find_servers, find_stored

    here = find_servers(machine, change.config)
    found = [one for one in here.servers if is_meant(one, change)]
    named = [one for one in found if one.entry.name == name]
    if recorded:
        wrapped = [one for one in named if one.entry.recorder] or [
            one
            for one in find_stored(machine, say)
            if is_meant(one, change) and one.entry.name == name
        ]
        named = wrapped or named[:1]
    for error in here.errors:
        say(f"{error.found}; this file was left out")
    if not named:
        near = did_you_mean(name, (one.entry.name for one in found), most=3)
        hint = near or "; `mcpmock wrap --list` lists them"
        raise NoSuchServer(f"no configuration has a server {name}{hint}", here.errors)
    if len(named) > 1 and not change.all_places:
        for one in named:
            say(f"{name} is in {place_of(one)}")
        raise NotChosen(
            f"{name} is in {len(named)} configurations; choose one with --client, --scope or "
            "--config, or change all with --all-places"
        )
    return named


def is_meant(found: FoundServer, change: ChangeOptions) -> bool:
    """Return whether a server stands where the options say. Raises BadParameter."""
    from mcpmock.client_config.clients import BY_ID

    config, file = found.config, change.config
    if change.client not in (None, *BY_ID):
        raise click.BadParameter(f"known clients: {', '.join(BY_ID)}", param_hint="--client")
    return (
        (change.client is None or change.client in config.clients)
        and change.scope in (None, config.scope)
        and (file is None or file.absolute() == config.path)
    )


def place_of(found: FoundServer) -> str:
    """Return a configuration file, with who reads it."""
    config = found.config
    return f"{config.path} ({', '.join([*config.clients, config.scope])})"


def carry_out(
    kind: str,
    edits: Sequence[ServerEdit],
    machine: Machine,
    change: WriteOptions,
    console: ConsoleOptions,
    store: SideStore | None = None,
) -> list[ServerEdit]:
    """Show the changes, ask, and make them; gives those that were made. For a client that keeps its
    configuration itself, its commands are only shown, without `--run`. Raises McpMockError.
    """
    from mcpmock.client_config.changes import client_commands
    from mcpmock.client_config.files import side_store

    dry, run, json = change.dry_run, change.run_commands, console.json
    quiet = json or (console.quiet and change.yes and not dry)
    for edit in edits:
        if not quiet:
            _show_change(edit)
        if edit.found.live and not run and not json:
            _show_commands(client_commands(edit, machine))
    wanted = [edit for edit in edits if not dry and (run or not edit.found.live)]
    if wanted and not change.yes:
        _ask()
    made: list[ServerEdit] = []
    for edit in edits:
        written = edit in wanted
        if written:
            made.append(_make(edit, machine, store or side_store(machine)))
        if json:
            _emit_change(kind, made[-1] if written else edit, written=written)
    if edits and not wanted and not dry:
        raise NotWritten("nothing was written; --run runs the commands of the client")
    return made


def _show_change(edit: ServerEdit) -> None:
    click.secho(printable(place_of(edit.found)), bold=True)
    for line in _diff(edit):
        text = line[:1] + line[1:].expandtabs(_TAB_COLUMNS)
        click.secho(printable(text), fg=_COLORS.get(line[:1]))


def _diff(edit: ServerEdit) -> Iterator[str]:
    from mcpmock.client_config.masked_diff import masked_diff

    texts = edit.found.document.text, edit.document.text
    return masked_diff(texts, edit.words, edit.variables)


def _show_commands(commands: Sequence[ClientCommand]) -> None:
    say(
        "running sessions of the client own this file; --run changes it with these commands, where "
        "ENTRY holds the entry as it becomes:"
    )
    for command in commands:
        source = " < ENTRY" if command.stdin else ""
        click.echo(f"  {shell_command(command.words)}{source}")


def _emit_change(kind: str, edit: ServerEdit, *, written: bool) -> None:
    config = edit.found.config
    emit({
        "type": kind,
        "server": edit.entry.name,
        "client": next(iter(config.clients), None),
        "path": encodable(config.path),
        "scope": config.scope,
        "output": edit.output,
        "written": written,
        "diff": [printable(line) for line in _diff(edit)],
    })  # fmt: skip


def on_terminal() -> bool:
    """Return whether the user can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask() -> None:
    if not on_terminal():
        raise NotChosen("nothing was written: not a terminal; pass --yes to skip the question")
    if not click.confirm("Write this?", err=True):
        raise NotWritten("nothing was written")


def _make(edit: ServerEdit, machine: Machine, store: SideStore) -> ServerEdit:
    """Give the change as it was made."""
    from mcpmock.client_config import changes
    from mcpmock.client_config.files import reason_of

    try:
        if not edit.found.live:
            return changes.write_edit(edit, store, machine, say)
        changes.run_commands(edit, store, machine, _run, say)
        return edit
    except OSError as error:  # a disk that is full has no name
        place = error.filename or store.folder
        raise NotWritten(f"nothing was written: {place}: {reason_of(error)}") from error


def _run(command: ClientCommand) -> None:
    program = which(command.words[0])
    if program is None:
        raise CannotStart(command.words[0], "no such program on PATH", found=False)
    try:
        with PythonHandler():
            done = subprocess.run(
                [program, *command.words[1:]],
                input=command.stdin,
                cwd=command.folder,
                capture_output=True,
                timeout=_COMMAND_TIMEOUT_S,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        words = f"{shell_command(command.words)} did not end within {_COMMAND_TIMEOUT_S} s"
        raise NotWritten(words) from error
    if done.returncode:
        from mcpmock.redaction.masks import masked_text

        said = masked_text((done.stderr or done.stdout).decode("utf-8", "replace").strip())
        raise NotWritten(f"{shell_command(command.words)} ended with {done.returncode}: {said}")
