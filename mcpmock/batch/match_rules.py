"""The rules about what may differ that stand beside a cassette: in the project file, in the table
`[match]`, and in the headers of its takes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from mcpmock.cassette.model import Cassette
from mcpmock.options.project_file import (
    MATCH_TABLE,
    REDACTION_TABLE,
    ProjectFile,
    ProjectFileError,
    find_project_file,
)

if TYPE_CHECKING:
    from mcpmock.matching.match_rule import MatchRules
    from mcpmock.playback.session_selection import PlayerOptions


def with_rules_beside(options: PlayerOptions, cassette: Cassette) -> PlayerOptions:
    """Return how a cassette is played by all that stands beside it: the rules about what may
    differ, the redaction rules, for what is printed of a miss, and the key of its placeholders if
    they are hashes. Raises ProjectFileError.
    """
    options = options.with_rules(rules_beside(cassette, no_rules=options.no_rules))
    redactions = [take.header.redaction for take in cassette.takes]
    own = any(isinstance(one, dict) and "own" in one for one in redactions)
    file = _project_file(cassette)
    if not own and (file is None or REDACTION_TABLE not in file.tables):
        return options

    from mcpmock.redaction.redaction_rules import HASH_KEY_VARIABLE, NO_OWN_RULES, is_hashed

    from .redaction_rules import redaction_rules_beside

    key = os.environ.get(HASH_KEY_VARIABLE)
    hashed = bool(key) and any(map(is_hashed, redactions))
    return structs.replace(
        options,
        redaction=redaction_rules_beside(cassette) + (options.redaction or NO_OWN_RULES),
        hash_of=NO_OWN_RULES.with_hashes(key).number_for if hashed else None,
    )


def _project_file(cassette: Cassette) -> ProjectFile | None:
    place = Path(cassette.name)
    if not place.exists():
        return None
    return find_project_file(place if place.is_dir() else place.parent)


def rules_beside(*cassettes: Cassette, no_rules: bool = False) -> MatchRules | None:
    """Return the rules of the headers of these cassettes, and of the project file above the first;
    None if there are none, and with `no_rules`. Raises ProjectFileError. A bad rule of a header is
    left out: the notices of the cassette name it.
    """
    if no_rules:
        return None
    file = _project_file(cassettes[0]) if cassettes else None
    table = None if file is None else file.tables.get(MATCH_TABLE)
    takes = (take for cassette in cassettes for take in cassette.takes)
    headers = [take.header.match for take in takes if take.header.match is not None]
    if table is None and not headers:
        return None

    from mcpmock.matching.match_rule import MatchRules  # most recordings have none
    from mcpmock.matching.rule_table import read_rules

    rules = MatchRules()
    if file is not None and table is not None:
        rules, mistakes = read_rules(table)
        if mistakes:
            raise ProjectFileError(file.path, [f"{MATCH_TABLE}{mistake}" for mistake in mistakes])
    for header in headers:
        rules += read_rules(header)[0]
    return rules
