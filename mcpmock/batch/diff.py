"""Recordings compared under the rules beside them too; two folders of them, file by file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from posixpath import relpath

import attrs

from mcpmock.cassette.file import named_notices, siblings_of_each
from mcpmock.cassette.model import Cassette, Notice
from mcpmock.semantic_diff.compare import Diff, Difference, IgnoreRules, Progress, compare
from mcpmock.semantic_diff.severity import RULES
from mcpmock.view.latency_changes import with_slower_calls

from .file_lists import expand
from .match_rules import rules_beside
from .sources import is_url, load_source


@attrs.frozen
class FilePair:
    """The files of one name in two folders: where they are, or would be."""

    name: str
    """Below the folders, without `.gz`."""
    old: Path | str
    new: Path | str
    in_old: bool
    in_new: bool

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class ComparedPair:
    """What differs between two files, and what their reader should know."""

    diff: Diff
    notices: Sequence[Notice]


def is_folder(name: str) -> bool:
    """Return whether a name is that of a folder; of URLs, those that end in a slash are."""
    return name.endswith("/") if is_url(name) else Path(name).is_dir()


def pair_folders(old: str, new: str) -> list[FilePair]:
    """Return the cassettes below two folders, by their names. Raises CassetteError for a folder
    that has none.
    """
    before, after = _files_in(old), _files_in(new)
    return [
        FilePair(
            name,
            before.get(name) or _beside(old, name),
            after.get(name) or _beside(new, name),
            in_old=name in before,
            in_new=name in after,
        )
        for name in sorted({*before, *after})
    ]


def compare_pair(
    pair: FilePair, rules: IgnoreRules, *, no_rules: bool = False, slower: float | None = None
) -> ComparedPair:
    """Compare the files of a pair, under the rules beside them too unless `no_rules`. One that is
    missing is a difference, and so is a call that takes `slower` times as long. Raises
    CassetteError and ProjectFileError.
    """
    if not (pair.in_old and pair.in_new):
        return ComparedPair(_one_missing(pair), ())
    old, new = load_source(pair.old), load_source(pair.new)
    found = compare_cassettes(old, new, rules, no_rules=no_rules, slower=slower)
    return ComparedPair(found, [*named_notices(old), *named_notices(new)])


def compare_cassettes(
    old: Cassette,
    new: Cassette,
    rules: IgnoreRules,
    *,
    no_rules: bool = False,
    slower: float | None = None,
    progress: Progress | None = None,
) -> Diff:
    """Compare two recordings, as `compare_pair` does. Raises ProjectFileError."""
    rules = rules.with_rules(rules_beside(old, new, no_rules=no_rules))
    found = compare(old, new, rules, progress)
    return found if slower is None else with_slower_calls(found, old, new, slower)


def _files_in(folder: str) -> dict[str, Path | str]:
    files = expand([folder])
    siblings = siblings_of_each(file for file in files if isinstance(file, Path))
    read_with_another = {sibling for those in siblings.values() for sibling in those}
    return {
        relpath(str(file), folder).removesuffix(".gz"): file
        for file in files
        if file not in read_with_another
    }


def _beside(folder: str, name: str) -> Path | str:
    return f"{folder}{name}" if is_url(folder) else Path(folder) / name


def _one_missing(pair: FilePair) -> Diff:
    rule = RULES["recording-missing" if pair.in_old else "recording-added"]
    difference = Difference(
        rule=rule,
        method=pair.name,
        call=None,
        path="$",
        old=None,
        new=None,
        old_event=None,
        new_event=None,
        ignore="",
    )
    return Diff(
        old=str(pair.old),
        new=str(pair.new),
        differences=(difference,),
        counts={rule.verdict: 1},
        calls={},
        ignored=0,
    )
