"""What a difference between two recordings is, and how each kind of it is judged: one table of
rules.

Values only. `answer_changes`, `catalog_changes`, `schema_changes` and `message_changes` find
changes, `findings` collects them as differences. The path of a change leads into both documents.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import attrs
import msgspec

from mcpmock.matching.paths import quote_name, spell_step


class Verdict(IntEnum):
    """How a difference affects users of the server; the worse, the higher."""

    COMPATIBLE = 1
    RISKY = 2
    BREAKING = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@attrs.frozen
class DiffRule:
    """What one kind of difference is called, how it is judged, and what it says to a person."""

    name: str
    kind: str
    """`added`, `removed`, `changed` or `reordered`."""
    verdict: Verdict
    words: str


_COMPATIBLE, _RISKY, _BREAKING = Verdict.COMPATIBLE, Verdict.RISKY, Verdict.BREAKING
_ROWS = (
    # what a server offers
    DiffRule("tool-removed", "removed", _BREAKING, "a tool is gone"),
    DiffRule("tool-renamed", "changed", _BREAKING, "renamed? a tool has another name"),
    DiffRule("tool-added", "added", _COMPATIBLE, "a tool is new"),
    DiffRule("prompt-removed", "removed", _BREAKING, "a prompt is gone"),
    DiffRule("prompt-renamed", "changed", _BREAKING, "renamed? a prompt has another name"),
    DiffRule("prompt-added", "added", _COMPATIBLE, "a prompt is new"),
    DiffRule("resource-removed", "removed", _BREAKING, "a resource is gone"),
    DiffRule("resource-renamed", "changed", _BREAKING, "renamed? a resource has another URI"),
    DiffRule("resource-added", "added", _COMPATIBLE, "a resource is new"),
    DiffRule("skill-removed", "removed", _BREAKING, "a skill is gone"),
    DiffRule("skill-added", "added", _COMPATIBLE, "a skill is new"),
    DiffRule("skill-file-removed", "removed", _BREAKING, "a file of a skill is gone"),
    DiffRule("skill-file-added", "added", _RISKY, "a file of a skill is new"),
    DiffRule("skill-dynamic", "changed", _BREAKING, "a skill no longer lists its files"),
    DiffRule("skill-content-changed", "changed", _RISKY, "a file of a skill has other content"),
    DiffRule("skill-frontmatter-changed", "changed", _RISKY, "a skill says otherwise what it is"),
    DiffRule("capability-removed", "removed", _BREAKING, "a capability is gone"),
    DiffRule("capability-added", "added", _COMPATIBLE, "a capability is new"),
    DiffRule("protocol-version-changed", "changed", _RISKY, "another revision was agreed on"),
    DiffRule("protocol-version-removed", "removed", _BREAKING, "a revision is no longer supported"),
    DiffRule("protocol-version-added", "added", _COMPATIBLE, "a revision is newly supported"),
    DiffRule("server-info-changed", "changed", _COMPATIBLE, "the server's name or version"),
    DiffRule("description-changed", "changed", _RISKY, "a description, which models read"),
    DiffRule("metadata-changed", "changed", _RISKY, "something else that is said of it"),
    DiffRule("list-reordered", "reordered", _COMPATIBLE, "the order of a list"),
    # what it takes
    DiffRule("argument-removed", "removed", _BREAKING, "an argument is gone"),
    DiffRule("argument-required", "changed", _BREAKING, "an argument is newly required"),
    DiffRule("argument-optional", "changed", _COMPATIBLE, "an argument is no longer required"),
    DiffRule("argument-added", "added", _COMPATIBLE, "an optional argument is new"),
    DiffRule("type-changed", "changed", _BREAKING, "another type"),
    DiffRule("type-narrowed", "changed", _BREAKING, "fewer types are taken"),
    DiffRule("type-widened", "changed", _COMPATIBLE, "more types are taken"),
    DiffRule("enum-narrowed", "changed", _BREAKING, "fewer values are taken"),
    DiffRule("enum-widened", "changed", _COMPATIBLE, "more values are taken"),
    DiffRule("constraint-tightened", "changed", _BREAKING, "less is taken"),
    DiffRule("constraint-loosened", "changed", _COMPATIBLE, "more is taken"),
    DiffRule("constraint-changed", "changed", _RISKY, "a constraint"),
    DiffRule("default-changed", "changed", _RISKY, "a default"),
    DiffRule("schema-changed", "changed", _RISKY, "a part of a schema, whose effect is not known"),
    DiffRule("schema-not-compared", "changed", _RISKY, "a part of a schema that is not compared"),
    DiffRule("schema-note-changed", "changed", _COMPATIBLE, "a part of a schema that says nothing"),
    # what it promises to give
    DiffRule("output-schema-removed", "removed", _BREAKING, "an output schema is gone"),
    DiffRule("output-schema-added", "added", _COMPATIBLE, "an output schema is new"),
    DiffRule("output-field-removed", "removed", _BREAKING, "a field of the output is gone"),
    DiffRule("output-field-added", "added", _COMPATIBLE, "a field of the output is new"),
    DiffRule(
        "closed-output-field-added", "added", _RISKY, "a field is new in an output without others"
    ),
    DiffRule("output-field-optional", "changed", _RISKY, "a field of the output may be absent"),
    DiffRule(
        "output-field-required", "changed", _COMPATIBLE, "a field of the output is always there"
    ),
    DiffRule("output-type-changed", "changed", _BREAKING, "the output has another type"),
    DiffRule("output-type-widened", "changed", _RISKY, "the output may have another type"),
    DiffRule("output-type-narrowed", "changed", _COMPATIBLE, "the output has fewer types"),
    DiffRule("output-enum-widened", "changed", _RISKY, "the output may have other values"),
    DiffRule("output-enum-narrowed", "changed", _COMPATIBLE, "the output has fewer values"),
    DiffRule("output-constraint-loosened", "changed", _RISKY, "the output may be more"),
    DiffRule("output-constraint-tightened", "changed", _COMPATIBLE, "the output is less"),
    # what it answered
    DiffRule("answer-missing", "removed", _BREAKING, "there is no answer"),
    DiffRule("answer-added", "added", _RISKY, "there is an answer, or one more"),
    DiffRule("error-for-result", "changed", _BREAKING, "an error where there was a result"),
    DiffRule("result-for-error", "changed", _RISKY, "a result where there was an error"),
    DiffRule("error-code-changed", "changed", _BREAKING, "another error code"),
    DiffRule("error-kind-changed", "changed", _BREAKING, "the tool's error or the protocol's"),
    DiffRule("error-text-changed", "changed", _RISKY, "an error in other words"),
    DiffRule("error-data-changed", "changed", _RISKY, "what goes with an error"),
    DiffRule("result-text-changed", "changed", _RISKY, "a text in a result"),
    DiffRule("result-value-changed", "changed", _RISKY, "a value in a result"),
    DiffRule("result-reordered", "reordered", _RISKY, "the order of a list in a result"),
    DiffRule("result-item-removed", "removed", _RISKY, "an item of a result is gone"),
    DiffRule("result-item-added", "added", _RISKY, "an item of a result is new"),
    DiffRule("call-slower", "changed", _RISKY, "a call takes longer, by its median"),
    DiffRule("status-error", "changed", _BREAKING, "an HTTP error where there was none"),
    DiffRule("status-changed", "changed", _RISKY, "an HTTP status of another class"),
    DiffRule("jsonrpc-removed", "changed", _BREAKING, "a message is no JSON-RPC 2.0, and dropped"),
    DiffRule("jsonrpc-added", "changed", _COMPATIBLE, "a message is JSON-RPC 2.0 now"),
    # what else it said
    DiffRule("notification-missing", "removed", _RISKY, "a notification did not come"),
    DiffRule("notification-added", "added", _COMPATIBLE, "a notification came in addition"),
    DiffRule("notification-changed", "changed", _RISKY, "a notification says something else"),
    DiffRule("question-missing", "removed", _RISKY, "the client was not asked"),
    DiffRule("question-added", "added", _RISKY, "the client was asked in addition"),
    DiffRule("question-changed", "changed", _RISKY, "the client was asked something else"),
    DiffRule("messages-reordered", "reordered", _RISKY, "the messages of a call in another order"),
    DiffRule("noise-missing", "removed", _COMPATIBLE, "output that is not a message did not come"),
    DiffRule("noise-added", "added", _RISKY, "output that is not a message"),
    DiffRule("noise-changed", "changed", _RISKY, "output that is not a message, but other"),
    DiffRule("server-failed", "changed", _BREAKING, "the server ended by itself, with an error"),
    DiffRule("server-survived", "changed", _RISKY, "the server no longer ends by itself"),
    # what the client did otherwise
    DiffRule("request-missing", "removed", _RISKY, "a request was not made"),
    DiffRule("request-added", "added", _COMPATIBLE, "a request was made in addition"),
    DiffRule("request-changed", "changed", _RISKY, "another request was made"),
    DiffRule("meta-changed", "changed", _COMPATIBLE, "what a client adds to its requests"),
    DiffRule("said-missing", "removed", _RISKY, "the client did not send this"),
    DiffRule("said-added", "added", _COMPATIBLE, "the client sent this in addition"),
    DiffRule("said-changed", "changed", _RISKY, "the client sent something else"),
    # of two folders
    DiffRule("recording-missing", "removed", _RISKY, "a recording is gone"),
    DiffRule("recording-added", "added", _COMPATIBLE, "a recording is new"),
)
PLURALS: Final = {
    "answer-added": "calls have an answer, or one more",
    "notification-missing": "notifications did not come",
    "notification-added": "notifications came in addition",
    "question-missing": "requests of the server did not come",
    "question-added": "requests of the server came in addition",
    "noise-missing": "lines of output that are not messages did not come",
    "noise-added": "lines of output that are not messages",
    "request-added": "requests were made in addition",
    "said-missing": "messages of the client did not come",
    "said-added": "messages of the client came in addition",
    "answer-missing": "calls have no answer",
    "request-missing": "requests were not made",
}
"""The words for several differences, of the rules about whole messages."""
RULES: Final = {rule.name: rule for rule in _ROWS}


@attrs.frozen
class Item:
    """A member of a list as a step of a path: where it stands in either list, None where it does
    not. `name` is the member that names it, and its name, where its place is of no account.
    """

    old: int | None
    new: int | None
    name: tuple[str, str] | None = None


PathStep = str | Item
ValuePath = tuple[PathStep, ...]
"""The way to a value, in both documents at once."""
DocumentPath = tuple[str | int, ...]
"""The way to a value in one document."""


class _Absent:
    """The type of `ABSENT`."""


ABSENT: Final = _Absent()
"""The value of a member that does not exist."""


@attrs.frozen
class Change:
    """A place where two documents differ, with the rule that judges it."""

    rule: str
    path: ValuePath
    old: Any = ABSENT
    new: Any = ABSENT


# A Struct, because there is one for each message: 0.3 us, a frozen attrs class takes 1.
class EventLocation(msgspec.Struct, frozen=True, order=True, gc=False):
    """An event: the take, from 1, and its number in that."""

    take: int
    n: int


@attrs.frozen(kw_only=True)
class Difference:
    """One difference between two recordings."""

    rule: DiffRule
    method: str
    """The method of the message, or of the request that it answers; `output`, `response`, `exit` or
    `HTTP GET` where there is none.
    """
    call: str | None
    """The call that it belongs to, in a few words: the method and the name of the tool."""
    path: str
    """A JSONPath into the message."""
    old: str | None
    """The value in short, as JSON; None where there is none."""
    new: str | None
    old_event: EventLocation | None
    new_event: EventLocation | None
    ignore: str
    """The `--ignore` rule that allows it; empty if none can."""
    times: int = 1
    """How often there is the very same; the events are the first."""

    @property
    def verdict(self) -> Verdict:
        return self.rule.verdict


def document_path(path: ValuePath, *, new: bool) -> DocumentPath:
    """Return a path in one document; cut off where that has no such value."""
    place: list[str | int] = []
    for step in path:
        at = step if isinstance(step, str) else step.new if new else step.old
        if at is None:
            break
        place.append(at)
    return tuple(place)


def to_jsonpath(path: ValuePath, *, new: bool = False, quote: str = "'") -> str:
    """Return a path as JSONPath (RFC 9535), with the places of lists in the old or the new
    document.
    """
    return "$" + "".join(_step_to_jsonpath(step, new, quote) for step in path)


def _step_to_jsonpath(step: PathStep, new: bool, quote: str) -> str:
    if isinstance(step, str):
        return spell_step(step, quote)
    if step.name is not None:
        member, name = step.name
        return f"[?@.{member}=={quote_name(name, quote)}]"
    return f"[{step.new if new or step.old is None else step.old}]"
