"""`mcpmock proxy`: any client transport to any server transport; with a cassette and a record mode
a replay, a recording, or a replay with the server behind it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.endpoints import ListenOptions, ServerOptions
from mcpmock.options.faults import FaultOptions
from mcpmock.options.matching import MatchOptions
from mcpmock.options.option import replace
from mcpmock.options.recording import ProxyOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.options.replay import ReplayCommandOptions

from .option_table import COMMAND, TableCommand, options
from .output import say
from .replay import play
from .run_setup import faults_of, front_of, redaction_of, run_to_end, server_of

if TYPE_CHECKING:
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.take import Recording


@click.command(cls=TableCommand, context_settings={"allow_interspersed_args": False})
@COMMAND
@options(
    proxying=ProxyOptions,
    server=ServerOptions,
    faults=FaultOptions,
    listening=ListenOptions,
    matching=MatchOptions,
    redaction=RedactionOptions,
)
def proxy(
    proxying: ProxyOptions,
    server: ServerOptions,
    faults: FaultOptions,
    listening: ListenOptions,
    matching: MatchOptions,
    redaction: RedactionOptions,
    console: ConsoleOptions,
) -> int:
    """Connect a client to a server that uses another transport.

    The client is on stdio or, with --listen, on HTTP (--transport selects which kind); the server
    is COMMAND or --url. If both use the same transport, everything passes unchanged. With
    --cassette, the server is started or contacted only if --mode needs it; with --record, always.
    """
    mode, output = proxying.mode, proxying.record
    file, log = map(_found, (proxying.cassette, proxying.log))
    if file is None and mode is not None:
        raise click.UsageError("--mode needs --cassette")
    if file is not None and output is not None:
        raise click.UsageError("--cassette and --record are mutually exclusive")
    if file is None and log is not None:
        raise click.UsageError("--log needs --cassette: a recorder reports no misses")
    if file is None and matching != MatchOptions():
        raise click.UsageError("rules about what may differ need --cassette")
    if redaction.given and file is None and output is None:
        raise click.UsageError("rules for redaction need --record or --cassette")
    if proxying.restart_on and file is not None and mode in (None, "none"):
        raise click.UsageError("--restart-on needs a --mode that starts the server, such as once")
    back = _restarted(server_of(server), proxying)
    played = ReplayCommandOptions(**vars(matching), log=log)
    recording = None if output is None else _added(output, back, redaction)
    if file is not None:
        from mcpmock.cassette.file import is_missing

        missing = is_missing(file) if mode in ("once", "new_episodes") else not file.exists()
        if not missing and mode in (None, "none", "once"):
            if proxying.restart_on and not console.quiet:
                say(
                    f"--restart-on: {file} exists and is replayed, so there is no server to restart"
                )
            return play([file], played, listening, console, faults=faults_of(faults))
        if not missing and mode == "new_episodes":
            played = replace(played, on_miss="live")
            recording = _recording(file, mode, redaction)
            return play(
                [file],
                played,
                listening,
                console,
                recording=recording,
                faults=faults_of(faults),
                server=back,
            )
        recording = _recording(file, mode, redaction)

    from mcpmock.sessions.run import Setup

    front, tell = front_of(listening, json=console.json)
    run = faults_of(faults)
    setup = Setup(front=front, back=back, faults=run, recording=recording, say=tell)
    return _pass_on(setup, server, console)


def _restarted(server: Server, options: ProxyOptions) -> Server:
    """Return the server, started again when files change if the options say so."""
    patterns, grace = options.restart_on, options.restart_grace
    if not patterns:
        if grace is not None:
            raise click.UsageError("--restart-grace needs --restart-on")
        return server

    from mcpmock.sessions.restarts import FileDigests, RestartedCommand
    from mcpmock.sessions.servers import Command

    if not isinstance(server, Command):
        raise click.UsageError(
            "--restart-on needs a COMMAND: mcpmock does not start the server at a URL"
        )
    for pattern in patterns:
        if not FileDigests([pattern])():
            hint = f"; for all files in it, write '{pattern}/**'" * os.path.isdir(pattern)
            raise click.BadParameter(f"no file matches {pattern}{hint}", param_hint="--restart-on")
    told = {} if grace is None else {"grace": grace}
    return RestartedCommand(server.command, server.started, patterns, **told)


def _found(file: Path | None) -> Path | None:
    """Look in a project's folder of recordings: clients start servers in other folders too."""
    from mcpmock.cassette.project_folder import is_in_project_folder

    if file is None or not is_in_project_folder(str(file)):
        return file
    from mcpmock.sessions.take import find_in_project

    return find_in_project(file)


def _added(output: str, server: Server, redaction: RedactionOptions) -> Recording:
    """Record every session, behind what is there. A server may repeat a secret of a header."""
    from mcpmock.protocol.contents import SECRET_MARK
    from mcpmock.redaction.secret_names import kind_of_name
    from mcpmock.sessions.take import Recording
    from mcpmock.sessions.url_server import Url

    secrets = {
        f"{SECRET_MARK}{kind}:{i}": value.split(" ")[-1]
        for i, (name, value) in enumerate(server.headers if isinstance(server, Url) else ())
        if (kind := kind_of_name(name)) is not None
    }
    return Recording.to(output, values=secrets, rules=redaction_of(redaction, output))


def _recording(file: Path, mode: str | None, redaction: RedactionOptions) -> Recording:
    """Record every session; an existing file is kept until the clean end. Raises CassetteError."""
    from mcpmock.errors import CassetteError
    from mcpmock.sessions.take import Recording

    if mode in (None, "none"):
        raise CassetteError(file, "no such file or folder", hint="to record it, use --mode once")
    rules = redaction_of(redaction, file)
    return Recording(output=file, overwrite=mode in ("all", "rewrite"), rules=rules)


def _pass_on(setup: Setup, options: ServerOptions, console: ConsoleOptions) -> int:
    given = [name for name in options.given_about_url if name.startswith("--header")]
    if given and _speak_the_same(setup):
        has = "has" if len(given) == 1 else "have"
        raise click.UsageError(
            f"{' and '.join(given)} {has} no effect: client and server use the same transport, so "
            "requests pass unchanged"
        )
    return run_to_end(setup, console)


def _speak_the_same(setup: Setup) -> bool:
    from mcpmock.sessions.http_front import HttpFront  # 60 modules, which a proxy over pipes spares

    front, back = setup.front, setup.back
    return isinstance(front, HttpFront) and back is not None and front.kind in (None, back.kind)
