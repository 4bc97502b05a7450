"""`mcpmock check`, `fmt` and `recover`: is a cassette whole, put it in form, save a damaged one.

The work is done by `cassette.integrity` and `cassette.canonical` on bytes; here is the file in
front of it and the words behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CassetteError

from .terminal import CASSETTE, common, emit, printable, say
from .terminal import encodable as _encodable
from .terminal import many as _many

if TYPE_CHECKING:
    from mcpmock.cassette.canonical import Canonical, Recovery, Times
    from mcpmock.cassette.integrity import Inspection

_FILES = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=CASSETTE)
_BAD = CassetteError.exit_code


@click.command()
@_FILES
@common
def check(files: tuple[Path, ...], quiet: bool, verbose: bool, json: bool) -> int:  # noqa: ARG001
    """Tell whether cassettes are whole and as they were recorded.

    One line for each finding, one for each file. Exit status: 0 if there are only notices, 1 on an
    error, 3 if a file cannot be read or is no cassette.
    """
    return _each(files, lambda path: _check(path, quiet=quiet, json=json))


@click.command()
@_FILES
@click.option(
    "--times",
    type=click.Choice(["drop", "round", "keep"]),
    default="drop",
    show_default=True,
    help="What becomes of the times; `round` is to 10 ms.",
)
@common
def fmt(
    files: tuple[Path, ...],
    times: Times,
    quiet: bool,
    verbose: bool,  # noqa: ARG001
    json: bool,
) -> int:
    """Put cassettes in canonical form, in place.

    Recording an unchanged server again and formatting gives the same file, so a diff shows what has
    changed. Events are numbered anew and keep their order, neighbouring pieces of standard error
    are joined, and takes that had a footer are sealed again. A damaged cassette is refused.
    """
    return _each(files, lambda path: _fmt(path, times, quiet=quiet, json=json))


@click.command()
@click.argument("file", type=CASSETTE)
@click.option("-o", "--output", required=True, metavar="OUT", type=CASSETTE, help="A new file.")
@common
def recover(file: Path, output: Path, quiet: bool, verbose: bool, json: bool) -> int:  # noqa: ARG001
    """Save what can be saved of a damaged cassette to a new file.

    Good lines are kept as they are. The damaged file is left alone.
    """
    from mcpmock.cassette.canonical import recover as recovered
    from mcpmock.cassette.file import read_bytes, rewrite

    if os.path.lexists(output):
        raise CassetteError(output, "exists", hint="name a file that does not")
    recovery = recovered(read_bytes(file))
    if not recovery.takes:
        raise CassetteError(file, "holds nothing that could be saved")
    rewrite(output, recovery.data)
    if json:
        emit({"type": "recovered", "file": _encodable(file), **_counts(recovery)})
    if not quiet:
        for line in _recovery_words(recovery, file, output):
            say(line)
    return 0


def _each(files: Iterable[Path], work: Callable[[Path], int]) -> int:
    """The worst status of all files; one that cannot be read does not stop the others."""
    worst = 0
    for path in files:
        try:
            worst = max(worst, work(path))
        except CassetteError as error:
            say(str(error))
            worst = _BAD
    return worst


def _check(path: Path, *, quiet: bool, json: bool) -> int:
    from mcpmock.cassette.file import read_bytes
    from mcpmock.cassette.integrity import Level, inspect
    from mcpmock.cassette.read import HEADER_START, refusal

    data = read_bytes(path)
    first = data.partition(b"\n")[0]
    reason = refusal(first)
    if reason is not None and not first.startswith(HEADER_START):
        raise CassetteError(path, reason)
    inspection = inspect(data)
    status = int(inspection.count(Level.ERROR) > 0)
    if json:
        _emit_inspection(path, inspection)
    elif status or not quiet:
        _tell_inspection(path, inspection)
    return status


def _tell_inspection(path: Path, inspection: Inspection) -> None:
    from mcpmock.cassette.integrity import Level
    from mcpmock.cassette.summary import brief

    colors = {Level.ERROR: "red", Level.NOTICE: "yellow"}
    name = printable(str(path))
    for finding in inspection.findings:
        level = click.style(finding.level.value, fg=colors[finding.level])
        click.echo(f"{name}:{finding.line}: {level}: {printable(brief(finding.text))}")
    verdict = ", ".join(
        _many(count, level.value) for level in Level if (count := inspection.count(level))
    )
    size = f"{_many(inspection.takes, 'take')}, {_many(inspection.events, 'event')}"
    click.echo(f"{name}: {size}: {verdict if inspection.count(Level.ERROR) else _ok(verdict)}")


def _ok(notices: str) -> str:
    return f"ok, {notices}" if notices else "ok"


def _emit_inspection(path: Path, inspection: Inspection) -> None:
    from mcpmock.cassette.integrity import Level

    file = _encodable(path)
    for found in inspection.findings:
        where = {"type": "finding", "file": file, "line": found.line}
        emit({**where, "level": found.level.value, "text": found.text})
    counts = {f"{level.value}s": inspection.count(level) for level in Level}
    size = {"takes": inspection.takes, "events": inspection.events}
    emit({"type": "check", "file": file, **size, **counts})


def _fmt(path: Path, times: Times, *, quiet: bool, json: bool) -> int:
    from mcpmock.cassette.canonical import canonical
    from mcpmock.cassette.file import load, read_bytes, rewrite

    load(path)  # refuses what is damaged
    data = read_bytes(path)
    formed = canonical(data, times)
    changed = formed.data != data
    if changed:
        rewrite(path, formed.data, was=data)
    if json:
        emit({"type": "formatted", "file": _encodable(path), "changed": changed, **_counts(formed)})
    if not quiet:
        say(f"{path}: {_formed_words(formed) if changed else 'is in canonical form'}")
    return 0


def _formed_words(formed: Canonical) -> str:
    words = [f"formatted {_many(formed.takes, 'take')}, {_many(formed.events, 'event')}"]
    if formed.joined:
        words.append(f"joined {_many(formed.joined, 'piece')} of stderr")
    if formed.torn:
        words.append(f"left out {_many(len(formed.torn), 'torn line')}")
    if formed.sealed:
        words.append(f"sealed {_many(formed.sealed, 'take')}")
    return "; ".join(words)


def _recovery_words(recovery: Recovery, file: Path, output: Path) -> list[str]:
    lost = [f"{file}:{damage.line}: lost: {damage.reason}" for damage in recovery.lost]
    words = [f"saved {_many(recovery.events, 'event')} in {_many(recovery.takes, 'take')}"]
    if recovery.headers:
        words.append(f"{_many(recovery.headers, 'header')} lost and replaced")
    if recovery.footers:
        words.append(f"{_many(recovery.footers, 'footer')} left out that no longer fit")
    if recovery.renumbered:
        words.append(f"{_many(recovery.renumbered, 'take')} numbered anew")
    return [*lost, f"{output}: {'; '.join(words)}"]


def _counts(done: Canonical | Recovery) -> dict[str, int]:
    """The numbers in it; of lists their length."""
    import attrs

    values = attrs.asdict(done, recurse=False)
    del values["data"]
    return {name: v if isinstance(v, int) else len(v) for name, v in values.items()}
