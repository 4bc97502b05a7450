"""`mcpmock drive`: the face of `sessions.drive`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mcpmock.errors import McpMockError

from .options_faults import fault_options, faults_of
from .options_server import server_of, server_options, value_option, values_of
from .output import CASSETTE, common, say, say_notices
from .run import run_to_end


@click.command(short_help="Play the recorded client against a real server.")
@click.argument("file", type=CASSETTE)
@click.option("-o", "--output", metavar="FILE", help="Record the session to FILE.")
@click.option(
    "--timing",
    default="none",
    show_default=True,
    metavar="HOW",
    help="Pause before each message: none, recorded, scale:X, fixed:MS or cap:MS.",
)
@value_option
@fault_options
@server_options
@common
def drive(file: Path, output: str | None, timing: str, **options: Any) -> int:
    """Play the recorded client of the cassette FILE against a real server.

    Plays every recorded session: each request, answer and cancellation of the client is sent once
    the server has sent what preceded it in the recording. The server is COMMAND or --url; its
    transport may differ from the recorded one. A secret that was replaced in the recording is sent
    as its placeholder, unless the server sends its value first or --value names it. Exit
    status: 0, or 1 if the server did not send what the client waited for.
    """
    from mcpmock.cassette.file import load
    from mcpmock.playback.timing import Timing
    from mcpmock.sessions.drive import drive_front
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.take import Recording

    try:
        pauses = Timing.parse(timing)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--timing") from error
    server = server_of(options)
    values = values_of(options)
    recording = None if output is None else Recording.to(output, values=values)
    cassette = load(file)
    if not options["quiet"]:
        say_notices(cassette, of_lines=False)
    faults = faults_of(options)
    front = drive_front(cassette, pauses, kind=server.kind, values=values)
    setup = Setup(front=front, back=server, faults=faults, recording=recording, say=say)
    return run_to_end(setup, options)
