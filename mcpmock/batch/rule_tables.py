"""The tables of rules that a project file may have, with what finds their mistakes: for the faces,
which check the whole file before they use a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcpmock.options.project_file import MATCH_TABLE, REDACTION_TABLE, TableReader


def _match_mistakes(table: Any) -> Iterable[str]:
    from mcpmock.matching.rule_table import read_rules  # most projects have no rules

    return read_rules(table)[1]


def _redaction_mistakes(table: Any) -> Iterable[str]:
    from mcpmock.redaction.rule_table import read_redaction_rules

    return read_redaction_rules(table)[1]


RULE_TABLES: Mapping[str, TableReader] = {
    MATCH_TABLE: _match_mistakes,
    REDACTION_TABLE: _redaction_mistakes,
}
