"""The options of `drive` as a load, and the load that they describe."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from .output import DURATION, option_set

if TYPE_CHECKING:
    from mcpmock.playback.client.load import CallKind, LatencyLimit, LoadLimits
    from mcpmock.sessions.load import LoadPace

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")
_NAMES = ("sessions", "concurrency", "for", "rate", "max_p99", "max_errors", "format")

load_options = option_set(
    click.option(
        "--sessions",
        type=click.IntRange(1),
        metavar="N",
        help="Load: play N sessions, the recorded ones in turn.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        metavar="M",
        help="Load: play at most M sessions at once.  [default: 1; with --rate 1000]",
    ),
    click.option(
        "--for", type=DURATION, metavar="TIME", help="Load: start sessions for this time."
    ),
    click.option(
        "--rate",
        type=click.FloatRange(0, min_open=True),
        metavar="R",
        help="Load: start R sessions a second, whether others are over or not; latencies count "
        "from the intended start.",
    ),
    click.option(
        "--max-p99",
        multiple=True,
        metavar="[tool=NAME,]TIME",
        help="Load: exit with 1 if the 99th percentile of the latencies of a kind of call is "
        "higher; tool=NAME or method=NAME (with * and ?) selects calls (repeatable).",
    ),
    click.option(
        "--max-errors",
        metavar="N%",
        help="Load: exit with 1 if more of the calls fail.  [default: 0%]",
    ),
    click.option(
        "--format",
        type=click.Choice(["text", "json", "junit"]),
        help="Load: format of the figures.  [default: text]",
    ),
)


def is_load(options: dict[str, Any]) -> bool:
    """Whether any of the options is given."""
    return any(options[name] for name in _NAMES)


def pace_of(options: dict[str, Any], recorded: int) -> LoadPace:
    """When sessions are started. Without a number or a time, each of the recorded ones is, and as
    many as run at once.
    """
    from mcpmock.sessions.load import MAX_SESSIONS_AT_ONCE, LoadPace

    rate, sessions, duration = options["rate"], options["sessions"], options["for"]
    concurrency = options["concurrency"] or (1 if rate is None else MAX_SESSIONS_AT_ONCE)
    if sessions is None and duration is None:
        sessions = max(recorded, options["concurrency"] or 1)
    bounds = {"sessions": sessions, "duration": duration}
    given = {name: value for name, value in bounds.items() if value is not None}
    return LoadPace(concurrency=concurrency, rate=rate, **given)


def limits_of(options: dict[str, Any], recorded: Iterable[CallKind]) -> LoadLimits:
    """The limits beyond which the exit status is 1. Raises BadParameter, also for a limit that fits
    no recorded call.
    """
    from mcpmock.playback.client.load import LoadLimits

    share = options["max_errors"] or "0%"
    found = _PERCENT.fullmatch(share)
    if found is None or float(found[1]) > 100:
        raise click.BadParameter("expected a share such as 0.5%", param_hint="--max-errors")
    limits = [_latency_limit(text) for text in options["max_p99"]]
    for limit in limits:
        if not any(map(limit.fits, recorded)):
            raise click.BadParameter(
                f"{limit.text!r}: no such call is recorded", param_hint="--max-p99"
            )
    return LoadLimits(limits, float(found[1]) / 100)


def _latency_limit(text: str) -> LatencyLimit:
    from mcpmock.playback.client.load import LatencyLimit

    calls, comma, time = text.rpartition(",")
    name, equals, glob = calls.partition("=")
    if comma and not (name in ("tool", "method") and equals and glob):
        raise click.BadParameter(
            f"{text!r}: expected, for example, 200ms or tool=weather,200ms", param_hint="--max-p99"
        )
    try:
        seconds = DURATION.convert(time.strip(), None, None)
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint="--max-p99") from error
    return LatencyLimit(text, seconds, **({name: glob} if comma else {}))
