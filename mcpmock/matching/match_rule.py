"""`MatchRule`: a place in messages where two of them may differ, as users write it; `MatchRules`,
the rules of one run.

`[METHOD [NAME]] PATH[=KIND]`: the method and the name of a tool, prompt or resource as globs, a
JSONPath into the message, and what both values must be. `playback.loosened` matches requests under
such rules, `semantic_diff` compares under them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.errors import McpMockError
from mcpmock.lazy_pattern import lazy_pattern

from .kinds import KINDS, UNORDERED, Kind, kind_of_both
from .paths import Place, ValueQuery, compile_path, is_selectable, spell_step

_FIRST_NAME = lazy_pattern(r"(?:\$\s*\.)?([^\W\d][\w-]*)")
_NAMES = lazy_pattern(r"[\w-]+(?:\.[\w-]+)*(?:=.*)?")
MESSAGE_MEMBERS = {"jsonrpc", "id", "method", "params", "result", "error"}
"""The members of messages: a path that begins with another name is meant inside `params`."""
_OUTPUT = "output"
"""The method, in rules of a diff, of output that is not a message: its document is `{"text": ...}`.
"""
_MAX_KNOWN = 1024
TOOL_ALONE = ("tools/call $.arguments", "prompts/get $.arguments")
"""The rules of `--match tool`."""


@attrs.frozen
class MatchRule:
    """One rule. Equal texts are equal rules."""

    text: str
    """As the user wrote it."""
    method: str
    name: str
    query: ValueQuery = attrs.field(eq=False)
    kind: Kind | None = attrs.field(default=None, eq=False)
    """What both values must be; None: the place does not count, present or absent."""

    @classmethod
    def parse(cls, text: str) -> MatchRule:
        """Read a rule of any form. Raises ValueError, in words for the user."""
        scope, dollar, rest = text.partition("$")
        words = scope.split()
        if not dollar or len(words) > 2:
            hint = _hint_at_form(words, bool(dollar))
            raise ValueError(f"{text!r} is not of the form [METHOD [NAME]] $.JSON.PATH{hint}")
        method, name = [*words, "*", "*"][:2]
        end = _end_of_path(rest)
        try:
            query = compile_path(path_in_message(dollar + rest[:end].rstrip(), method))
            kind = Kind.parse(rest[end + 1 :]) if end < len(rest) else None
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from error
        return cls(text, method, name, query, kind)

    @classmethod
    def parse_ignore(cls, text: str) -> MatchRule:
        """Read a rule without a kind."""
        rule = cls.parse(text)
        if rule.kind is not None:
            raise ValueError(f"{text!r} has a kind: write it as --like (like=)")
        return rule

    @classmethod
    def parse_like(cls, text: str) -> MatchRule:
        """Read a rule with a kind."""
        rule = cls.parse(text)
        if rule.kind is None:
            raise ValueError(f"{text!r} has no kind: write {text}=KIND; {KINDS}")
        return rule

    def is_for(self, method: str, call: Label) -> bool:
        """Return whether this is about a message of this method that belongs to this call."""
        fits = fnmatchcase(method, self.method) or fnmatchcase(call[0], self.method)
        return fits and fnmatchcase(call[1], self.name)

    def allows(self, recorded: Any, live: Any) -> bool:
        """Return whether these two values of its place count as equal; UNSET is an absent one."""
        if self.kind is None:
            return True
        return recorded is not UNSET and live is not UNSET and self.kind.both(recorded, live)

    @property
    def is_unordered(self) -> bool:
        return self.kind is not None and self.kind.text == UNORDERED


class RuleError(McpMockError):
    """What was given is not a rule."""

    exit_code = 2


Label = tuple[str, str]
"""The method of a call (or of a message that belongs to none), and the name of what it calls."""
Selected = dict[Place, tuple[MatchRule, ...]]
"""The places of a document that rules select."""


@attrs.frozen
class MatchRules:
    """All rules of one run. `echo` are those whose values come back in answers; they are among the
    `rules`.
    """

    rules: tuple[MatchRule, ...] = ()
    echo: tuple[MatchRule, ...] = ()
    applied: set[MatchRule] = attrs.field(factory=set, kw_only=True, eq=False, repr=False)
    """Those that selected something in a message so far."""
    _known: dict[tuple[str, Label], tuple[MatchRule, ...]] = attrs.field(
        factory=dict, init=False, eq=False, repr=False
    )

    @classmethod
    def parse(
        cls, ignore: Iterable[str] = (), like: Iterable[str] = (), echo: Iterable[str] = ()
    ) -> MatchRules:
        """Raise ValueError, in words for the user, for an invalid rule."""
        loosened = [*map(MatchRule.parse_ignore, ignore), *map(MatchRule.parse_like, like)]
        returned = tuple(map(MatchRule.parse, echo))
        return cls((*loosened, *returned), returned)

    def __add__(self, other: MatchRules) -> MatchRules:
        rules = dict.fromkeys((*self.rules, *other.rules))
        return MatchRules((*rules,), (*dict.fromkeys((*self.echo, *other.echo)),))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def of(self, method: str, call: Label) -> tuple[MatchRule, ...]:
        """Return those about a message of this method that belongs to this call."""
        found = self._known.get((method, call))
        if found is None:
            if len(self._known) >= _MAX_KNOWN:  # clients name what they like
                self._known.clear()
            found = tuple(rule for rule in self.rules if rule.is_for(method, call))
            self._known[method, call] = found
        return found


def select(rules: Sequence[MatchRule], document: Any) -> Selected:
    """Return the places of a document that rules select."""
    found: Selected = {}
    for rule in rules:
        for place in rule.query.places(document):
            found[place] = (*found.get(place, ()), rule)
    return found


def rule_for(
    method: str, name: str, place: Place, recorded: Any = UNSET, live: Any = UNSET
) -> tuple[str, str]:
    """Return the rule that allows a difference at a place of a message, and its option: `("like",
    "tools/call search $.params.arguments.id=uuid")`. Without a method it is for all. Its strings
    have double quotes, so that it fits between the single quotes of a shell.
    """
    steps = [*takewhile(lambda step: isinstance(step, int) or is_selectable(step), place)]
    kind = kind_of_both(recorded, live) if len(steps) == len(place) else None
    # The short form, where it means the same.
    inner = steps[1:] if steps[:1] == ["params"] and _is_short(steps[1:]) else steps
    path = "$" + "".join(spell_step(step, '"') for step in inner)
    text = " ".join([*map(as_glob, filter(None, (method, name))), path])
    return ("ignore", text) if kind is None else ("like", f"{text}={kind}")


def as_glob(text: str) -> str:
    """Return a glob for this text alone, without the characters that end a word of a rule."""
    return "".join(
        f"[{char}]" if char in "*?[#" else "?" if char in " $" or not char.isprintable() else char
        for char in text
    )


def _is_short(steps: Sequence[str | int]) -> bool:
    """Return whether a path of these steps is taken as one inside `params`."""
    first = spell_step(steps[0]) if steps else ""
    return first.startswith(".") and first[1:] not in MESSAGE_MEMBERS


def _hint_at_form(words: Sequence[str], has_path: bool) -> str:
    """Return the rule that words with a mistake stand for, where it can be guessed."""
    if has_path:
        return "; write ? for each space of NAME"
    if words and _NAMES.fullmatch(words[-1]):
        return f": write {' '.join([*words[:-1], f'$.{words[-1]}'])}"
    return ""


def path_in_message(path: str, method: str = "*") -> str:
    """Return a path that begins at the message. In plans of faults its `$.` may be left out."""
    first = _FIRST_NAME.match(path)
    if first is None or first[1] in MESSAGE_MEMBERS or method == _OUTPUT:
        return path
    return f"$.params.{path[first.start(1) :]}"


def _end_of_path(text: str) -> int:
    """Return where the first `=` is that is outside of brackets and quotes; the length without."""
    depth, quote, escaped = 0, "", False
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "'\"":
            quote, escaped = char, False
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif char == "=" and not depth:
            return at
    return len(text)
