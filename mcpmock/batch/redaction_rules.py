"""The redaction rules of a command: its options, the table `[redact]` of the project file beside a
cassette, and what the headers of its takes say.
"""

from __future__ import annotations

import os
from pathlib import Path

from mcpmock.cassette.model import Cassette
from mcpmock.options.project_file import REDACTION_TABLE, ProjectFileError, find_project_file
from mcpmock.options.redaction import RedactionOptions
from mcpmock.redaction.redaction_rules import (
    HASH_KEY_VARIABLE,
    NO_OWN_RULES,
    RedactionRuleError,
    RedactionRules,
    rules_of_header,
)


def redaction_rules_beside(cassette: Cassette) -> RedactionRules:
    """Return the rules that hold for a cassette: of its headers, and of the project file above it;
    with placeholders that are numbered. Raises ProjectFileError.
    """
    place = Path(cassette.name)
    numbered = RedactionOptions(redact_as="number")
    return redaction_rules_of(numbered, place if place.exists() else None, cassette)


def redaction_rules_of(
    options: RedactionOptions, place: Path | None = None, *cassettes: Cassette
) -> RedactionRules:
    """Return the rules of these options, of the project file above `place` (a cassette or a
    folder), and of the headers of these cassettes. Raises RedactionRuleError for a rule that is
    none and for hashes without a key, ProjectFileError.
    """
    rules = NO_OWN_RULES
    if options.given:
        try:
            rules = RedactionRules.parse(
                options.redact_key, options.redact_value, options.redact_path, options.keep_key
            )
        except ValueError as error:
            raise RedactionRuleError(str(error)) from error
    numbers = options.redact_as
    file = None
    if place is not None:
        file = find_project_file(place if place.is_dir() else place.parent)
    if file is not None and (table := file.tables.get(REDACTION_TABLE)) is not None:
        from mcpmock.redaction.rule_table import read_redaction_rules  # most projects have none

        beside, mistakes = read_redaction_rules(table)
        if mistakes:
            raise ProjectFileError(
                file.path, [f"{REDACTION_TABLE}{mistake}" for mistake in mistakes]
            )
        rules += beside
        numbers = numbers or table.get("as")
    for cassette in cassettes:
        for take in cassette.takes:
            rules += rules_of_header(take.header.redaction)
    return rules.with_hashes(os.environ.get(HASH_KEY_VARIABLE)) if numbers == "hash" else rules
