"""`Allowance`: violations that a user knows and allows, `RULE [METHOD [TOOL]] [$PATH]`; a baseline
is a file of such lines.

All but the path are globs. What follows the rule is read like the rules of a diff (`matching`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile

import attrs

from mcpmock.errors import McpMockError
from mcpmock.matching.match_rule import MESSAGE_MEMBERS, MatchRule, as_glob
from mcpmock.matching.paths import Place, compile_path, is_selectable, spell_step
from mcpmock.printable import did_you_mean, first_lines

from .specification import RULES, Violation

_NAMES = sorted({rule.name for rule in RULES})
_QUOTED = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_KEPT = re.compile(rf"(?:(?!^\#|\s\#)[^$])*(?:\$(?:{_QUOTED}|(?!\s\#).)*)?")
"""A line up to its comment; a `#` between the quotes of a path begins none."""
_MAX_MISTAKES = 10


@attrs.frozen
class Allowance:
    """One line. Equal texts are equal allowances."""

    text: str
    """As the user wrote it."""
    rule: str
    place: MatchRule = attrs.field(eq=False)

    @classmethod
    def parse(cls, text: str) -> Allowance:
        """Raise ValueError, in words for the user, if it is no such line or names no rule."""
        words = text.partition("$")[0].split()
        rule, *scope = words or [""]
        if not rule or len(scope) > 2:
            raise ValueError(f"{text!r} is not of the form RULE [METHOD [TOOL]] [$PATH]")
        if not any(fnmatchcase(name, rule) for name in _NAMES):
            raise ValueError(f"no rule {rule!r}{did_you_mean(rule, _NAMES, cutoff=0.5)}")
        rest = text.split(None, 1)[1] if len(text.split(None, 1)) > 1 else ""
        place = MatchRule.parse(rest if "$" in rest else f"{rest} $")
        if place.kind is not None or place.query.whole is not None:
            raise ValueError(f"{text!r}: give a path of names, numbers and [*]")
        return cls(text.strip(), rule, place)

    def covers(self, violation: Violation) -> bool:
        """Return whether it allows this violation. Its path covers what is below it."""
        return (
            fnmatchcase(violation.rule.name, self.rule)
            and self.place.is_for(violation.method, violation.call)
            and self.place.query.covers(_place_of(violation))
        )


def allowance_for(violation: Violation) -> str:
    """Return the line that allows this violation in every recording of the same session: without
    its event and the numbers of items.
    """
    scope = filter(None, (violation.method, violation.call[1]))
    steps: list[str | int] = [
        *takewhile(lambda step: isinstance(step, int) or is_selectable(step), _place_of(violation))
    ]
    # Of another member the path would be taken as one inside `params`.
    known = steps and steps[0] in MESSAGE_MEMBERS
    path = "".join("[*]" if isinstance(step, int) else spell_step(step, '"') for step in steps)
    return " ".join([violation.rule.name, *map(as_glob, scope), *([f"${path}"] if known else [])])


def _place_of(violation: Violation) -> Place:
    """Return the place that it names; that of the whole message, if no path can be written so."""
    try:
        return compile_path(violation.path or "$").single or ()
    except ValueError:
        return ()


def baseline_of(lines: Iterable[str]) -> str:
    """Return the text of a baseline that has these lines."""
    return "".join(f"{line}\n" for line in sorted({*lines}))


class BaselineError(McpMockError):
    """A baseline has mistakes: each behind its line."""

    exit_code = 2

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = first_lines(mistakes, _MAX_MISTAKES)
        super().__init__("; ".join(self.mistakes))

    @property
    def lines(self) -> list[str]:
        return self.mistakes


def read_baseline(name: str, data: bytes) -> list[Allowance]:
    """Return the lines of a baseline, without comments. Raises BaselineError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BaselineError([f"{name}: is not UTF-8"]) from error
    found, mistakes = [], []
    for number, line in enumerate(text.split("\n"), 1):
        kept = _KEPT.match(line)
        if kept is None or not kept[0].strip():
            continue
        try:
            found.append(Allowance.parse(kept[0]))
        except ValueError as error:
            mistakes.append(f"{name}:{number}: {error}")
    if mistakes:
        raise BaselineError(mistakes)
    return found
