"""`mcpmock explore`: the face of `sessions.explore`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError, NotOnThisPlatform
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.endpoints import ServerOptions
from mcpmock.options.explore import ExploreOptions

from .interrupts import run_trio
from .option_table import COMMAND, TableCommand, options
from .output import CASSETTE, encodable, say, say_notices
from .run_setup import check_server, server_of, url_of

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.explore.enumeration import Space
    from mcpmock.explore.fault_set import Side, TriedKind
    from mcpmock.sessions.explore import ExploredPeer, Limits

    from .explore_output import ExploreOutput


@click.command(
    cls=TableCommand, short_help="Search for an order of messages that breaks a server or a client."
)
@click.argument("file", type=CASSETTE)
@COMMAND
@options(exploring=ExploreOptions, server=ServerOptions)
def explore(
    file: Path, exploring: ExploreOptions, server: ServerOptions, console: ConsoleOptions
) -> int:
    """Search for an order of messages, or a fault, that breaks a server or a client.

    Plays the recorded client of the cassette FILE to a real server (COMMAND or --url), again and
    again: as recorded, with a cancel at every point of every call, with single faults at every
    message, with calls that overlap; with --max-runs or --for also with pairs of these. Each
    failure is run again, made as small as possible and written to DIR, with the command that shows
    it again. With --client, COMMAND starts a client, again and again, and FILE is played to it as a
    fake server. Exit status: 0, or 1 if anything failed.
    """
    from mcpmock.cassette.file import load
    from mcpmock.redaction.masks import masked_command

    from .explore_output import ExploreOutput

    server = _checked(exploring, server)
    side: Side = "client" if exploring.client else "server"
    again = Path(exploring.kinds) if exploring.kinds.endswith(".toml") else None
    kinds = [] if again else _kinds(exploring.kinds, side)
    cassette = load(file)
    say_notices(cassette.notices, cassette.name, quiet=console.quiet, of_lines=False)
    if again is not None:
        return _play_again(cassette, again, exploring, server)
    folder = exploring.output or Path(f"explore-{file.name.partition('.')[0]}")
    _refuse_unusable(folder, exploring.junit)
    space = _space(cassette, side, kinds, exploring, server)
    peer = _peer(cassette, exploring, server, take=space.take, session=space.session)
    # The URL of a variable may be secret.
    target = masked_command(server.command or [server.url_env or server.url or ""])
    shown = ExploreOutput(encodable(file), target, console)
    return _run(peer, space, limits_of(exploring), folder, shown, exploring.junit)


def _refuse_unusable(folder: Path, junit: Path | None) -> None:
    """Raise CassetteError where nothing can be written: before a search, which may be long."""
    from mcpmock.cassette.file import unusable

    from .reports import refuse_cassettes

    refuse_cassettes(junit)
    nearest = next(one for one in (folder, *folder.parents) if one.exists())
    if not nearest.is_dir():
        raise unusable(folder, OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise unusable(folder, OSError(errno.EACCES, os.strerror(errno.EACCES)))


def _checked(exploring: ExploreOptions, server: ServerOptions) -> ServerOptions:
    if not exploring.client:
        return check_server(server)
    if not server.command or server.url or server.url_env:
        raise click.UsageError(
            "--client: name the client: -- COMMAND with {command} or {url} in it"
        )
    return server


def _kinds(words: str, side: Side) -> list[TriedKind]:
    from mcpmock.explore.fault_set import chosen_kinds

    try:
        return chosen_kinds(words, side)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--faults") from error


def _peer(
    cassette: Cassette, options: ExploreOptions, server: ServerOptions, **played: Any
) -> ExploredPeer:
    """Return the server or the client that the options name."""
    seed = options.seed
    if server.command and sys.platform == "win32":
        raise NotOnThisPlatform("exploring a program", "explore a server with --url")
    if options.client:
        from mcpmock.sessions.explore_client import ExploredClient

        words, judged = server.command, options.status
        played.pop("keep", None)
        return ExploredClient(
            cassette=cassette, words=words, seed=seed, judges_status=judged, **played
        )
    from mcpmock.sessions.explore_server import ExploredServer

    back, words = server_of(server), _server_words(server)
    return ExploredServer(cassette=cassette, server=back, words=words, seed=seed, **played)


def _play_again(
    cassette: Cassette, file: Path, options: ExploreOptions, server: ServerOptions
) -> int:
    """Run the plan of a failure again."""

    from mcpmock.explore.variant import variant_of
    from mcpmock.faults.plan import load_plan
    from mcpmock.sessions.explore import play_again

    from .explore_output import show_run

    plan = load_plan(file)
    variant = variant_of(plan)
    played = {"take": variant.take, "session": variant.session, "keep": variant.keep}
    run = run_trio(play_again, _peer(cassette, options, server, **played), variant)
    strict = options.strict or (plan.schedule is not None and plan.schedule.strict)
    return show_run(run, cassette.name, strict=strict)


def _run(
    peer: ExploredPeer,
    space: Space,
    limits: Limits,
    folder: Path,
    shown: ExploreOutput,
    junit: Path | None,
) -> int:
    import trio

    from mcpmock.sessions.explore import Explorer
    from mcpmock.sessions.signals import stop_requests

    from .reports import junit_of, write_report

    explorer = Explorer(
        peer=peer,
        space=space,
        limits=limits,
        output=folder,
        tell=shown.row,
        progress=shown.progress,
    )

    async def run() -> int:
        stop, status = trio.Event(), 0
        with stop_requests() as stops:
            async with trio.open_nursery() as nursery:

                async def obey() -> None:
                    nonlocal status
                    async for signum in stops:
                        status = 128 + signum
                        stop.set()
                        return

                nursery.start_soon(obey)
                await explorer.explore(stop)
                nursery.cancel_scope.cancel()
        return status

    status = run_trio(run)
    report = shown.end(explorer.found)
    if junit is not None:
        write_report(junit, junit_of(report))
    return status or report.status


def limits_of(options: ExploreOptions) -> Limits:
    from mcpmock.sessions.explore import Limits

    return Limits(
        seed=options.seed,
        runs=options.max_runs,
        seconds=options.seconds,
        timeout=options.timeout,
        # A run mostly waits: for the start of a process, for pauses that were recorded.
        jobs=options.jobs or 2 * (os.cpu_count() or 1),
        strict=options.strict,
    )


def _space(
    cassette: Cassette,
    side: Side,
    kinds: Sequence[TriedKind],
    exploring: ExploreOptions,
    server: ServerOptions,
) -> Space:
    """Return the session of the cassette with the most requests."""
    from mcpmock.errors import CassetteError
    from mcpmock.explore.enumeration import Space
    from mcpmock.explore.fault_set import tries_cancels
    from mcpmock.explore.recorded_call import richest
    from mcpmock.playback.plan.steps import bare_take
    from mcpmock.transports.session_router import TransportKind

    sessions = [
        (number, events[0].s, events)
        for number, take in enumerate(cassette.takes, 1)
        for episode in bare_take(take, one_session=False).episodes()
        if (events := episode.events)
    ]
    if not sessions:
        raise CassetteError(cassette.name, "it contains no client messages")
    take, session, events = sessions[richest([one[2] for one in sessions])]
    request = exploring.request
    only: str | int | None = request
    if request is not None and request.lstrip("-").isdecimal():
        only = int(request)
    resumes = False
    if side == "server" and server.url is not None:
        resumes = url_of(server.url, server.url_transport).kind is TransportKind.STREAMABLE_HTTP
    space = Space(
        side=side,
        events=events,
        kinds=kinds,
        take=take,
        session=session,
        only=only,
        cancels=tries_cancels(exploring.kinds),
        resumes=resumes,
    )
    if not space.requests:
        raise CassetteError(cassette.name, "no client asks for anything in it")
    if request is not None and all(one.json_id != only for one in space.requests):
        known = ", ".join(str(one.json_id) for one in space.requests[:20])
        raise click.BadParameter(f"no request {request}; there are {known}", param_hint="--request")
    return space


def _server_words(options: ServerOptions) -> tuple[str, ...]:
    """Return how the server was named, for a command that is to be run again."""
    if options.url is None:
        return ("--", *options.command)
    variable = options.url_env
    words = ["--url-env", variable] if variable else ["--url", options.url]
    if options.url_transport:
        words += ["--url-transport", options.url_transport]
    if options.oauth:
        words.append("--oauth")
    for header in options.header_env:
        words += ["--header-env", header]
    for header in options.header:
        name = header.partition(":")[0]
        say(f"--header {name} is not repeated in the printed commands: it may hold a secret")
    return tuple(words)
