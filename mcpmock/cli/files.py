"""`mcpmock fmt` and `recover`: put a cassette in form, save a damaged one; and what commands over
many cassettes share.

The work is done by `cassette.canonical` on bytes; here is the file in front of it and the words
behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CassetteError

from .output import CASSETTE, common, emit, encodable, many, say

if TYPE_CHECKING:
    from mcpmock.cassette.canonical import Canonical, Recovery, Times

FILES = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=CASSETTE)
_BAD = CassetteError.exit_code


@click.command()
@FILES
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
    return each(files, lambda path: _fmt(path, times, quiet=quiet, json=json))


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
        emit({"type": "recovered", "file": encodable(file), **_counts(recovery)})
    if not quiet:
        for line in _recovery_words(recovery, file, output):
            say(line)
    return 0


def each(files: Iterable[Path], work: Callable[[Path], int]) -> int:
    """The worst status of all files; one that cannot be read does not stop the others."""
    worst = 0
    for path in files:
        try:
            worst = max(worst, work(path))
        except CassetteError as error:
            say(str(error))
            worst = _BAD
    return worst


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
        emit({"type": "formatted", "file": encodable(path), "changed": changed, **_counts(formed)})
    if not quiet:
        say(f"{path}: {_formed_words(formed) if changed else 'is in canonical form'}")
    return 0


def _formed_words(formed: Canonical) -> str:
    words = [f"formatted {many(formed.takes, 'take')}, {many(formed.events, 'event')}"]
    if formed.joined:
        words.append(f"joined {many(formed.joined, 'piece')} of stderr")
    if formed.torn:
        words.append(f"left out {many(len(formed.torn), 'torn line')}")
    if formed.sealed:
        words.append(f"sealed {many(formed.sealed, 'take')}")
    return "; ".join(words)


def _recovery_words(recovery: Recovery, file: Path, output: Path) -> list[str]:
    lost = [f"{file}:{damage.line}: lost: {damage.reason}" for damage in recovery.lost]
    words = [f"saved {many(recovery.events, 'event')} in {many(recovery.takes, 'take')}"]
    if recovery.headers:
        words.append(f"{many(recovery.headers, 'header')} lost and replaced")
    if recovery.footers:
        words.append(f"{many(recovery.footers, 'footer')} left out that no longer fit")
    if recovery.renumbered:
        words.append(f"{many(recovery.renumbered, 'take')} numbered anew")
    return [*lost, f"{output}: {'; '.join(words)}"]


def _counts(done: Canonical | Recovery) -> dict[str, int]:
    """The numbers in it; of lists their length."""
    import attrs

    values = attrs.asdict(done, recurse=False)
    del values["data"]
    return {name: v if isinstance(v, int) else len(v) for name, v in values.items()}
