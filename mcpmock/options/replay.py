"""How a cassette is played: the options of `mcpmock replay`, `serve` and the pytest marker."""

from pathlib import Path
from typing import Literal

from .console import LOG
from .matching import ECHO, IGNORE, LIKE, NO_RULES
from .option import FileName, OptionTable, option

Order = Literal["causal", "strict", "any"]
Repeats = Literal["auto", "error", "last", "cycle"]
SessionUse = Literal["reuse", "once"]
MatchMode = Literal["relaxed", "exact", "tool"]
MissAction = Literal["error", "nearest", "hang", "close", "live"]


class ReplayOptions(OptionTable):
    """How a cassette is played, in the words of a user; `PlayerOptions.of` reads them."""

    order: Order = option(
        "causal",
        "What each server message waits for: its causes (causal), everything recorded before it "
        "(strict) or only its own request (any).",
    )
    timing: str = option(
        "none",
        "Pause before each message: none, recorded, scale:X, fixed:MS or cap:MS.",
        metavar="HOW",
    )
    repeats: Repeats = option(
        "auto",
        "How to answer calls repeated more often than recorded; auto: lists, pings and read-only "
        "tools as the last time, other calls are misses.",
    )
    sessions: SessionUse = option(
        "reuse", "Whether a recorded session may be replayed more than once."
    )
    overlap_grace: int | float = option(
        20,
        "How long an answer waits, while the client is silent, for a request that overlapped it.",
        metavar="MS",
        least=0,
    )
    match: MatchMode = option(
        "relaxed",
        "Whether to answer a client with another name, version or capabilities; tool: and calls "
        "of a tool or prompt with other arguments.",
    )
    ignore: tuple[str, ...] = IGNORE
    like: tuple[str, ...] = LIKE
    echo: tuple[str, ...] = ECHO
    no_rules: bool = NO_RULES
    # A fake server inside a program has no real server behind it.
    on_miss: MissAction = option(
        "error",
        "What to do with a request that matches nothing recorded; nearest: answer as the nearest "
        "one of the same tool, and say so; live: ask COMMAND or --url.",
        command_only=("live",),
    )


class ReplayCommandOptions(ReplayOptions):
    """What `mcpmock replay` has besides."""

    workers: int = option(
        1,
        "Listen in N processes on one port; needs --order any, or a recording of revision "
        "2026-07-28: the processes share no sessions.",
        metavar="N",
        least=1,
    )
    record: FileName | None = option(
        None,
        "Record the replayed session; DIR/ gives each run its own file.",
        metavar="OUT",
        private=True,
    )
    log: Path | None = LOG
    auth: str | None = option(
        None,
        "Require a login, with a fake authorization server beside the recording: oauth, or "
        "oauth:expires=60s,scope=a b,refresh=no,tool.NAME=SCOPE. Needs --listen.",
        metavar="HOW",
    )
