"""The load that `LoadOptions` describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from mcpmock.lazy_pattern import lazy_pattern

from .options_check import time_of_calls

if TYPE_CHECKING:
    from mcpmock.options.drive import LoadOptions
    from mcpmock.playback.client.load import CallKind, LatencyLimit, LoadLimits
    from mcpmock.sessions.load import LoadPace

_PERCENT = lazy_pattern(r"([0-9]+(?:\.[0-9]+)?)%")


def pace_of(options: LoadOptions, recorded: int) -> LoadPace:
    """Return when sessions are started. Without a number or a time, each of the recorded ones is,
    and as many as run at once.
    """
    from mcpmock.sessions.load import MAX_SESSIONS_AT_ONCE, LoadPace

    rate, sessions, duration = options.rate, options.sessions, options.seconds
    concurrency = options.concurrency or (1 if rate is None else MAX_SESSIONS_AT_ONCE)
    if sessions is None and duration is None:
        sessions = max(recorded, options.concurrency or 1)
    bounds = {"sessions": sessions, "duration": duration}
    given = {name: value for name, value in bounds.items() if value is not None}
    return LoadPace(concurrency=concurrency, rate=rate, **given)


def limits_of(options: LoadOptions, recorded: Iterable[CallKind]) -> LoadLimits:
    """Return the limits beyond which the exit status is 1. Raises BadParameter, also for a limit
    that fits no recorded call.
    """
    from mcpmock.playback.client.load import LoadLimits

    share = options.max_errors or "0%"
    found = _PERCENT.fullmatch(share)
    if found is None or float(found[1]) > 100:
        raise click.BadParameter("expected a share such as 0.5%", param_hint="--max-errors")
    limits = [_latency_limit(text) for text in options.max_p99]
    for limit in limits:
        if not any(map(limit.fits, recorded)):
            raise click.BadParameter(
                f"{limit.text!r}: no such call is recorded", param_hint="--max-p99"
            )
    return LoadLimits(limits, float(found[1]) / 100)


def _latency_limit(text: str) -> LatencyLimit:
    from mcpmock.playback.client.load import LatencyLimit

    try:
        glob, seconds = time_of_calls(text, ("tool", "method"))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--max-p99") from error
    return LatencyLimit(text, seconds, **glob)
