"""`mcpmock fmt`: cassettes in canonical form (`cassette.canonical`), in place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.files import FormatOptions
from mcpmock.printable import many, printable

from .option_table import options
from .options_files import MANY_FILES, highest, named_files
from .output import counts, report, say

if TYPE_CHECKING:
    from mcpmock.cassette.canonical import Canonical


@click.command()
@MANY_FILES
@options(form=FormatOptions)
def fmt(files: tuple[str, ...], form: FormatOptions, console: ConsoleOptions) -> int:
    """Rewrite cassettes in canonical form, in place.

    Two recordings of an unchanged server have the same canonical form, so a diff shows only real
    changes. FILE may be a folder or a pattern. Events are renumbered and keep their order, times
    and stderr are dropped, and takes that had a footer get a new one. A damaged cassette is
    refused. Rules that are added hold whenever the file is replayed, verified or compared.
    """
    from mcpmock.matching.match_rule import MatchRules

    rules = {"ignore": form.ignore, "like": form.like, "echo": form.echo}
    if form.no_rules and any(rules.values()):
        raise click.UsageError("--no-rules and rules to add are mutually exclusive")
    try:
        MatchRules.parse(**rules)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from error
    return highest(
        partial(_fmt, path, form, rules, console) for path in _joined(named_files(files))
    )


def _joined(files: Iterable[Path]) -> list[Path]:
    """Return the files that are left once siblings are joined into their cassettes."""
    from mcpmock.cassette.file import join_siblings

    there = {path: path.exists() for path in files}
    for path in files:
        try:
            join_siblings(path)
        except OSError as error:
            say(f"{path}: its siblings are not joined: {error}")
    return [path for path in files if path.exists() or not there[path]]


def _fmt(
    path: Path, form: FormatOptions, rules: Mapping[str, Sequence[str]], console: ConsoleOptions
) -> int:
    from mcpmock.cassette.canonical import canonical
    from mcpmock.cassette.file import load_alone, read_bytes, rewrite
    from mcpmock.cassette.project_folder import project_root

    load_alone(path)  # refuses a damaged cassette
    data = read_bytes(path)
    root = project_root(Path(os.path.abspath(path)).parent, Path.home())
    formed = canonical(
        data,
        form.times,
        rules,
        stderr=form.stderr,
        no_rules=form.no_rules,
        root=f"{root}{os.sep}",
    )
    changed = formed.data != data
    if changed:
        rewrite(path, formed.data, was=data)
    members = counts(formed, "takes", "events", "joined", "unlogged", "torn", "sealed")
    line = f"{path}: {_changes(formed) if changed else 'is in canonical form'}"
    return report("formatted", path, {"changed": changed, **members}, [line], console)


def _changes(formed: Canonical) -> str:
    parts = [f"formatted {many(formed.takes, 'take')}, {many(formed.events, 'event')}"]
    if formed.joined:
        parts.append(f"joined {many(formed.joined, 'piece')} of stderr")
    if formed.unlogged:
        parts.append(f"left out {many(formed.unlogged, 'piece')} of stderr")
    if formed.torn:
        parts.append(f"left out {many(len(formed.torn), 'torn line')}")
    if formed.sealed:
        parts.append(f"sealed {many(formed.sealed, 'take')}")
    return "; ".join(parts)
