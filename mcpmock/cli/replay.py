"""`mcpmock replay`: a cassette in place of its server, over stdio or HTTP, with or without a real
server for what was not recorded; and how misses are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError

from .options_faults import fault_options, faults_of
from .options_listen import front_of, listening_options
from .options_server import server_of, server_options, url_options_given
from .output import CASSETTE, common, emit, say, say_notices
from .run_setup import run_to_end, spare_collections

if TYPE_CHECKING:
    from mcpmock.authorization.options import AuthorizationOptions
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.playback.miss import Miss
    from mcpmock.playback.player import Player, PlayerNote, ReplayOptions
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.take import Recording


class _ReplayCommand(click.Command):
    """Words before `--` are cassettes, words after it the server's command. click takes one
    argument of any number of words, and drops the `--`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        live = ctx.params.get("on_miss") == "live" and ctx.params.get("url") is None
        if at < len(args) or not live:
            ctx.params["more"] = [Path(word) for word in ctx.params.get("command", ())]
            ctx.params["command"] = tuple(args[at + 1 :])
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return ["[OPTIONS]", "FILE...", "[-- COMMAND...]"]


@click.command(cls=_ReplayCommand)
@click.argument("file", type=CASSETTE)
@click.option(
    "--order",
    type=click.Choice(["causal", "strict", "any"]),
    default="causal",
    show_default=True,
    help="What each server message waits for: its causes (causal), everything recorded before it "
    "(strict) or only its own request (any).",
)
@click.option(
    "--timing",
    default="none",
    show_default=True,
    metavar="HOW",
    help="Pause before each message: none, recorded, scale:X, fixed:MS or cap:MS.",
)
@click.option(
    "--repeats",
    type=click.Choice(["auto", "error", "last", "cycle"]),
    default="auto",
    show_default=True,
    help="How to answer calls repeated more often than recorded; auto: lists, pings and read-only "
    "tools as the last time, other calls are misses.",
)
@click.option(
    "--sessions",
    type=click.Choice(["reuse", "once"]),
    default="reuse",
    show_default=True,
    help="Whether a recorded session may be replayed more than once.",
)
@click.option(
    "--overlap-grace",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="MS",
    help="How long an answer waits, while the client is silent, for a request that overlapped it.",
)
@click.option(
    "--match",
    type=click.Choice(["relaxed", "exact"]),
    default="relaxed",
    show_default=True,
    help="Whether to answer a client with another name, version or capabilities.",
)
@click.option(
    "--on-miss",
    type=click.Choice(["error", "hang", "close", "live"]),
    default="error",
    show_default=True,
    help="What to do with a request that matches nothing recorded; live: ask COMMAND or --url.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Listen in N processes on one port; needs --order any, or a recording of revision "
    "2026-07-28: the processes share no sessions.",
)
@click.option(
    "--record", metavar="OUT", help="Record the replayed session; DIR/ gives each run its own file."
)
@click.option(
    "--auth",
    metavar="HOW",
    help="Require a login, with a fake authorization server beside the recording: oauth, or "
    "oauth:expires=60s,scope=a b,refresh=no,tool.NAME=SCOPE. Needs --listen.",
)
@server_options
@fault_options
@listening_options
@common
def replay(file: Path, record: str | None, more: Sequence[Path] = (), **how: Any) -> int:
    """Act as the server recorded in the cassette FILE.

    Give `mcpmock replay FILE` to a client as the server's command or, with --listen, the URL that
    it prints; the transport may differ from the recorded one. Several files, or a folder with
    cassettes, are one recording. With --on-miss live, requests that
    were not recorded go to the server COMMAND or --url, which is started with the first of them.
    Exit status: 0, 1 if a request matched nothing recorded, or that of the recorded server if it
    ended before its client.
    """
    _check_workers(how, record)
    options = _replay_options(how)
    server = _passthrough_server(how, record)
    recording = None
    if record is not None:
        from mcpmock.sessions.take import Recording  # the recorder, which a replay does not need

        recording = Recording.to(record)
    files = [file, *more]
    return play(files, options, how, recording=recording, faults=faults_of(how), server=server)


