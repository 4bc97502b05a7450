"""`mcpmock review`: the recordings of failed tests, accepted into their cassettes or rejected."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.review import ReviewOptions
from mcpmock.printable import many, printable

from .option_table import options
from .output import FILE_NAME, emit, encodable, is_terminal, print_lines, say

if TYPE_CHECKING:
    from mcpmock.batch.review import PendingTest
    from mcpmock.semantic_diff.compare import Diff

_NO_TEST = "(no test)"
_ASK = "a accept, r reject, s skip, q quit"


@click.command(short_help="Accept or reject what failed tests have recorded.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=FILE_NAME)
@options(reviewing=ReviewOptions)
def review(paths: tuple[str, ...], reviewing: ReviewOptions, console: ConsoleOptions) -> int:
    """Go through the recordings of failed tests, test by test.

    A test that fails while it records leaves its cassette as it was, and its recording beside it as
    NAME.rej.jsonl. PATH is such a file, a cassette, or a folder with either; the current folder,
    unless given. Each test is shown with what `mcpmock diff` says of it. Accepted, its recording
    takes the place of what the cassette has of this test; rejected, it is dropped.

    Exit status: 0 if nothing is pending at the end, else 1; 2 if there is no terminal to ask on.
    """
    from mcpmock.batch.review import find_pending

    if reviewing.accept + reviewing.reject + reviewing.only_list > 1:
        raise click.UsageError("--accept, --reject and --list are mutually exclusive")
    places = [Path(path) for path in paths or (".",)]
    pending = list(find_pending(places, reviewing.test))
    decided = reviewing.accept or reviewing.reject
    if not pending and reviewing.test is not None and (others := list(find_pending(places, None))):
        tests = ", ".join(dict.fromkeys(one.test or _NO_TEST for one in others))
        say(f"--test {reviewing.test} fits none of the pending tests: {tests}")
        return 0
    if not pending:
        if not console.json and not console.quiet:
            say("no recordings of failed tests here")
        return 0
    asks = not (decided or reviewing.only_list)
    terminal = is_terminal(sys.stdin) and is_terminal(sys.stderr) and not console.json
    if reviewing.only_list or (asks and not terminal):
        for one in pending:
            _show(one, console, whole=False)
        if asks:
            say("no terminal to ask on: --accept, --reject or --list")
        return 2 if asks else 1
    left = 0
    for number, one in enumerate(pending):
        if decided:
            answer = "a" if reviewing.accept else "r"
            _decide(one, answer, console)
            continue
        _show(one, console, whole=True)
        answer = click.prompt(_ASK, type=click.Choice("arsq"), show_choices=False, err=True)
        if answer == "q":
            left += len(pending) - number
            break
        if answer == "s":
            left += 1
        else:
            _decide(one, answer, console)
    return int(bool(left))


def _decide(one: PendingTest, answer: str, console: ConsoleOptions) -> None:
    if answer == "a":
        one.accept()
    else:
        one.reject()
    word = "accepted" if answer == "a" else "rejected"
    if console.json:
        emit({"type": word, "file": encodable(one.file), "cassette": encodable(one.cassette),
              "test": one.test})  # fmt: skip
    elif not console.quiet:
        say(f"{word}: {one.test or _NO_TEST} ({os.path.relpath(one.cassette)})")


def _show(one: PendingTest, console: ConsoleOptions, *, whole: bool) -> None:
    """Print what a test has recorded; the `whole` differences, or their worst."""
    found = one.diff()
    worst = None if found is None else found.worst
    verdict = "new" if found is None else "same" if worst is None else worst.word
    if console.json:
        emit({"type": "pending", "file": encodable(one.file), "cassette": encodable(one.cassette),
              "test": one.test, "verdict": verdict})  # fmt: skip
        return
    print_lines(_lines(one, found, verdict, console, whole=whole), paged=False)


def _lines(
    one: PendingTest, found: Diff | None, verdict: str, console: ConsoleOptions, *, whole: bool
) -> Iterator[str]:
    where = printable(os.path.relpath(one.cassette))
    yield f"{printable(one.test or _NO_TEST)}: {verdict}, {where}"
    if found is None:
        from mcpmock.semantic_diff.trajectory import USUAL_METHODS, recorded_calls

        calls = recorded_calls(one.takes(), USUAL_METHODS)
        yield f"  {many(len(calls), 'call')} that the cassette has nothing of"
    elif whole:
        from .diff_output import diff_lines

        yield from diff_lines(found, verbose=console.verbose)
