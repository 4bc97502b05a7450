"""What a difference between two recordings is, and how each kind of it is judged: one table of
rules.

Values only: who finds the differences is `answer_changes`, `catalog_changes`, `schema_changes`,
`message_changes`; who collects them is `diff`. A change is found with a path that knows where it
stands in both documents; a difference is what is told of it.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, Final

import attrs


class Verdict(IntEnum):
    """How bad a difference is for who uses the server; the worse, the higher."""

    COMPATIBLE = 1
    RISKY = 2
    BREAKING = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@attrs.frozen
class Rule:
    """What one kind of difference is called, how it is judged, and what it says to a person."""

    name: str
    kind: str
    """`added`, `removed`, `changed` or `reordered`."""
    verdict: Verdict
    words: str


_COMPATIBLE, _RISKY, _BREAKING = Verdict.COMPATIBLE, Verdict.RISKY, Verdict.BREAKING
_ROWS = (
    # what a server offers
    Rule("tool-removed", "removed", _BREAKING, "a tool is gone"),
    Rule("tool-added", "added", _COMPATIBLE, "a tool is new"),
    Rule("prompt-removed", "removed", _BREAKING, "a prompt is gone"),
    Rule("prompt-added", "added", _COMPATIBLE, "a prompt is new"),
    Rule("resource-removed", "removed", _BREAKING, "a resource is gone"),
    Rule("resource-added", "added", _COMPATIBLE, "a resource is new"),
    Rule("capability-removed", "removed", _BREAKING, "a capability is gone"),
    Rule("capability-added", "added", _COMPATIBLE, "a capability is new"),
    Rule("protocol-version-changed", "changed", _RISKY, "another revision was agreed on"),
    Rule("protocol-version-removed", "removed", _BREAKING, "a revision is no longer supported"),
    Rule("protocol-version-added", "added", _COMPATIBLE, "a revision is newly supported"),
    Rule("server-info-changed", "changed", _COMPATIBLE, "the server's name or version"),
    Rule("description-changed", "changed", _RISKY, "a description, which models read"),
    Rule("metadata-changed", "changed", _RISKY, "something else that is said of it"),
    Rule("list-reordered", "reordered", _COMPATIBLE, "the order of a list"),
    # what it takes
    Rule("argument-removed", "removed", _BREAKING, "an argument is gone"),
    Rule("argument-required", "changed", _BREAKING, "an argument is newly required"),
    Rule("argument-optional", "changed", _COMPATIBLE, "an argument is no longer required"),
    Rule("argument-added", "added", _COMPATIBLE, "an optional argument is new"),
    Rule("type-changed", "changed", _BREAKING, "another type"),
    Rule("type-narrowed", "changed", _BREAKING, "fewer types are taken"),
    Rule("type-widened", "changed", _COMPATIBLE, "more types are taken"),
    Rule("enum-narrowed", "changed", _BREAKING, "fewer values are taken"),
    Rule("enum-widened", "changed", _COMPATIBLE, "more values are taken"),
    Rule("constraint-tightened", "changed", _BREAKING, "less is taken"),
    Rule("constraint-loosened", "changed", _COMPATIBLE, "more is taken"),
    Rule("constraint-changed", "changed", _RISKY, "a constraint"),
    Rule("default-changed", "changed", _RISKY, "a default"),
    Rule("schema-changed", "changed", _RISKY, "a part of a schema"),
    Rule("schema-note-changed", "changed", _COMPATIBLE, "a part of a schema that says nothing"),
    # what it promises to give
    Rule("output-schema-removed", "removed", _BREAKING, "an output schema is gone"),
    Rule("output-schema-added", "added", _COMPATIBLE, "an output schema is new"),
    Rule("output-field-removed", "removed", _BREAKING, "a field of the output is gone"),
    Rule("output-field-added", "added", _COMPATIBLE, "a field of the output is new"),
    Rule("output-field-optional", "changed", _RISKY, "a field of the output may be absent"),
    Rule("output-field-required", "changed", _COMPATIBLE, "a field of the output is always there"),
    Rule("output-type-changed", "changed", _BREAKING, "the output has another type"),
    Rule("output-type-widened", "changed", _RISKY, "the output may have another type"),
    Rule("output-type-narrowed", "changed", _COMPATIBLE, "the output has fewer types"),
    Rule("output-enum-widened", "changed", _RISKY, "the output may have other values"),
    Rule("output-enum-narrowed", "changed", _COMPATIBLE, "the output has fewer values"),
    Rule("output-constraint-loosened", "changed", _RISKY, "the output may be more"),
    Rule("output-constraint-tightened", "changed", _COMPATIBLE, "the output is less"),
    # what it answered
    Rule("answer-missing", "removed", _BREAKING, "there is no answer"),
    Rule("answer-added", "added", _RISKY, "there is an answer, or one more"),
    Rule("error-for-result", "changed", _BREAKING, "an error where there was a result"),
    Rule("result-for-error", "changed", _RISKY, "a result where there was an error"),
    Rule("error-code-changed", "changed", _BREAKING, "another error code"),
    Rule("error-kind-changed", "changed", _BREAKING, "the tool's error or the protocol's"),
    Rule("error-text-changed", "changed", _RISKY, "an error in other words"),
    Rule("error-data-changed", "changed", _RISKY, "what goes with an error"),
    Rule("result-text-changed", "changed", _RISKY, "a text in a result"),
    Rule("result-value-changed", "changed", _RISKY, "a value in a result"),
    Rule("result-item-removed", "removed", _RISKY, "an item of a result is gone"),
    Rule("result-item-added", "added", _RISKY, "an item of a result is new"),
    Rule("status-error", "changed", _BREAKING, "an HTTP error where there was none"),
    Rule("status-changed", "changed", _RISKY, "an HTTP status of another class"),
    # what else it said
    Rule("notification-missing", "removed", _RISKY, "a notification did not come"),
    Rule("notification-added", "added", _COMPATIBLE, "a notification came in addition"),
    Rule("notification-changed", "changed", _RISKY, "a notification says something else"),
    Rule("question-missing", "removed", _RISKY, "the client was not asked"),
    Rule("question-added", "added", _RISKY, "the client was asked in addition"),
    Rule("question-changed", "changed", _RISKY, "the client was asked something else"),
    Rule("messages-reordered", "reordered", _RISKY, "the messages of a call in another order"),
    Rule("noise-missing", "removed", _COMPATIBLE, "output that is no message did not come"),
    Rule("noise-added", "added", _RISKY, "output that is no message"),
    Rule("noise-changed", "changed", _RISKY, "output that is no message, but other"),
    Rule("server-failed", "changed", _BREAKING, "the server ended by itself, with an error"),
    Rule("server-survived", "changed", _RISKY, "the server no longer ends by itself"),
    # what the client did otherwise
    Rule("request-missing", "removed", _RISKY, "a request was not made"),
    Rule("request-added", "added", _COMPATIBLE, "a request was made in addition"),
    Rule("request-changed", "changed", _RISKY, "another request was made"),
    Rule("said-missing", "removed", _RISKY, "the client did not say this"),
    Rule("said-added", "added", _COMPATIBLE, "the client said this in addition"),
    Rule("said-changed", "changed", _RISKY, "the client said something else"),
)
RULES: Final = {rule.name: rule for rule in _ROWS}


@attrs.frozen
class Item:
    """A member of a list as a step of a path: where it stands in either list, None where it does
    not. `name` is the member that names it, and its name, where its place is of no account.
    """

    old: int | None
    new: int | None
    name: tuple[str, str] | None = None


Step = str | Item
Path = tuple[Step, ...]
"""The way to a value, in both documents at once."""
Place = tuple[str | int, ...]
"""The way to a value in one document."""


class _Absent:
    """Nothing."""


ABSENT: Final = _Absent()
"""Stands for a value that is not there."""


@attrs.frozen
class Change:
    """Something that is not the same in two documents, with the rule it falls under."""

    rule: str
    path: Path
    old: Any = ABSENT
    new: Any = ABSENT


@attrs.frozen(order=True)
class Where:
    """An event: the take, from 1, and its number in that."""

    take: int
    n: int


@attrs.frozen(kw_only=True)
class Difference:
    """One difference between two recordings."""

    rule: Rule
    method: str
    """Of the message; of an answer the method it answers."""
    call: str | None
    """The call that it belongs to, in a few words: the method and the name of the tool."""
    path: str
    """A JSONPath into the message."""
    old: str | None
    """The value in short, as JSON; None where there is none."""
    new: str | None
    old_event: Where | None
    new_event: Where | None
    times: int = 1
    """How often there is the very same; the events are the first."""

    @property
    def verdict(self) -> Verdict:
        return self.rule.verdict


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def place_of(path: Path, *, new: bool) -> Place:
    """Where a path leads in one document; as far as it goes where there is no such value."""
    place: list[str | int] = []
    for step in path:
        at = step if isinstance(step, str) else step.new if new else step.old
        if at is None:
            break
        place.append(at)
    return tuple(place)


def spelled(path: Path) -> str:
    """A path as JSONPath (RFC 9535)."""
    return "$" + "".join(_spelled(step) for step in path)


def _spelled(step: Step) -> str:
    if isinstance(step, str):
        return f".{step}" if _PLAIN.match(step) else f"[{_quoted(step)}]"
    if step.name is not None:
        member, name = step.name
        return f"[?@.{member}=={_quoted(name)}]"
    return f"[{step.new if step.old is None else step.old}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + re.sub(r"[\x00-\x1f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + "'"
