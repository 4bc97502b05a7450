"""`mcpmock fmt`: cassettes in canonical form (`cassette.canonical`), in place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options_files import FILES, highest
from .output import common, counts, many, report, say

if TYPE_CHECKING:
    from mcpmock.cassette.canonical import Canonical, Times


@click.command()
@FILES
@click.option(
    "--times",
    type=click.Choice(["drop", "round", "keep"]),
    default="drop",
    show_default=True,
    help="Drop the times of events, round them to 10 ms, or keep them.",
)
@common
def fmt(files: tuple[Path, ...], times: Times, quiet: bool, json: bool, **_verbose: Any) -> int:
    """Rewrite cassettes in canonical form, in place.

    Two recordings of an unchanged server have the same canonical form, so a diff shows only real
    changes. Events are renumbered and keep their order, consecutive pieces of stderr are joined,
    and takes that had a footer get a new one. A damaged cassette is refused.
    """
    return highest(partial(_fmt, path, times, quiet=quiet, json=json) for path in _joined(files))


def _joined(files: Iterable[Path]) -> list[Path]:
    """The files that are left once siblings are joined into the cassettes that they belong to."""
    from mcpmock.cassette.file import join_siblings

    there = {path: path.exists() for path in files}
    for path in files:
        try:
            join_siblings(path)
        except OSError as error:
            say(f"{path}: its siblings are not joined: {error}")
    return [path for path in files if path.exists() or not there[path]]


def _fmt(path: Path, times: Times, *, quiet: bool, json: bool) -> int:
    from mcpmock.cassette.canonical import canonical
    from mcpmock.cassette.file import load_alone, read_bytes, rewrite

    load_alone(path)  # refuses a damaged cassette
    data = read_bytes(path)
    formed = canonical(data, times)
    changed = formed.data != data
    if changed:
        rewrite(path, formed.data, was=data)
    members = counts(formed, "takes", "events", "joined", "torn", "sealed")
    line = f"{path}: {_changes(formed) if changed else 'is in canonical form'}"
    return report(
        "formatted", path, {"changed": changed, **members}, [line], json=json, quiet=quiet
    )


def _changes(formed: Canonical) -> str:
    parts = [f"formatted {many(formed.takes, 'take')}, {many(formed.events, 'event')}"]
    if formed.joined:
        parts.append(f"joined {many(formed.joined, 'piece')} of stderr")
    if formed.torn:
        parts.append(f"left out {many(len(formed.torn), 'torn line')}")
    if formed.sealed:
        parts.append(f"sealed {many(formed.sealed, 'take')}")
    return "; ".join(parts)
