"""The rules about what may differ in a table of a file: `[match]` of a project file, `match` of a
header. Imported only where there is such a table: the converter takes 15 ms.
"""

from typing import Annotated, Any

import attrs

from mcpmock.options.converter import ParsedText, read_rule_lists

from .match_rule import MatchRule, MatchRules


@attrs.frozen
class _MatchTable:
    ignore: tuple[Annotated[MatchRule, ParsedText(MatchRule.parse_ignore)], ...] = ()
    like: tuple[Annotated[MatchRule, ParsedText(MatchRule.parse_like)], ...] = ()
    echo: tuple[Annotated[MatchRule, ParsedText(MatchRule.parse)], ...] = ()

    def rules(self) -> MatchRules:
        return MatchRules((*self.ignore, *self.like, *self.echo), self.echo)


def read_rules(table: Any) -> tuple[MatchRules, list[str]]:
    """Return the rules in a table, `{"ignore": [...], "like": [...], "echo": [...]}`, and its
    mistakes, each behind its path (`.like[1]: ...`).
    """
    found, mistakes = read_rule_lists(table, _MatchTable)
    return sum(map(_MatchTable.rules, found), MatchRules()), mistakes