def play(
    files: Sequence[Path],
    options: ReplayOptions,
    settings: dict[str, Any],
    *,
    recording: Recording | None = None,
    faults: FaultRun | None = None,
    server: Server | None = None,
) -> int:
    """Play cassettes as one recording, with a server behind it if one is given. `settings` are the
    options of the command line for listening and for output. Gives the exit status.
    """
    import gc

    from mcpmock.cassette.file import load_together
    from mcpmock.sessions.replay import Replay, scheduled
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.stdio_front import StdioFront

    # A cassette is many small objects that live as long as the process. Collections while it loads
    # would traverse them again and again, which doubles the time to start.
    gc.disable()
    authorization = _authorization(settings)
    front, tell = front_of(settings)
    cassette = load_together(files)
    spare_collections()
    gc.enable()
    if not settings["quiet"]:
        say_notices(cassette, of_lines=False, say=tell)
    reporter = _Reporter(Path(cassette.name), settings)
    setup = Setup(
        front=front,
        back=server,
        replay=Replay(scheduled(cassette, faults), options, reporter.report),
        faults=faults,
        authorization=authorization,
        recording=recording,
        observers=[reporter.keep_player],
        say=tell,
    )
    if settings.get("workers", 1) > 1:
        from mcpmock.sessions.workers import run_workers

        status = run_workers(setup, settings["workers"])
    else:
        status = run_to_end(setup, settings)
    if isinstance(front, StdioFront):
        reporter.report_leftovers()
    return status or int(reporter.missed > 0)


def _authorization(settings: dict[str, Any]) -> AuthorizationOptions | None:
    """The login that clients need. Raises UsageError."""
    text = settings.get("auth")
    if text is None:
        return None

    from mcpmock.authorization.options import AuthorizationOptions

    if settings["listen"] is None:
        raise click.UsageError("--auth needs --listen: clients log in over HTTP only")
    try:
        return AuthorizationOptions.parse(text)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--auth") from error


def _check_workers(how: dict[str, Any], record: str | None) -> None:
    """Refuse what one process alone knows, or a file that one process writes."""
    if how["workers"] == 1:
        return
    if how["listen"] is None:
        raise click.UsageError("--workers needs --listen")
    alone = {
        "--record": record is not None,
        "--on-miss live": how["on_miss"] == "live",
        "--sessions once": how["sessions"] == "once",
        "--repeats error": how["repeats"] == "error" and how["order"] != "any",
        "--repeats cycle": how["repeats"] == "cycle" and how["order"] != "any",
        "--order strict": how["order"] == "strict",
        "--fault": bool(how["fault"] or how["faults"]),
        "--auth": how["auth"] is not None,
    }
    if given := [option for option, here in alone.items() if here]:
        raise click.UsageError(f"{given[0]} needs one process; leave out --workers")


def _passthrough_server(how: dict[str, Any], record: str | None) -> Server | None:
    """The server for requests that were not recorded; None without `--on-miss live`."""
    if how["on_miss"] == "live":
        if record is not None:
            raise click.UsageError(
                "--record and --on-miss live are mutually exclusive; use `mcpmock proxy --cassette "
                "FILE --mode new_episodes`"
            )
        return server_of(how)
    if (
        how["command"]
        or how["url"] is not None
        or how["url_env"] is not None
        or url_options_given(how)
    ):
        raise click.UsageError("a server (COMMAND or --url) needs --on-miss live")
    return None


def _replay_options(how: dict[str, Any]) -> ReplayOptions:
    from mcpmock.playback.player import ReplayOptions
    from mcpmock.playback.timing import Pace, Timing

    try:
        timing = Timing.parse(how["timing"])
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--timing") from error
    pace = Pace(timing, overlap_grace=how["overlap_grace"] / 1000)
    return ReplayOptions(
        order=how["order"],
        pace=pace,
        repeats=how["repeats"],
        sessions=how["sessions"],
        exact=how["match"] == "exact",
        on_miss=how["on_miss"],
        mute=how["quiet"],
    )


class _Reporter:
    """Prints misses, with -v the player's notes, and what was left over; to stderr, because stdout
    carries the protocol.
    """

    def __init__(self, file: Path, settings: dict[str, Any]) -> None:
        self._file = file
        self._quiet, self._verbose = settings["quiet"], settings["verbose"]
        self._json = settings["json"]
        self.missed = 0
        self._player: Player | None = None

    def keep_player(self, _conversation: int, player: Player | None) -> None:
        """An observer. Over stdio one player exists; at the end it knows what was left over."""
        self._player = player

    def report(self, event: Miss | PlayerNote) -> None:
        from mcpmock.playback.miss import near_misses
        from mcpmock.playback.player import PlayerNote

        if isinstance(event, PlayerNote):
            if self._verbose:
                self._print("note", f"{event.method}: {event.text}", method=event.method)
            return
        self.missed += 1
        if self._json:
            self._print("miss", "", method=event.method, near=near_misses(event))
        else:
            from mcpmock.view.miss_report import miss_lines

            for line in miss_lines(event, self._file):
                say(line)

    def report_leftovers(self) -> None:
        player = self._player
        if player is None or player.leading is None or self._quiet:
            return
        if not (player.missed or self._verbose):
            return
        for line in player.leftovers():
            self._print("leftover", line)

    def _print(self, kind: str, text: str, **more: Any) -> None:
        if self._json:
            emit({"type": kind, "text": text, **more}, err=True)
        else:
            say(text)
