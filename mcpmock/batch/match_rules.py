"""The rules about what may differ that stand beside a cassette: in the project file, in the table
`[match]`, and in the headers of its takes.
"""

from __future__ import annotations

from pathlib import Path

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import MatchRules, read_rules
from mcpmock.options.project_file import ProjectFileError, find_project_file

TABLE = "match"


def rules_beside(*cassettes: Cassette, no_rules: bool = False) -> MatchRules:
    """Return the rules of the headers of these cassettes, and of the project file above the first;
    none with `no_rules`. Raises ProjectFileError. A bad rule of a header is left out: the notices
    of the cassette name it.
    """
    rules = MatchRules()
    if no_rules:
        return rules
    place = Path(cassettes[0].name) if cassettes else Path("-")
    if place.exists():
        rules += rules_of_project(place if place.is_dir() else place.parent)
    for take in (take for cassette in cassettes for take in cassette.takes):
        if take.header.match is not None:
            rules += read_rules(take.header.match)[0]
    return rules


def rules_of_project(folder: Path) -> MatchRules:
    """Return the rules of the project file in or above a folder. Raises ProjectFileError."""
    file = find_project_file(folder)
    if file is None or TABLE not in file.tables:
        return MatchRules()
    rules, mistakes = read_rules(file.tables[TABLE])
    if mistakes:
        raise ProjectFileError(file.path, [f"{TABLE}{mistake}" for mistake in mistakes])
    return rules
