"""`mcpmock run`: starts a client with its servers recorded; no configuration is edited."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CannotStart, NotOnThisPlatform
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.options.wrap import RunOptions
from mcpmock.printable import mcpmock_command

from .option_table import options
from .options_wrap import own_words
from .output import emit, encodable, say
from .run_setup import redaction_of

if TYPE_CHECKING:
    from mcpmock.client_config.launch import Launch


@click.command(
    short_help="Start a client with its servers recorded.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("client", nargs=-1, required=True, type=click.UNPROCESSED)
@options(recording=RunOptions, redaction=RedactionOptions)
def run(
    client: tuple[str, ...],
    recording: RunOptions,
    redaction: RedactionOptions,
    console: ConsoleOptions,
) -> int:
    """Start CLIENT with each of its stdio servers recorded, or with --replay played from what was
    recorded, and edit no configuration.

    For clients that take servers as options: claude, codex, opencode. Give all options of mcpmock
    before CLIENT. The exit status is that of the client.
    """
    from mcpmock.client_config.files import (
        approved_servers,
        find_servers,
        machine_here,
        side_store,
    )
    from mcpmock.client_config.launch import plan_launch

    if sys.platform == "win32":
        raise NotOnThisPlatform("run", "record a server at a URL with `mcpmock record --url`")
    redaction_of(redaction, recording.output)  # a bad rule starts no client
    machine = machine_here()
    found = find_servers(machine)
    for error in found.errors:
        say(f"{error.found}; this file was left out")
    with TemporaryDirectory(prefix="mcpmock-") as folder:  # only the user can look into it
        launch = plan_launch(
            client,
            found.servers,
            machine,
            own_words(),
            output=recording.output and recording.output.resolve(),
            temporary=Path(folder),
            approved=approved_servers(machine),
            redaction=redaction.words,
            replayed=side_store(machine) if recording.replay else None,
        )
        for name, why in launch.left.items():
            say(f"{name} is not {'replayed' if recording.replay else 'recorded'}: {why}")
        if recording.replay:
            status = _run(launch, Path(folder))
            _tell_replays(launch, console)
            return status
        before = {path: _recordings(path) for path in launch.outputs.values()}
        status = _run(launch, Path(folder))
        for path, names in _by_output(launch).items():
            made = sorted(_recordings(path) - before[path])
            if console.json:
                told = {"servers": names, "output": path, "files": list(map(encodable, made))}
                emit({"type": "recorded", **told}, err=True)
            elif not console.quiet:
                for line in _lines(names, made):
                    say(line)
        return status


def _tell_replays(launch: Launch, console: ConsoleOptions) -> None:
    from mcpmock.client_config.changes import log_beside

    for name, cassette in launch.outputs.items():
        log = log_beside(cassette)
        if console.json:
            emit({"type": "replayed", "server": name, "cassette": cassette, "log": log}, err=True)
        elif not console.quiet:
            say(f"{name}: answered from {cassette}; what it lacks is in {log}")


def _by_output(launch: Launch) -> dict[str, list[str]]:
    """Return the servers that are recorded to each folder."""
    names: dict[str, list[str]] = {}
    for name, path in launch.outputs.items():
        names.setdefault(path, []).append(name)
    return names


def _recordings(folder: str) -> set[Path]:
    from mcpmock.cassette.file import SUFFIXES

    return {path for path in Path(folder).glob("*") if path.name.endswith(SUFFIXES)}


def _lines(names: list[str], made: list[Path]) -> Iterator[str]:
    """Yield what was recorded of the servers that share a folder."""
    servers = ", ".join(names)
    if not made:
        yield f"{servers}: nothing was recorded: the client did not start it"
    for path in made:
        yield f"{servers}: recorded, see `{mcpmock_command('show', str(path))}`"


def _run(launch: Launch, folder: Path) -> int:
    """Run the client to its end. Ctrl-C goes to it, from the terminal; other signals are passed on,
    so that the temporary folder is removed.
    """
    from mcpmock.channels.inherited import descriptors
    from mcpmock.client_config.launch import CONFIG_FILE

    if sys.platform == "win32":
        raise NotImplementedError
    if launch.config:
        (folder / CONFIG_FILE).write_bytes(launch.config)
    environment = {**os.environ, **launch.environment}
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(signum: int, _frame: object) -> None:
        if process is None:
            early.append(signum)
        else:
            process.send_signal(signum)

    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, pass_on)
    for signum in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(signum, lambda *_: None)  # the client would inherit SIG_IGN
    try:
        process = subprocess.Popen(launch.words, env=environment, pass_fds=descriptors)
    except OSError as error:
        found = not isinstance(error, FileNotFoundError)
        reason = os.strerror(error.errno or 0)
        raise CannotStart(launch.words[0], reason, found=found) from error
    for number in early:
        process.send_signal(number)
    status = process.wait()
    return 128 - status if status < 0 else status
