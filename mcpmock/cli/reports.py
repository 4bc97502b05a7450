"""The result of a command as one value, and its printers: text, JSON, Markdown, JUnit XML.

Names and texts may be recorded: what makes the lines of text passes them through `printable`;
JSON and JUnit do it here, and what XML forbids is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import click

from mcpmock.errors import CassetteError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import printable, printable_lines

from .options_files import Item, Result, highest
from .output import emit, print_lines, say

_NO_XML = lazy_pattern("[\ufffe\uffff]")


class JunitFailure(NamedTuple):
    """Why a case failed: a word to group by, a line, and lines of detail."""

    type: str
    message: str
    text: str = ""
    error: bool = False
    """Whether it could not be run, rather than failed."""


class JunitCase(NamedTuple):
    """One test; `output` is what else is known of it."""

    name: str
    failure: JunitFailure | None = None
    output: str = ""


class JunitSuite(NamedTuple):
    """Cases with the class name that they share."""

    name: str
    classname: str
    cases: Sequence[JunitCase]


@attrs.frozen(kw_only=True)
class Report:
    """What a command found, for each format. Give generators: only one format is made."""

    status: int = 0
    lines: Iterable[str] = ()
    """For a terminal, colored."""
    values: Iterable[dict[str, Any]] = ()
    """For `--json`."""
    markdown: Iterable[str] = ()
    suite: tuple[str, str] = ("", "")
    """In JUnit XML: its name, and the class name of its cases."""
    cases: Iterable[JunitCase] = ()
    hint: str = ""
    """What to do about it: said on stderr beside text."""


def print_report(
    report: Report,
    console: ConsoleOptions,
    form: str = "text",
    *,
    always: bool = False,
    paged: bool = False,
) -> int:
    """Print a report to stdout in this format, or as `--json` says, and return its status. With
    `-q`, text is printed only if the status is not 0, or `always`. `paged` shows a long text in the
    user's pager.
    """
    if console.json or form == "json":
        for value in report.values:
            emit(value)
    elif form == "junit":
        click.echo(junit_of(report))
    elif form == "markdown":
        click.echo("\n".join(report.markdown))
    elif report.status or always or not console.quiet:
        print_lines(report.lines, paged=paged)
        if report.hint and not console.quiet:
            say(report.hint)
    return report.status


def print_each(
    results: Iterable[tuple[Item, Callable[[], Result]]],
    report_of: Callable[[Item, Result], Report],
    console: ConsoleOptions,
) -> int:
    """Print the report of each file as soon as it is read, and return the highest status."""

    def print_one(item: Item, result_of: Callable[[], Result]) -> int:
        return print_report(report_of(item, result_of()), console)

    return highest(partial(print_one, item, result_of) for item, result_of in results)


def junit_of(report: Report) -> str:
    """Return the cases of a report as JUnit XML."""
    return junit_text([JunitSuite(*report.suite, list(report.cases))])


def junit_text(suites: Sequence[JunitSuite]) -> str:
    """Return suites as JUnit XML."""
    from xml.etree import ElementTree

    top = ElementTree.Element(
        "testsuites", _counts([case for suite in suites for case in suite.cases])
    )
    for suite in suites:
        about = {"name": _fit(printable(suite.name)), **_counts(suite.cases)}
        inner = ElementTree.SubElement(top, "testsuite", about)
        for case in suite.cases:
            about = {"classname": suite.classname, "name": _fit(printable(case.name))}
            element = ElementTree.SubElement(inner, "testcase", about)
            if case.failure is not None:
                kind, message, text, error = case.failure
                about = {"type": kind, "message": _fit(printable(message))}
                failure = ElementTree.SubElement(element, "error" if error else "failure", about)
                failure.text = _fit(printable_lines(text))
            if case.output:
                output = ElementTree.SubElement(element, "system-out")
                output.text = _fit(printable_lines(case.output))
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, "unicode")


def _counts(cases: Sequence[JunitCase]) -> dict[str, str]:
    failures = [case.failure.error for case in cases if case.failure is not None]
    numbers = {"tests": str(len(cases)), "failures": str(failures.count(False))}
    return {**numbers, "errors": str(failures.count(True))} if any(failures) else numbers


def write_report(path: Path, text: str | bytes) -> None:
    """Write a report for other programs: a file whole or not at all, a device as it is. Raises
    CassetteError, also if a recording is there.
    """
    refuse_cassettes(path)
    from mcpmock.cassette.file import replace_file, unusable

    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            replace_file(path.resolve(), data)
    except OSError as error:
        raise unusable(path, error) from error


def refuse_cassettes(*paths: Path | None) -> None:
    """Raise CassetteError if a report is to be written where a recording is, or can never be, and
    UsageError if two are to be written to one file.
    """
    from mcpmock.cassette.file import unusable

    given = [path for path in paths if path is not None]
    files = [path.resolve() for path in given if path.is_file() or not path.exists()]
    if len({*files}) < len(files):
        raise click.UsageError("each report needs a file of its own")
    for path in given:
        try:
            if not path.parent.is_dir():
                raise FileNotFoundError(path)
            if path.is_dir():
                raise IsADirectoryError(path)
            refuse_cassette(path, "report")
        except OSError as error:
            raise unusable(path, error) from error


def refuse_cassette(path: Path, what: str) -> None:
    """Raise CassetteError if a recording is where `what` is to be written; OSError if that cannot
    be known.
    """
    from mcpmock.cassette import HEADER_START

    if not path.is_file():
        return
    with path.open("rb") as file:
        found = file.read(len(HEADER_START))
    if found == HEADER_START or path.name.endswith(".jsonl.gz"):
        raise CassetteError(path, "is a cassette", hint=f"name another file for the {what}")


def _fit(text: str) -> str:
    """Drop the characters that XML 1.0 forbids and `printable` lets pass."""
    return _NO_XML.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)
