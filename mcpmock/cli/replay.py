"""`mcpmock replay`: the face of `sessions.stdio.replay`, of `sessions.http.replay_listening`, and
of
`sessions.passthrough` where a server is behind it; and the words for what it missed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError

from .options_faults import fault_options, faults_of, told_of
from .options_listen import listening_of, listening_options
from .options_server import server_of, server_options
from .output import CASSETTE, Announcer, common, emit, say

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.playback.miss import Miss
    from mcpmock.playback.player import Player, PlayerNote, ReplayOptions
    from mcpmock.sessions.ends import Listening, Server
    from mcpmock.sessions.take_recording import Recording


@click.command()
@click.argument("file", type=CASSETTE)
@click.option(
    "--order",
    type=click.Choice(["causal", "strict", "any"]),
    default="causal",
    show_default=True,
    help="What a server message waits for: its causes, all that was recorded before it, nothing.",
)
@click.option(
    "--timing",
    default="none",
    show_default=True,
    metavar="HOW",
    help="Pauses: none, recorded, scale:X, fixed:MS or cap:MS.",
)
@click.option(
    "--repeats",
    type=click.Choice(["error", "last", "cycle"]),
    default="error",
    show_default=True,
    help="What a call gets that was recorded fewer times.",
)
@click.option(
    "--sessions",
    type=click.Choice(["reuse", "once"]),
    default="reuse",
    show_default=True,
    help="Whether a recorded session is played more than once.",
)
@click.option(
    "--overlap-grace",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="MS",
    help="How quiet it must be before an answer stops waiting for an overlapping request.",
)
@click.option(
    "--match",
    type=click.Choice(["relaxed", "exact"]),
    default="relaxed",
    show_default=True,
    help="Whether another client of the same server is answered too.",
)
@click.option(
    "--on-miss",
    type=click.Choice(["error", "hang", "close", "live"]),
    default="error",
    show_default=True,
    help="What a request gets that nothing recorded fits; live: the answer of COMMAND or --url.",
)
@click.option(
    "--record", metavar="OUT", help="Record the replayed session; DIR/ gives it a file of its own."
)
@server_options
@fault_options
@listening_options
@common
def replay(
    file: Path, record: str | None, quiet: bool, verbose: bool, json: bool, **how: Any
) -> int:
    """Stand in for the recorded server of a cassette.

    Give `mcpmock replay FILE` to any client as the server's command, or, with --listen, the URL
    that is printed; the transport need not be the recorded one. With --on-miss live the server at
    --url or COMMAND is asked what was not recorded, and started only then. Exit status: that of the
    recorded server where it ended before its client, else 0, and 1 if a request was not in the
    recording.
    """
    from mcpmock.sessions.take_recording import Recording

    playing = _playing(how, mute=quiet)
    server = _behind(how, record)
    recording = None if record is None else Recording.to(record)
    faults = faults_of(how)
    options = {**how, "quiet": quiet, "verbose": verbose, "json": json}
    return play(file, playing, options, recording=recording, faults=faults, server=server)


def play(
    file: Path,
    playing: ReplayOptions,
    options: dict[str, Any],
    *,
    recording: Recording | None = None,
    faults: FaultRun | None = None,
    server: Server | None = None,
) -> int:
    """Plays a cassette, with a server behind it if there is one; `options` say where clients are
    and what is told. Gives the exit status.
    """
    import gc

    import trio

    from mcpmock.cassette.file import load

    # A cassette is many small objects that live as long as we do; to look for garbage among them
    # again and again doubles the time to start.
    gc.set_threshold(200_000)
    quiet, verbose, json = (options[name] for name in ("quiet", "verbose", "json"))
    announcer = Announcer(json=json)
    listening = listening_of(options, announcer)
    cassette = load(file)
    told = _Telling(file, quiet=quiet, verbose=verbose, json=json)
    if server is not None:
        status = _play_live(
            cassette, playing, told, server,
            listening=listening, announcer=announcer, recording=recording, faults=faults,
        )  # fmt: skip
        owing = told_of(faults, {"quiet": quiet, "json": json})
        return status or int(told.missed > 0) or owing
    if listening is not None:
        from mcpmock.sessions.http import replay_listening

        status = trio.run(
            lambda: replay_listening(
                cassette,
                playing,
                told.tell,
                listening,
                recording=recording,
                say=announcer.say,
                faults=faults,
            )
        )
    else:
        from mcpmock.sessions.stdio import replay as replay_on_stdio

        status, player = trio.run(
            lambda: replay_on_stdio(
                cassette, playing, told.tell, recording=recording, say=say, faults=faults
            )
        )
        told.leftovers(player)
    owing = told_of(faults, {"quiet": quiet, "json": json})
    return status or int(told.missed > 0) or owing


def _play_live(
    cassette: Cassette,
    playing: ReplayOptions,
    told: _Telling,
    server: Server,
    *,
    listening: Listening | None,
    announcer: Announcer,
    recording: Recording | None,
    faults: FaultRun | None,
) -> int:
    import trio

    from mcpmock.sessions.passthrough import live_listening, live_on_stdio

    if listening is not None:
        return trio.run(
            lambda: live_listening(
                cassette, playing, told.tell, server, listening,
                recording=recording, say=announcer.say, faults=faults,
            )
        )  # fmt: skip
    status, player = trio.run(
        lambda: live_on_stdio(
            cassette, playing, told.tell, server, recording=recording, say=say, faults=faults
        )
    )
    told.leftovers(player)
    return status


def _behind(how: dict[str, Any], record: str | None) -> Server | None:
    """The server that is asked what was not recorded."""
    if how["on_miss"] == "live":
        if record is not None:
            raise click.UsageError(
                "--record: not with --on-miss live; `mcpmock proxy --mode new_episodes` records"
            )
        return server_of(how)
    if how["command"] or how["url"] is not None or how["url_transport"] or how["header"]:
        raise click.UsageError("a server is only asked with --on-miss live")
    return None


def _playing(how: dict[str, Any], *, mute: bool) -> ReplayOptions:
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
        mute=mute,
    )


class _Telling:
    """Tells on standard error (stdout is the protocol) what was missed, and with -v what was
    stretched.
    """

    def __init__(self, file: Path, *, quiet: bool, verbose: bool, json: bool) -> None:
        self._file, self._quiet, self._verbose, self._json = file, quiet, verbose, json
        self.missed = 0

    def tell(self, what: Miss | PlayerNote) -> None:
        from mcpmock.playback.miss import near_misses
        from mcpmock.playback.player import PlayerNote

        if isinstance(what, PlayerNote):
            if self._verbose:
                self._say("note", f"{what.method}: {what.text}", method=what.method)
            return
        self.missed += 1
        if self._json:
            self._say("miss", "", method=what.method, near=near_misses(what))
        else:
            from mcpmock.view.misses import miss_lines

            for line in miss_lines(what, self._file):
                say(line)

    def leftovers(self, player: Player) -> None:
        lead = player.leading
        if lead is None or self._quiet or not (player.missed or self._verbose):
            return
        for line in player.leftovers():
            self._say("leftover", line)

    def _say(self, kind: str, text: str, **more: Any) -> None:
        if self._json:
            emit({"type": kind, "text": text, **more}, err=True)
        else:
            say(text)
