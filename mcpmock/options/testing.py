"""The keywords of the pytest marker `mcpmock` and of the fixture `mcpmock_serve`: those of
`mcpmock replay`, and what a test says besides. The table in the manual is made from here.
"""

from pathlib import Path
from typing import Any, Literal

from .option import Option, option, options_of
from .recording import RecordMode
from .redaction import RedactionOptions
from .replay import ReplayOptions

MissUse = Literal["fail", "allow"]
UnusedUse = Literal["ignore", "warn", "fail"]


class TestServerOptions(RedactionOptions, ReplayOptions):
    """The server that a test gets."""

    __test__ = False  # pytest: no class of tests

    cassette: Path | None = option(
        None,
        "The cassette: the only keyword that may be given without its name. Without one it is "
        "cassettes/MODULE/TEST.jsonl.",
        metavar="name or path",
    )
    server: tuple[str, ...] | None = option(
        None, "The command of the real server, to record it.", metavar="[COMMAND, ..]"
    )
    url: str | None = option(None, "The URL of the real server, to record it.", metavar="URL")
    record: RecordMode | None = option(
        None, "The record mode, unless --mcp-record or MCPMOCK_RECORD says another."
    )
    faults: Any = option(
        None,
        "The faults to inject: short forms as `latency:latency=1s,tool=get_*`, classes of "
        "mcpmock.faults, plans, TOML files.",
        metavar="fault, plan or list",
    )
    seed: int | None = option(None, "Random seed of all fault decisions.", metavar="number")
    stub: Any = option(
        None,
        "What the server answers before the recording: a stub, or a mock in TOML.",
        metavar="mcpmock.Stub or path",
    )
    auth: str | None = option(
        None, "Require a login over HTTP: oauth, or oauth:expires=60s,..", metavar="HOW"
    )
    misses: MissUse = option(
        "fail", "Whether a request that matches nothing recorded fails the test."
    )


def keywords_of(table: type) -> list[Option]:
    """Return the rows of one of these tables, its own before those of redaction and of `replay`."""
    replay, redaction = ([*options_of(base)] for base in (ReplayOptions, RedactionOptions))
    return [*options_of(table)][len(replay) + len(redaction) :] + redaction + replay


class MarkerOptions(TestServerOptions):
    """What only a test says."""

    unused: UnusedUse | None = option(
        None, "How to treat recorded requests that no test of the cassette sent."
    )
    races: Any = option(
        None,
        "The call whose cancellation races mcpmock_races runs.",
        metavar='{"tool": NAME}',
    )
    reactions: Any = option(
        None, "How the server of these races reacts; all ways, unless said.", metavar="list"
    )
    explore: Any = option(
        None, "In how many schedules the test is run; [N] is number N alone.", metavar="number"
    )
