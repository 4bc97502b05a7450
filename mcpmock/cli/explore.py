"""`mcpmock explore`: the face of `sessions.explore`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError

from .options_server import check_server, server_of, server_options, url_of
from .output import CASSETTE, DURATION, common, encodable, say, say_notices

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.explore.enumeration import Space
    from mcpmock.explore.fault_set import Side, TriedKind
    from mcpmock.sessions.explore import ExploredPeer, Limits

    from .explore_output import ExploreOutput


@click.command(short_help="Search for an order of messages that breaks a server or a client.")
@click.argument("file", type=CASSETTE)
@click.option(
    "--client",
    is_flag=True,
    help="Explore a client: COMMAND starts it, in it {command} or {url} is the fake server.",
)
@click.option(
    "--request", metavar="ID", help="Explore only what concerns the request with this id."
)
@click.option(
    "--faults",
    "kinds",
    default="all",
    show_default=True,
    metavar="KINDS",
    help="Single faults to try: all, none, wire, messages, http, mcp or kinds, with commas; or a "
    "plan (.toml) to run again.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="Random seed for pairs and faults.")
@click.option("--max-runs", type=click.IntRange(1), metavar="N", help="Stop after N runs.")
@click.option("--for", "seconds", type=DURATION, metavar="TIME", help="Start no run after TIME.")
@click.option(
    "--timeout",
    type=DURATION,
    metavar="TIME",
    help="Silence that is a hang.  [default: 10s, or 5 times the slowest recorded order]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    # A run waits for most of its time: for the start of a process, for pauses that were recorded.
    default=lambda: 2 * (os.cpu_count() or 1),
    show_default="twice the processors",
    metavar="N",
    help="Runs at once.",
)
@click.option("--strict", is_flag=True, help="Fail on what a specification only advises against.")
@click.option("--status", is_flag=True, help="Judge the exit status of a client in every schedule.")
@click.option("--junit", type=CASSETTE, metavar="FILE", help="Write a JUnit XML report to FILE.")
@click.option(
    "-o",
    "--output",
    type=CASSETTE,
    metavar="DIR",
    help="Write what fails to DIR/.  [default: explore-FILE]",
)
@server_options
@common
def explore(file: Path, output: Path | None, junit: Path | None, **options: Any) -> int:
    """Search for an order of messages, or a fault, that breaks a server or a client.

    Plays the recorded client of the cassette FILE to a real server (COMMAND or --url), again and
    again: as recorded, with a cancel at every point of every call, with single faults at every
    message, with calls that overlap; with --max-runs or --for also with pairs of these. Each
    failure is run again, made as small as possible and written to DIR, with the command that shows
    it again. With --client, COMMAND starts a client, again and again, and FILE is played to it as a
    fake server. Exit status: 0, or 1 if anything failed.
    """
    from mcpmock.cassette.file import load

    from .explore_output import ExploreOutput

    _check(options)
    side: Side = "client" if options["client"] else "server"
    again = Path(options["kinds"]) if options["kinds"].endswith(".toml") else None
    kinds = [] if again else _kinds(options["kinds"], side)
    cassette = load(file)
    if not options["quiet"]:
        say_notices(cassette, of_lines=False)
    if again is not None:
        return _play_again(cassette, again, options)
    folder = output or Path(f"explore-{file.name.partition('.')[0]}")
    space = _space(cassette, side, kinds, options)
    subject = _peer(cassette, options, take=space.take, session=space.session)
    shown = ExploreOutput(encodable(file), options)
    return _run(subject, space, limits_of(options), folder, shown, junit)


def _check(options: dict[str, Any]) -> None:
    if not options["client"]:
        check_server(options)
    elif not options["command"] or options["url"] or options["url_env"]:
        raise click.UsageError(
            "--client: name the client: -- COMMAND with {command} or {url} in it"
        )


def _kinds(words: str, side: Side) -> list[TriedKind]:
    from mcpmock.explore.fault_set import chosen_kinds

    try:
        return chosen_kinds(words, side)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--faults") from error


def _peer(cassette: Cassette, options: dict[str, Any], **played: Any) -> ExploredPeer:
    """The server or the client that the options name."""
    seed = options["seed"]
    if options["client"]:
        from mcpmock.sessions.explore_client import ExploredClient

        words, judged = options["command"], options["status"]
        played.pop("keep", None)
        return ExploredClient(
            cassette=cassette, words=words, seed=seed, judges_status=judged, **played
        )
    from mcpmock.sessions.explore_server import ExploredServer

    server, words = server_of(options), _server_words(options)
    return ExploredServer(cassette=cassette, server=server, words=words, seed=seed, **played)


def _play_again(cassette: Cassette, file: Path, options: dict[str, Any]) -> int:
    """Runs the plan of a failure again."""
    import trio

    from mcpmock.explore.variant import variant_of
    from mcpmock.faults.plan import load_plan
    from mcpmock.sessions.explore import play_again

    from .explore_output import show_run

    plan = load_plan(file)
    variant = variant_of(plan)
    played = {"take": variant.take, "session": variant.session, "keep": variant.keep}
    run = trio.run(play_again, _peer(cassette, options, **played), variant)
    strict = options["strict"] or (plan.schedule is not None and plan.schedule.strict)
    return show_run(run, cassette.name, strict=strict)


def _run(
    subject: ExploredPeer,
    space: Space,
    limits: Limits,
    folder: Path,
    shown: ExploreOutput,
    junit: Path | None,
) -> int:
    import trio

    from mcpmock.sessions.explore import Explorer
    from mcpmock.sessions.signals import stop_requests

    from .reports import junit_of

    explorer = Explorer(
        subject=subject,
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

    status = trio.run(run)
    report = shown.end(explorer.found)
    if junit is not None:
        junit.write_text(junit_of(report), "utf-8")
    return status or report.status


def limits_of(options: dict[str, Any]) -> Limits:
    from mcpmock.sessions.explore import Limits

    return Limits(
        seed=options["seed"],
        runs=options["max_runs"],
        seconds=options["seconds"],
        timeout=options["timeout"],
        jobs=options["jobs"],
        strict=options["strict"],
    )


def _space(cassette: Cassette, side: Any, kinds: Any, options: dict[str, Any]) -> Space:
    """The session of the cassette with the most requests."""
    from mcpmock.errors import CassetteError
    from mcpmock.explore.enumeration import Space
    from mcpmock.explore.recorded_call import richest
    from mcpmock.playback.plan.flatten_http import bare_take
    from mcpmock.transports.session_router import TransportKind

    sessions = [
        (number, events[0].s, events)
        for number, take in enumerate(cassette.takes, 1)
        for episode in bare_take(take, one_session=False).episodes()
        if (events := episode.events)
    ]
    if not sessions:
        raise CassetteError(cassette.name, "no client says anything in it")
    take, session, events = sessions[richest([one[2] for one in sessions])]
    only: Any = (request := options["request"])
    if request is not None and request.lstrip("-").isdecimal():
        only = int(request)
    resumes = False
    if side == "server" and options["url"] is not None:
        server = url_of(options["url"], options["url_transport"])
        resumes = server.kind is TransportKind.STREAMABLE_HTTP
    space = Space(
        side=side,
        events=events,
        kinds=kinds,
        take=take,
        session=session,
        only=only,
        resumes=resumes,
    )
    if not space.requests:
        raise CassetteError(cassette.name, "no client asks for anything in it")
    if request is not None and all(one.json_id != only for one in space.requests):
        known = ", ".join(str(one.json_id) for one in space.requests[:20])
        raise click.BadParameter(f"no request {request}; there are {known}", param_hint="--request")
    return space


def _server_words(options: dict[str, Any]) -> tuple[str, ...]:
    """How the server was named, for a command that is to be run again."""
    if options["url"] is None:
        return ("--", *options["command"])
    variable = options["url_env"]
    words = ["--url-env", variable] if variable else ["--url", options["url"]]
    if options["url_transport"]:
        words += ["--url-transport", options["url_transport"]]
    if options["oauth"]:
        words.append("--oauth")
    for header in options["header_env"]:
        words += ["--header-env", header]
    for header in options["header"]:
        name = header.partition(":")[0]
        say(f"--header {name} is not repeated in the printed commands: it may hold a secret")
    return tuple(words)
