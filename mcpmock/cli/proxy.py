"""`mcpmock proxy`: any client transport to any server transport; with a cassette and a record mode
a replay, a recording, or a replay with the server behind it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options_faults import fault_options, faults_of
from .options_listen import front_of, listening_options
from .options_server import server_of, server_options
from .output import common
from .run_setup import run_to_end

if TYPE_CHECKING:
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.take import Recording


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--cassette",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Record to or replay from this cassette, depending on --mode.",
)
@click.option(
    "--mode",
    type=click.Choice(["none", "once", "new_episodes", "all", "rewrite"]),
    help="none: replay FILE. once: replay FILE, or record it if it does not exist. new_episodes: "
    "replay FILE and record what it lacks. all, rewrite: record FILE again.  [default: none]",
)
@click.option(
    "--record",
    metavar="OUT",
    help="Record the session; an existing OUT gets one more take, DIR/ gives each run its own "
    "file.",
)
@server_options
@fault_options
@listening_options
@common
def proxy(**options: Any) -> int:
    """Connect a client to a server that uses another transport.

    The client is on stdio or, with --listen, on HTTP (--transport selects which kind); the server
    is COMMAND or --url. If both use the same transport, everything passes unchanged. With
    --cassette, the server is started or contacted only if --mode needs it; with --record, always.
    """
    file, mode, output = (options.pop(name) for name in ("cassette", "mode", "record"))
    if file is None and mode is not None:
        raise click.UsageError("--mode needs --cassette")
    if file is not None and output is not None:
        raise click.UsageError("--cassette and --record are mutually exclusive")
    server = server_of(options)
    recording = None if output is None else _added(output, server)
    if file is not None:
        if file.exists() and mode in (None, "none", "once"):
            return _replay(file, options)
        if file.exists() and mode == "new_episodes":
            return _extend(file, options, server)
        recording = _recording(file, mode)
    return _pass_on(options, server, recording)


def _added(output: str, server: Server) -> Recording:
    """Record every session, behind what is there. A server may repeat a secret of a header."""
    from mcpmock.redaction.placeholders import PLACEHOLDER
    from mcpmock.redaction.secret_names import kind_of_name
    from mcpmock.sessions.take import Recording
    from mcpmock.sessions.url_server import Url

    secrets = {
        f"{PLACEHOLDER.decode()}{kind}:{i}": value.split(" ")[-1]
        for i, (name, value) in enumerate(server.headers if isinstance(server, Url) else ())
        if (kind := kind_of_name(name)) is not None
    }
    return Recording.to(output, values=secrets)


def _recording(file: Path, mode: str | None) -> Recording:
    """Record every session; an existing file is kept until the clean end. Raises CassetteError."""
    from mcpmock.errors import CassetteError
    from mcpmock.sessions.take import Recording

    if mode in (None, "none"):
        raise CassetteError(file, "no such file or folder", hint="--mode once records it")
    return Recording(output=file, overwrite=mode in ("all", "rewrite"))


def _replay(file: Path, options: dict[str, Any]) -> int:
    from mcpmock.playback.player import ReplayOptions

    from .replay import play

    return play([file], ReplayOptions(mute=options["quiet"]), options, faults=faults_of(options))


def _extend(file: Path, options: dict[str, Any], server: Server) -> int:
    """Replay, and record each session that needed the server as one more take."""
    from mcpmock.playback.player import ReplayOptions
    from mcpmock.sessions.take import Recording

    from .replay import play

    playing = ReplayOptions(mute=options["quiet"], on_miss="live")
    faults, recording = faults_of(options), Recording(output=file)
    return play([file], playing, options, recording=recording, faults=faults, server=server)


def _pass_on(options: dict[str, Any], server: Server, recording: Recording | None) -> int:
    from mcpmock.sessions.http_front import HttpFront
    from mcpmock.sessions.run import Setup

    front, tell = front_of(options)
    given = options["header"] or options["header_env"]
    if given and isinstance(front, HttpFront) and front.kind in (None, server.kind):
        raise click.UsageError(
            "--header has no effect: client and server use the same transport, so requests pass "
            "unchanged"
        )
    faults = faults_of(options)
    setup = Setup(front=front, back=server, faults=faults, recording=recording, say=tell)
    return run_to_end(setup, options)
