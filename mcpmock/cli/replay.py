"""`mcpmock replay`: a cassette in place of its server, over stdio or HTTP, with or without a real
server for what was not recorded; and how misses are reported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from mcpmock.errors import McpMockError, NotOnThisPlatform
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.endpoints import ListenOptions, ServerOptions
from mcpmock.options.faults import FaultOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.options.replay import ReplayCommandOptions

from .option_table import COMMAND, TableCommand, options
from .output import CASSETTE, emit, say, say_notices
from .run_setup import (
    faults_of,
    front_of,
    redaction_of,
    refuse_played,
    run_to_end,
    server_of,
    without_collections,
)

if TYPE_CHECKING:
    from mcpmock.authorization.options import AuthorizationOptions
    from mcpmock.cassette.model import Cassette
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.matching.match_rule import MatchRules
    from mcpmock.playback.miss import Miss
    from mcpmock.playback.player import Player, PlayerNote, PlayerOptions
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.take import Recording

    from .replay_log import ReplayLog


class _ReplayCommand(TableCommand):
    """Words before `--` are cassettes, words after it the server's command. click takes one
    argument of any number of words, and drops the `--`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        live = ctx.params.get("on_miss") == "live" and ctx.params.get("url") is None
        if at < len(args) or not live:
            words = ctx.params.get("command", ())
            ctx.params["more"] = [CASSETTE.convert(word, None, ctx) for word in words]
            ctx.params["command"] = tuple(args[at + 1 :])
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return ["[OPTIONS]", "FILE...", "[-- COMMAND...]"]


@click.command(cls=_ReplayCommand)
@click.argument("file", type=CASSETTE)
@COMMAND
@options(
    replaying=ReplayCommandOptions,
    server=ServerOptions,
    faults=FaultOptions,
    listening=ListenOptions,
)
def replay(
    file: Path,
    replaying: ReplayCommandOptions,
    server: ServerOptions,
    faults: FaultOptions,
    listening: ListenOptions,
    console: ConsoleOptions,
    more: Sequence[Path] = (),
) -> int:
    """Act as the server recorded in the cassette FILE.

    Give `mcpmock replay FILE` to a client as the server's command or, with --listen, the URL that
    it prints; the transport may differ from the recorded one. Several files, or a folder with
    cassettes, are one recording. A FILE that ends in .toml is a mock, a server written by hand; it
    answers before the cassettes. With --on-miss live, requests that
    were not recorded go to the server COMMAND or --url, which is started with the first of them.
    Exit status: 0, 1 if a request matched nothing recorded, or that of the recorded server if it
    ended before its client.
    """
    _check_workers(replaying, listening, faults)
    recording, back = None, _passthrough_server(replaying, server)
    if replaying.record is not None:
        from mcpmock.sessions.take import Recording  # the recorder, which a replay does not need

        refuse_played(replaying.record, [file, *more])
        recording = Recording.to(
            replaying.record, rules=redaction_of(RedactionOptions(), replaying.record)
        )
    return play(
        [file, *more],
        replaying,
        listening,
        console,
        recording=recording,
        faults=faults_of(faults),
        server=back,
    )


def play(
    files: Sequence[Path],
    replaying: ReplayCommandOptions,
    listening: ListenOptions,
    console: ConsoleOptions,
    *,
    recording: Recording | None = None,
    faults: FaultRun | None = None,
    server: Server | None = None,
) -> int:
    """Play cassettes as one recording, with a server behind it if one is given. Gives the exit
    status.
    """
    from mcpmock.batch.sources import load_mock_first
    from mcpmock.platforms import STOP_SIGNALS
    from mcpmock.sessions.replay import Replay, scheduled
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.stdio_front import StdioFront

    with without_collections():
        playing = _player_options(replaying, console)
        authorization = _authorization(replaying, listening)
        front, tell = front_of(listening, json=console.json)
        stub, cassette = load_mock_first(files)
    notices = cassette.notices
    say_notices(notices, cassette.name, quiet=console.quiet, of_lines=False, say=tell)
    log = None
    if replaying.log is not None:
        from .replay_log import ReplayLog

        log = ReplayLog(replaying.log, cassette.name)
        playing = structs.replace(playing, rules_in=str(files[0]) if len(files) == 1 else "")
    if console.verbose:
        _say_digests(cassette)
    reporter = _Reporter(Path(cassette.name), console, log)
    replay = Replay(scheduled(cassette, faults), playing, reporter.report, stub)
    setup = Setup(
        front=front,
        back=server,
        replay=replay,
        faults=faults,
        authorization=authorization,
        recording=recording,
        observers=[reporter.keep_player],
        say=tell,
    )
    if sys.platform == "linux" and replaying.workers > 1:
        from mcpmock.sessions.workers import run_workers

        status = run_workers(setup, replaying.workers)
    else:
        status = run_to_end(setup, console)
    if isinstance(front, StdioFront):
        reporter.report_leftovers()
    if replay.options.rules is not None and (reporter.missed or console.verbose):
        reporter.report_idle_rules(replay.options.rules, cassette)
    if reporter.missed and (not status or status - 128 in STOP_SIGNALS):
        return 1
    return status


def _say_digests(cassette: Cassette) -> None:
    """Say which files of skills are sent with another digest than the recorded one."""
    from mcpmock.redaction.skill_files import redacted_files

    if found := redacted_files(cassette):
        files = ", ".join(found)
        say(f"{cassette.name}: digest and size are those of the redacted content: {files}")


