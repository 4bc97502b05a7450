"""The figures of a load in three formats: a table, one JSON object, JUnit XML; and its progress.

The names of methods and tools are recorded text, so they are hostile and pass through `one_line`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.playback.client.load import CallKind, LatencyLimit, Load, LoadCalls, LoadLimits
from mcpmock.printable import duration, many
from mcpmock.sessions.load import LoadPace

from .output import BAD, one_line, progress_bar, say, table
from .reports import JunitCase, JunitFailure, Report, print_report

_TIMES = ("p50", "p90", "p99", "max")
_HEADS = ("call", "n", "err", "canc", *_TIMES)


@contextmanager
def load_progress(pace: LoadPace, *, quiet: bool) -> Iterator[Callable[[Load], None] | None]:
    """Draw a load on stderr while it runs, if that is a terminal."""
    with progress_bar("load", shown=not quiet) as progress:
        if progress is None:
            yield None
            return

        def show(load: Load) -> None:
            done = min(max(load.sessions / pace.sessions, load.seconds / pace.duration), 1.0)
            progress(int(done * 1000), 1000, _summary(load))

        yield show


def print_load(load: Load, limits: LoadLimits, console: ConsoleOptions, form: str) -> int:
    """Print the figures to stdout. Gives the exit status: 1 if a limit is exceeded."""
    if not console.json and form != "json":
        for line in _failures(load):
            say(line)
    report = Report(
        status=int(limits.too_many_errors(load) or bool(limits.exceeded(load))),
        lines=_lines(load, limits),
        values=_values(load, limits),
        suite=("mcpmock drive", "mcpmock.load"),
        cases=_cases(load, limits),
    )
    return print_report(report, console, form, always=True, paged=True)


def _failures(load: Load) -> Iterator[str]:
    for line, times in load.failures.items():
        yield f"{line} ({many(times, 'time')})"


def _lines(load: Load, limits: LoadLimits) -> Iterator[str]:
    rows = []
    for kind, calls in _sorted(load):
        counts = (str(calls.count), str(calls.errors or ""), str(calls.cancelled or ""))
        times = ("" if us is None else duration(us) for us in _times(calls))
        rows.append((one_line(str(kind)), *counts, *times))
    yield from table(_HEADS, rows)
    yield _summary(load)
    if load.latest_start:
        late = duration(_microseconds(load.latest_start))
        unstarted = f"; {many(load.unstarted, 'session')} not at all" if load.unstarted else ""
        yield f"sessions were started up to {late} after they were due{unstarted}"
    for kind, p99, limit in limits.exceeded(load):
        yield click.style(f"{one_line(str(kind))}: {_describe_slowness(p99, limit)}", fg=BAD)
    if limits.too_many_errors(load):
        yield click.style(_describe_errors(load, limits), fg=BAD)


def _values(load: Load, limits: LoadLimits) -> Iterator[dict[str, Any]]:
    yield {
        "type": "load",
        "calls": [
            {
                **_figures(kind, calls),
                "histogram": {"unit": "us", "buckets": sorted(calls.latencies.buckets.items())},
            }
            for kind, calls in _sorted(load)
        ],
        "sessions": load.sessions,
        "broken": load.broken,
        "unstarted": load.unstarted,
        "seconds": round(load.seconds, 3),
        "latest_start_ms": _ms(_microseconds(load.latest_start)),
        "failures": [{"text": text, "n": times} for text, times in load.failures.items()],
        "exceeded": [
            {"method": kind.method, "tool": kind.tool, "p99_ms": _ms(p99), "limit": limit.text}
            for kind, p99, limit in limits.exceeded(load)
        ],
        "too_many_errors": limits.too_many_errors(load),
    }


def _cases(load: Load, limits: LoadLimits) -> Iterator[JunitCase]:
    """Yield a case for each kind of call, failed if it was too slow, and one for the errors."""
    slow: dict[CallKind, list[str]] = {}
    for kind, p99, limit in limits.exceeded(load):
        slow.setdefault(kind, []).append(_describe_slowness(p99, limit))
    for kind, calls in _sorted(load):
        lines, figures = slow.get(kind), _figures(kind, calls).items()
        failure = JunitFailure("max-p99", lines[0], "\n".join(lines)) if lines else None
        yield JunitCase(str(kind), failure, "\n".join(f"{name} {value}" for name, value in figures))
    failure = None
    if limits.too_many_errors(load):
        described = _describe_errors(load, limits)
        failure = JunitFailure("max-errors", described, "\n".join(_failures(load)))
    yield JunitCase("errors", failure, _summary(load))


def _sorted(load: Load) -> list[tuple[CallKind, LoadCalls]]:
    return sorted(load.calls.items(), key=lambda item: str(item[0]))


def _figures(kind: CallKind, calls: LoadCalls) -> dict[str, Any]:
    return {
        "method": kind.method,
        "tool": kind.tool,
        "n": calls.count,
        "errors": calls.errors,
        "cancelled": calls.cancelled,
        **{f"{name}_ms": _ms(us) for name, us in zip(_TIMES, _times(calls), strict=True)},
    }


def _times(calls: LoadCalls) -> Sequence[int | None]:
    """Return the `_TIMES`, in microseconds; None without latencies."""
    percentiles = (calls.percentile(share) for share in (0.5, 0.9, 0.99))
    return (*percentiles, calls.longest)


def _summary(load: Load) -> str:
    seconds = max(load.seconds, 1e-9)
    parts = [
        f"{many(load.sessions, 'session')} in {duration(_microseconds(load.seconds))}",
        f"{_rate(load.sessions / seconds)} sessions/s",
        f"{_rate(load.count / seconds)} calls/s",
        many(load.errors, "error"),
    ]
    if load.broken:
        parts.append(f"{many(load.broken, 'session')} did not go as recorded")
    return ", ".join(parts)


def _rate(a_second: float) -> str:
    return f"{a_second:,.0f}" if a_second >= 10 else f"{a_second:.1f}"


def _describe_slowness(p99: int, limit: LatencyLimit) -> str:
    return f"p99 is {duration(p99)}, more than --max-p99 {limit.text}"


def _describe_errors(load: Load, limits: LoadLimits) -> str:
    share = f"{limits.errors * 100:g}%"
    return f"{load.errors} of {load.count} calls failed, more than --max-errors {share}"


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _ms(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000
