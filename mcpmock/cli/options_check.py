"""What `mcpmock check` is to do, as its options say it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from mcpmock.printable import printable

from .output import Duration

if TYPE_CHECKING:
    from mcpmock.batch.check import FileCheck
    from mcpmock.options.comparison import CheckOptions
    from mcpmock.rules.allowances import Allowance
    from mcpmock.rules.call_assertions import DurationLimit

_Value = TypeVar("_Value")


def plan_of(options: CheckOptions) -> FileCheck:
    """Return what is done with each file. Raises BadParameter, BaselineError, CassetteError."""
    from mcpmock.batch.check import FileCheck
    from mcpmock.rules.call_assertions import CallAssertions

    allowances = [_read("--allow", _allowance, text) for text in options.allow]
    if options.baseline is not None:
        allowances += _read_baseline(options.baseline)
    limits = tuple(_read("--max-duration", _duration_limit, text) for text in options.max_duration)
    return FileCheck(
        options.only,
        tuple(dict.fromkeys(allowances)),
        CallAssertions(
            tuple(dict.fromkeys(options.expect_tool)),
            tuple(dict.fromkeys(options.forbid_tool)),
            tuple(dict.fromkeys(limits)),
        ),
    )


def time_of_calls(text: str, words: tuple[str, ...]) -> tuple[dict[str, str], float]:
    """Read `[WORD=GLOB,]TIME`: the glob by its word, and the seconds. Raises ValueError."""
    calls, comma, time = text.rpartition(",")
    name, equals, glob = calls.partition("=")
    if comma and not (name in words and equals and glob):
        raise ValueError(f"{text!r}: expected, for example, 200ms or tool=weather,200ms")
    try:
        seconds = Duration().convert(time.strip(), None, None)
    except click.BadParameter as error:
        raise ValueError(error.message) from error
    return ({name: glob} if comma else {}), seconds


def _read(option: str, parse: Callable[[str], _Value], text: str) -> _Value:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(printable(str(error)), param_hint=option) from error


def _allowance(text: str) -> Allowance:
    from mcpmock.rules.allowances import Allowance

    return Allowance.parse(text)


def _read_baseline(path: Path) -> list[Allowance]:
    from mcpmock.cassette.file import unusable
    from mcpmock.rules.allowances import read_baseline

    try:
        data = path.read_bytes()
    except OSError as error:
        raise unusable(path, error, written=False) from error
    return read_baseline(str(path), data)


def _duration_limit(text: str) -> DurationLimit:
    from mcpmock.rules.call_assertions import DurationLimit

    glob, seconds = time_of_calls(text, ("tool",))
    return DurationLimit(text, seconds, **glob)
