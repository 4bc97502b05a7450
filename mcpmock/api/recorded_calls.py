"""`RecordedCalls`: what a server knows of its recording for `assert_trajectory`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from mcpmock.cassette.model import Cassette

if TYPE_CHECKING:
    from mcpmock.matching.match_rule import MatchRules
    from mcpmock.redaction.redaction_rules import RedactionRules


@attrs.frozen(kw_only=True)
class RecordedCalls:
    """The recording that `assert_trajectory` compares with."""

    cassette: Cassette | None = None
    """That of the server; None while it is being recorded."""
    find: Callable[[str], Path] = Path
    """Finds the file of another one."""
    test: str | None = None
    """The test that runs: its own takes count alone, if it has any."""
    rules: MatchRules | None = None
    """Those of the server, about what may differ."""
    redaction: RedactionRules | None = None
    grows: bool = False
    """Whether what is new is recorded: then the server's own calls are as they should be."""
