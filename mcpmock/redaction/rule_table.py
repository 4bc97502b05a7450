"""The rules about what is secret in the table `[redact]` of a project file. Imported only where
there is one: the converter takes 15 ms.
"""

from typing import Annotated, Any

import attrs

from mcpmock.options.converter import ParsedText, read_rule_lists
from mcpmock.options.redaction import PlaceholderNumbers

from .redaction_rules import NO_OWN_RULES, RedactionRules


def _one(name: str) -> ParsedText:
    """Return how a text of a list is read: as rules with this one alone."""
    return ParsedText(lambda text: RedactionRules.parse(**{name: [text]}))


@attrs.frozen
class _RedactionTable:
    key: tuple[Annotated[RedactionRules, _one("key")], ...] = ()
    value: tuple[Annotated[RedactionRules, _one("value")], ...] = ()
    path: tuple[Annotated[RedactionRules, _one("path")], ...] = ()
    keep: tuple[Annotated[RedactionRules, _one("keep")], ...] = ()
    as_: PlaceholderNumbers | None = None

    def rules(self) -> RedactionRules:
        return sum((*self.key, *self.value, *self.path, *self.keep), NO_OWN_RULES)


def read_redaction_rules(table: Any) -> tuple[RedactionRules, list[str]]:
    """Return the rules in a table, `{"key": [...], "value": [...], ...}`, without the key of its
    hashes, and its mistakes, each behind its path (`.value[1]: ...`).
    """
    found, mistakes = read_rule_lists(table, _RedactionTable)
    return sum(map(_RedactionTable.rules, found), NO_OWN_RULES), mistakes