def _authorization(
    replaying: ReplayCommandOptions, listening: ListenOptions
) -> AuthorizationOptions | None:
    """Return the login that clients need. Raises UsageError."""
    if replaying.auth is None:
        return None

    from mcpmock.authorization.options import AuthorizationOptions

    if listening.listen is None:
        raise click.UsageError("--auth needs --listen: clients log in over HTTP only")
    try:
        return AuthorizationOptions.parse(replaying.auth)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--auth") from error


def _check_workers(
    replaying: ReplayCommandOptions, listening: ListenOptions, faults: FaultOptions
) -> None:
    """Refuse what one process alone knows, or a file that one process writes."""
    if replaying.workers == 1:
        return
    if sys.platform != "linux":
        raise NotOnThisPlatform("--workers", "leave it out: one process serves all clients")
    if listening.listen is None:
        raise click.UsageError("--workers needs --listen")
    in_order = replaying.order != "any"
    alone = {
        "--record": replaying.record is not None,
        "--on-miss live": replaying.on_miss == "live",
        "--sessions once": replaying.sessions == "once",
        "--repeats error": replaying.repeats == "error" and in_order,
        "--repeats cycle": replaying.repeats == "cycle" and in_order,
        "--order strict": replaying.order == "strict",
        "--fault": faults.given,
        "--auth": replaying.auth is not None,
    }
    if given := [option for option, here in alone.items() if here]:
        raise click.UsageError(f"{given[0]} needs one process; leave out --workers")


def _passthrough_server(replaying: ReplayCommandOptions, server: ServerOptions) -> Server | None:
    """Return the server for requests that were not recorded; None without `--on-miss live`."""
    if replaying.on_miss == "live":
        if replaying.record is not None:
            raise click.UsageError(
                "--record and --on-miss live are mutually exclusive; use `mcpmock proxy --cassette "
                "FILE --mode new_episodes`"
            )
        return server_of(server)
    if given := server.given:
        raise click.UsageError(f"a server ({' and '.join(given)}) needs --on-miss live")
    return None


def _player_options(replaying: ReplayCommandOptions, console: ConsoleOptions) -> PlayerOptions:
    from mcpmock.playback.player import PlayerOptions

    try:
        return PlayerOptions.of(replaying, mute=console.quiet, notes=console.verbose)
    except McpMockError as error:
        if error.exit_code == 2:  # not a rule
            raise click.UsageError(str(error)) from error
        raise click.BadParameter(str(error), param_hint="--timing") from error


class _Reporter:
    """Prints misses, with -v the player's notes, and what was left over; to stderr, because stdout
    carries the protocol.
    """

    def __init__(self, file: Path, console: ConsoleOptions, log: ReplayLog | None) -> None:
        self._file = file
        self._console = console
        self._log = log
        self.missed = 0
        self._player: Player | None = None

    def keep_player(self, _conversation: int, player: Player | None) -> None:
        """Keep the player, as an observer. Over stdio one player exists; at the end it knows
        what was left over.
        """
        self._player = player

    def report(self, event: Miss | PlayerNote) -> None:
        from mcpmock.playback.miss import Miss
        from mcpmock.playback.player import InexactAnswer, MisfitAnswer, UnaskedAnswer

        console = self._console
        loud = Miss | InexactAnswer | MisfitAnswer | UnaskedAnswer
        told = isinstance(event, loud) or console.verbose
        if told and self._log is not None:
            for line in self._lines(event):
                self._log.write(line)
        always = isinstance(event, Miss) or (
            isinstance(event, InexactAnswer) and event.kind == "nearest"
        )
        self.missed += isinstance(event, Miss)
        if not always and (console.quiet or not told):
            return
        if console.json:
            emit(self._value(event), err=True)
            return
        for line in self._lines(event):
            say(line)

    def _lines(self, event: Miss | PlayerNote) -> list[str]:
        from mcpmock.playback.miss import Miss, spell_options
        from mcpmock.playback.player import InexactAnswer

        if isinstance(event, Miss):
            from mcpmock.view.miss_report import miss_lines

            return miss_lines(event, self._file)
        allow = spell_options(event.rules) if isinstance(event, InexactAnswer) else ""
        return [f"{event.line}; allow with {allow}" if allow else event.line]

    def _value(self, event: Miss | PlayerNote) -> dict[str, Any]:
        from mcpmock.playback.miss import Miss, near_misses
        from mcpmock.playback.player import InexactAnswer, UnaskedAnswer

        if isinstance(event, Miss):
            value = {"type": "miss", "text": event.sentence, "method": event.method}
            return {**value, "near": near_misses(event)}
        if not isinstance(event, InexactAnswer):
            kind = "unasked" if isinstance(event, UnaskedAnswer) else "note"
            return {"type": kind, "text": event.line, "method": event.method}
        members = {"events": event.events, "taken": event.taken}
        rules = [rule for _, rule in event.rules]
        more = {"event": event.taken, "rules": rules} if event.kind == "nearest" else members
        said = {"type": event.kind, "method": event.method, "name": event.name, **more}
        return {**said, "text": event.text}

    def report_leftovers(self) -> None:
        player = self._player
        if player is None or self._console.quiet or not (player.missed or self._console.verbose):
            return
        for line in player.leftovers():
            self._print("leftover", line)

    def report_idle_rules(self, rules: MatchRules, cassette: Cassette) -> None:
        """Print the rules that applied to nothing: one may have been meant for a miss."""
        from mcpmock.playback.idle_rules import idle_rules

        for line in idle_rules(rules, cassette.takes):
            if self._log is not None:
                self._log.write(line)
            self._print("idle-rule", line)

    def _print(self, kind: str, text: str) -> None:
        if self._console.json:
            emit({"type": kind, "text": text}, err=True)
        else:
            say(text)
