"""The rules about what may differ that stand beside a cassette: in the project file, in the table
`[match]`, and in the headers of its takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcpmock.cassette.model import Cassette
from mcpmock.options.project_file import ProjectFileError, find_project_file

if TYPE_CHECKING:
    from mcpmock.matching.match_rule import MatchRules

TABLE = "match"


def rules_beside(*cassettes: Cassette, no_rules: bool = False) -> MatchRules | None:
    """Return the rules of the headers of these cassettes, and of the project file above the first;
    None if there are none, and with `no_rules`. Raises ProjectFileError. A bad rule of a header is
    left out: the notices of the cassette name it.
    """
    if no_rules:
        return None
    place = Path(cassettes[0].name) if cassettes else Path("-")
    file = None
    if place.exists():
        file = find_project_file(place if place.is_dir() else place.parent)
    table = None if file is None else file.tables.get(TABLE)
    takes = (take for cassette in cassettes for take in cassette.takes)
    headers = [take.header.match for take in takes if take.header.match is not None]
    if table is None and not headers:
        return None

    from mcpmock.matching.match_rule import MatchRules, read_rules  # most recordings have none

    rules = MatchRules()
    if file is not None and table is not None:
        rules, mistakes = read_rules(table)
        if mistakes:
            raise ProjectFileError(file.path, [f"{TABLE}{mistake}" for mistake in mistakes])
    for header in headers:
        rules += read_rules(header)[0]
    return rules
