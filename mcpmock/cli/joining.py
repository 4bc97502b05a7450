"""`mcpmock merge` and `convert`: cassettes joined into one, and to and from other tools' formats.

The work is done on bytes by `cassette.merge`, `convert.har` and `convert.foreign`; here are the
files in front of it and the words behind it. What is written is always a new file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import CassetteError

from .output import CASSETTE, common, emit, encodable, many, say

if TYPE_CHECKING:
    from mcpmock.cassette.merge import Merged

_OUT = click.option(
    "-o", "--output", required=True, metavar="OUT", type=CASSETTE, help="A new file."
)
_LONG = 32 << 20
"""Bytes from which on it is worth to show how far we are."""


@click.command()
@click.argument("files", metavar="FILE FILE...", nargs=-1, required=True, type=CASSETTE)
@_OUT
@common
def merge(files: tuple[Path, ...], output: Path, quiet: bool, verbose: bool, json: bool) -> int:  # noqa: ARG001
    """Join cassettes into one: all takes, in the order of the files.

    Takes get the form that `fmt --times keep` gives them. A damaged cassette is refused, and so is
    one that is named twice.
    """
    from mcpmock.cassette.file import rewrite
    from mcpmock.cassette.merge import merge as merged

    if len(files) < 2:
        raise click.UsageError("name two cassettes or more")
    _refuse_existing(output)
    _refuse_twice(files)
    done = merged(_read(files, quiet=quiet))
    rewrite(output, done.data)
    if json:
        counts = {"cassettes": len(files), "takes": done.takes, "events": done.events}
        more = {"sealed": done.sealed, "torn": len(done.torn)}
        emit({"type": "merged", "file": encodable(output), **counts, **more})
    if not quiet:
        _tell_merged(done, output, len(files))
    return 0


def _tell_merged(done: Merged, output: Path, cassettes: int) -> None:
    for file, damage in done.torn:
        say(f"{file}:{damage.line}: left out: {damage.reason}")
    size = f"{many(done.takes, 'take')}, {many(done.events, 'event')}"
    opened = done.takes - done.sealed
    rest = f"; {many(opened, 'take')} had no footer and got none" if opened else ""
    say(f"{output}: {size} of {many(cassettes, 'cassette')}{rest}")


def _refuse_existing(output: Path) -> None:
    if os.path.lexists(output):
        raise CassetteError(output, "exists", hint="name a file that does not")


def _refuse_twice(files: Sequence[Path]) -> None:
    """One file under two names too (a link)."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        try:
            found = file.stat()
        except OSError:
            continue  # reading it will say why
        before = seen.setdefault((found.st_dev, found.st_ino), file)
        if before is not file:
            raise CassetteError(file, f"is the same file as {before}", hint="name it once")


def _read(files: Sequence[Path], *, quiet: bool) -> Iterator[tuple[str, bytes]]:
    """The bytes of each, with a bar on a terminal where that takes long. Raises CassetteError for
    one that is damaged, and for more than a cassette may hold.
    """
    from mcpmock.cassette.file import MAX_BYTES, load, read_bytes

    size = sum(file.stat().st_size for file in files if file.exists())
    hidden = quiet or size < _LONG or not sys.stderr.isatty()
    total = 0
    with click.progressbar(files, label="reading", file=sys.stderr, hidden=hidden) as shown:
        for file in shown:
            load(file)  # refuses what is damaged
            data = read_bytes(file)
            total += len(data)
            if total > MAX_BYTES:
                raise CassetteError(file, f"makes it more than {MAX_BYTES >> 20} MiB")
            yield str(file), data


@click.command()
@click.argument("file", type=CASSETTE)
@_OUT
@click.option("--no-redact", is_flag=True, help="Keep the secrets of an imported recording.")
@common
def convert(
    file: Path,
    output: Path,
    no_redact: bool,
    quiet: bool,
    verbose: bool,  # noqa: ARG001
    json: bool,
) -> int:
    """Convert a cassette to HAR, or the recording of another tool to a cassette.

    What FILE is shows in it: a cassette becomes a HAR 1.2 file for the network panels of browsers,
    a recording of mcp-rec, mcpsnoop or mcp-cassette becomes a cassette. HAR knows HTTP alone: of a
    session over stdio each call becomes an entry, with a URL that is made up
    (`http://server.invalid/tools/call/NAME`).
    """
    from mcpmock.cassette.file import read_bytes
    from mcpmock.cassette.parser import HEADER_START

    _refuse_existing(output)
    data = read_bytes(file)
    if data.startswith(HEADER_START):
        if no_redact:
            raise click.UsageError("--no-redact: only for the recording of another tool")
        told, words = _export(file, output)
    else:
        told, words = _import(file, output, data, redact=not no_redact)
    if json:
        emit({"type": "converted", "file": encodable(output), **told})
    for line in () if quiet else words:
        say(f"{output}: {line}")
    return 0


_Done = tuple[dict[str, Any], list[str]]
"""What `--json` tells, and what is said."""


def _export(file: Path, output: Path) -> _Done:
    from mcpmock.cassette.file import load, rewrite
    from mcpmock.convert.har import har

    made = har(load(file))
    rewrite(output, made.data)
    words = [f"{_entries(made.entries)} in HAR 1.2"]
    if made.made_up:
        url = "http://server.invalid/..."
        words.append(f"{_entries(made.made_up)} for calls over stdio, with URLs made up: {url}")
    if made.left_out:
        words.append(f"left out {many(made.left_out, 'event')} outside of any exchange")
    counts = {"entries": made.entries, "made_up": made.made_up, "left_out": made.left_out}
    return {"format": "har", **counts}, words


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _import(file: Path, output: Path, data: bytes, *, redact: bool) -> _Done:
    from mcpmock.cassette.file import rewrite
    from mcpmock.convert.foreign import recognised
    from mcpmock.convert.foreign_import import imported

    runs = recognised(str(file), data)
    if runs is None:
        raise CassetteError(file, "is neither a cassette nor a recording of a tool known here")
    made = imported(runs, redact=redact)
    if not made.events:
        raise CassetteError(file, f"is a recording of {made.tool} that holds nothing")
    rewrite(output, made.data)
    size = f"{many(made.takes, 'take')}, {many(made.events, 'event')}"
    words = [f"{size} of {made.tool}, which does not record {', '.join(made.lacks)}"]
    if made.lost:
        words.append(f"{many(made.lost, 'event')} that {made.tool} says it lost are gaps")
    if made.left_out:
        words.append(f"left out {many(made.left_out, 'line')} without a message")
    counts = {"takes": made.takes, "events": made.events, "lost": made.lost}
    more = {"left_out": made.left_out, "lacks": made.lacks}
    return {"format": "cassette", "from": made.tool, **counts, **more}, words
