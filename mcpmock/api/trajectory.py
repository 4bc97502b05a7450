"""`compare_trajectory`: what `assert_trajectory` of a server says, imported when a test asks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpmock.batch.match_rules import rules_beside
from mcpmock.cassette.file import load
from mcpmock.errors import McpMockError
from mcpmock.matching.match_rule import MatchRules, RuleError
from mcpmock.printable import did_you_mean
from mcpmock.protocol.methods import ROWS, MessageKind, Sender
from mcpmock.redaction.redaction_rules import NO_OWN_RULES
from mcpmock.semantic_diff.trajectory import Trajectory, live_calls, recorded_calls
from mcpmock.view.trajectory_report import trajectory_lines

if TYPE_CHECKING:
    from mcpmock.cassette.model import Take

    from .recorded_calls import RecordedCalls

_REQUESTS = {
    row.name for row in ROWS if row.kind is MessageKind.REQUEST and Sender.CLIENT in row.sender
}
_CHOICES = {"order": ("same", "any"), "extra": ("fail", "allow"), "missing": ("fail", "allow")}


def compare_trajectory(
    server: RecordedCalls,
    asked: Sequence[tuple[str, Any]],
    file: str | os.PathLike[str] | None,
    words: tuple[str, str, str],
    rules: tuple[Iterable[str], Iterable[str]],
    methods: Sequence[str],
) -> list[str]:
    """Return the lines that say how the calls of clients differ from a recording; nothing if they
    do not, and while they are recorded. Raises McpMockError.
    """
    __tracebackhide__ = True
    order, extra, missing = words
    wrong = [
        f"{name}={word!r}: choose {' or '.join(_CHOICES[name])}"
        for name, word in zip(_CHOICES, words, strict=True)
        if word not in _CHOICES[name]
    ]
    for name, given in (("ignore", rules[0]), ("like", rules[1]), ("methods", methods)):
        if isinstance(given, str):
            wrong.append(f"{name}={given!r}: give a list")
    if wrong:
        raise McpMockError("; ".join(wrong))
    try:
        allowed = MatchRules.parse(*rules)
    except ValueError as error:
        raise RuleError(str(error)) from error
    cassette = server.cassette
    if cassette is None:
        return []
    path = Path(cassette.name) if file is None else server.find(os.fspath(file))
    if server.grows and path == Path(cassette.name):
        return []
    if file is not None:
        cassette = load(path)
        allowed += rules_beside(cassette) or MatchRules()
    elif not cassette.takes:
        raise McpMockError("this server has no recording: name one, assert_trajectory(FILE)")
    own = [take for take in cassette.takes if take.header.test == server.test]
    takes = own if own and server.test is not None else cassette.takes
    _check_methods(methods, {*_REQUESTS, *(method for method, _ in asked)}, takes)
    found = Trajectory.compare(
        recorded_calls(takes, methods),
        live_calls(asked, methods),
        allowed + (server.rules or MatchRules()),
    )
    redaction = server.redaction or NO_OWN_RULES
    return trajectory_lines(found, redaction, order=order, extra=extra, missing=missing)


def _check_methods(globs: Sequence[str], known: set[str], takes: Sequence[Take]) -> None:
    """Raise McpMockError where nothing could be compared: a misspelt method would pass for ever."""
    if not globs:
        raise McpMockError("methods=[]: name the methods that count")
    known |= {call.method for call in recorded_calls(takes, ["*"])}
    for glob in globs:
        if not any(fnmatchcase(method, glob) for method in known):
            hint = did_you_mean(glob, known)
            raise McpMockError(f"methods={[*globs]!r}: no request is {glob!r}{hint}")
