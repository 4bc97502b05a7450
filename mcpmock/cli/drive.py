"""`mcpmock drive`: the face of `sessions.drive`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from mcpmock.errors import McpMockError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.drive import DriveOptions, LoadOptions
from mcpmock.options.endpoints import ServerOptions, ValueOptions
from mcpmock.options.faults import FaultOptions
from mcpmock.options.redaction import RedactionOptions

from .interrupts import run_trio
from .option_table import COMMAND, TableCommand, options
from .options_load import limits_of, pace_of
from .output import CASSETTE, say, say_notices, say_waiting
from .run_setup import (
    check_server,
    faults_of,
    playing_text,
    redaction_of,
    refuse_played,
    run_to_end,
    server_of,
    values_of,
)

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.playback.timing import Timing
    from mcpmock.sessions.drive import DriveFront
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.servers import Server


@click.command(cls=TableCommand, short_help="Play the recorded client against a real server.")
@click.argument("file", type=CASSETTE)
@COMMAND
@options(
    driving=DriveOptions,
    loading=LoadOptions,
    secrets=ValueOptions,
    redaction=RedactionOptions,
    faults=FaultOptions,
    server=ServerOptions,
)
def drive(
    file: Path,
    driving: DriveOptions,
    loading: LoadOptions,
    secrets: ValueOptions,
    redaction: RedactionOptions,
    faults: FaultOptions,
    server: ServerOptions,
    console: ConsoleOptions,
) -> int:
    """Play the recorded client of the cassette FILE against a real server.

    Plays every recorded session: each request, answer and cancellation of the client is sent once
    the server has sent what preceded it in the recording. The server is COMMAND or --url; its
    transport may differ from the recorded one. A secret that was replaced in the recording is sent
    as its placeholder, unless the server sends its value first or --value names it. A plan with a
    [schedule], as `mcpmock explore` writes it, is played in its order and judged. Exit
    status: 0, or 1 if the server refused the client, or did not send what it waited for.

    With any option marked Load, many sessions are played at once and their latencies and errors are
    printed; Ctrl-C prints those so far. Exit status: 0, or 1 beyond --max-p99 or --max-errors.
    """
    from mcpmock.cassette.file import load

    server = check_server(server)
    pauses = None if driving.timing == "none" else _parse_timing(driving.timing)
    values, run = values_of(secrets), faults_of(faults)
    cassette = load(file)
    say_notices(cassette.notices, cassette.name, quiet=console.quiet, of_lines=False)
    back = server_of(server)
    if run is not None and run.schedule is not None:
        return _drive_again(cassette, back, run)

    from mcpmock.sessions.drive import drive_front
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.take import Recording

    output = driving.output
    if redaction.given and output is None:
        raise click.UsageError("rules for redaction need --output")
    recording = None
    if output is not None:
        refuse_played(output, [file])
        rules = redaction_of(redaction, output, cassette)
        recording = Recording.to(output, values=values, rules=rules)
    front = drive_front(cassette, pauses, kind=back.kind, values=values)
    setup = Setup(front=front, back=back, faults=run, recording=recording, say=say)
    if not loading.given:
        say_waiting(playing_text(file), console)
        return run_to_end(setup, console)
    if recording is not None and server.url is None:
        raise click.UsageError("--output with a load needs --url: a take holds one process")
    return _run_load(setup, front, loading, console)


def _drive_again(cassette: Cassette, server: Server, faults: FaultRun) -> int:
    """Play the session in the order of the plan and print what is broken. Gives the exit status."""
    from mcpmock.explore.variant import variant_of
    from mcpmock.faults.plan import Plan
    from mcpmock.sessions.explore import play_again
    from mcpmock.sessions.explore_server import ExploredServer

    from .explore_output import show_run

    schedule = faults.schedule
    assert schedule is not None
    armed = tuple(one.fault for one in faults.armed)
    variant = variant_of(Plan(faults=armed, seed=faults.seed, schedule=schedule))
    subject = ExploredServer(
        cassette=cassette,
        server=server,
        take=schedule.take,
        session=schedule.session,
        keep=schedule.keep,
        seed=faults.seed,
    )
    run = run_trio(play_again, subject, variant)
    return show_run(run, cassette.name, strict=schedule.strict)


def _run_load(
    setup: Setup, clients: DriveFront, loading: LoadOptions, console: ConsoleOptions
) -> int:
    """Play the clients as a load and print its figures, whatever ends it."""

    from mcpmock.sessions.load import load_front

    from .load_output import load_progress, print_load

    pace = pace_of(loading, recorded=len(clients.scripts))
    with load_progress(pace, quiet=console.quiet) as progress:
        front = load_front(clients, pace, progress)
        limits = limits_of(loading, front.load.calls)
        status = run_to_end(structs.replace(setup, front=front), console)
    exceeded = print_load(front.load, limits, console, loading.format or "text")
    return status or exceeded


def _parse_timing(text: str) -> Timing:
    from mcpmock.playback.timing import Timing

    try:
        return Timing.parse(text)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--timing") from error
