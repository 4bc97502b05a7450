"""Two answers to one request compared, and each change put under the rule that judges it.

An error in the place of a result is one change, whatever the two contain. Text of a tool's result
that only repeats `structuredContent` is not reported twice. `catalog_changes` compares lists of
tools and the like, `value_changes` plain values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcpmock.playback.request_key import significant
from mcpmock.playback.variables import same
from mcpmock.protocol.messages import canonical
from mcpmock.protocol.methods import METHODS
from mcpmock.protocol.skills import GET

from .catalog_changes import (
    CATALOGS,
    HANDSHAKES,
    catalog_changes,
    handshake_changes,
    skill_changes,
)
from .normalize import Document
from .severity import ABSENT, Change, Item, PathStep, ValuePath
from .value_changes import Edit, EditKind, Measure, edits

_RESULT: ValuePath = ("result",)
_ERROR: ValuePath = ("error",)
_RULES = {
    EditKind.REMOVED: "output-field-removed",
    EditKind.ADDED: "output-field-added",
    EditKind.TEXT: "result-text-changed",
    EditKind.VALUE: "result-value-changed",
    EditKind.TYPE: "output-type-changed",
    EditKind.REORDERED: "result-reordered",
    EditKind.ITEM_REMOVED: "result-item-removed",
    EditKind.ITEM_ADDED: "result-item-added",
}


_SETS = {"audience"}
"""Lists of the protocol in results whose order says nothing."""
_UNSAID = {
    "isError": False, "resultType": "complete", "hasMore": False,
    "listChanged": False, "subscribe": False, "experimental": {}, "extensions": {},
    "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True,
    "annotations": {}, "execution": {}, "taskSupport": "forbidden", "icons": [], "_meta": {},
    "arguments": [], "required": False,
} | dict.fromkeys((
    "nextCursor", "structuredContent", "total", "instructions", "title", "description", "mimeType",
    "size", "outputSchema", "audience", "priority", "lastModified", "websiteUrl", "sizes", "theme",
    "tools", "prompts", "resources", "logging", "completions", "tasks", "list", "cancel",
    "requests", "statusMessage", "pollInterval", "requestState", "inputRequests",
))  # fmt: skip
"""What optional members of the protocol say where they are absent; None: nothing."""
_FREE = {"structuredContent", "inputSchema", "outputSchema", "_meta", "experimental", "extensions"}
"""Members of the protocol that hold what the protocol does not know."""


def answer_changes(method: str, old: Document, new: Document, measure: Measure) -> Iterator[Change]:
    """Yield what changed from one answer to the other."""
    if _failed(old) is not _failed(new):
        rule = "error-for-result" if _failed(new) else "result-for-error"
        kept, path = ("result", _RESULT) if "result" in new else ("error", _ERROR)
        summaries = [_summary(one) for one in (old, new)]
        yield Change(rule, (*path, "isError") if kept in old else path, *summaries)
    elif ("error" in old) is not ("error" in new):
        yield Change("error-kind-changed", (), *(_summary(one) for one in (old, new)))
    elif "error" in old:
        yield from _error_changes(old["error"], new["error"], measure)
    else:
        for change in _result_changes(method, old["result"], new["result"], measure):
            if method not in METHODS or not _says_nothing(change):
                yield change


def _says_nothing(change: Change) -> bool:
    """Return whether a member came or went that says what its absence says. Some SDKs write each
    optional member, as null or as its default.
    """
    if ABSENT not in (change.old, change.new) or _FREE.intersection(change.path[:-1]):
        return False
    return _is_unsaid(change.path[-1], change.new if change.old is ABSENT else change.old)


def _is_unsaid(name: PathStep, value: Any) -> bool:
    if name not in _UNSAID:
        return False
    if isinstance(value, dict) and name not in _FREE:
        return _UNSAID[name] == {} and all(_is_unsaid(*member) for member in value.items())
    return value is None or same(value, _UNSAID[name])


def _failed(document: Document) -> bool:
    """Return whether an answer is an error; a tool's result may say that it is one."""
    result = document.get("result")
    return "error" in document or (isinstance(result, dict) and result.get("isError") is True)


def _summary(document: Document) -> Any:
    """Return an answer for people: the text of a tool's result, else all of it."""
    result = document.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    if isinstance(content, list) and content and isinstance(content[0], dict):
        return content[0].get("text", result)
    return document.get("error", result)


def _error_changes(old: Any, new: Any, measure: Measure) -> Iterator[Change]:
    rules: dict[object, str] = {"code": "error-code-changed", "message": "error-text-changed"}
    for edit in edits(old, new, _ERROR, measure):
        named = edit.path[1] if len(edit.path) > 1 else None
        rule = rules.get(named, "error-data-changed")
        yield Change(rule, edit.path, edit.old, edit.new)


def _result_changes(method: str, old: Any, new: Any, measure: Measure) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        if method in CATALOGS:
            yield from catalog_changes(method, old, new, _RESULT, measure)
            return
        if method == GET:
            yield from skill_changes(old, new, _RESULT, measure)
            return
        if method in HANDSHAKES:
            yield from handshake_changes(old, new, _RESULT, measure)
            return
        if method == "tools/call":
            for edit in _without_repetition(old, new, list(edits(old, new, _RESULT, measure))):
                yield _judged(edit)
            return
    elif isinstance(old, dict) is not isinstance(new, dict):
        yield Change("output-type-changed", _RESULT, old, new)
        return
    for edit in edits(old, new, _RESULT, measure):
        yield _judged(edit)


def _judged(edit: Edit) -> Change:
    if edit.path[-1] == "resultType" and edit.kind in (EditKind.TEXT, EditKind.ADDED):
        return Change("output-type-changed", edit.path, edit.old, edit.new)
    if edit.kind is EditKind.REORDERED and edit.path[-1] in _SETS:
        return Change("list-reordered", edit.path, edit.old, edit.new)
    return Change(_RULES[edit.kind], edit.path, edit.old, edit.new)


def _without_repetition(
    old: dict[str, Any], new: dict[str, Any], found: list[Edit]
) -> Iterator[Edit]:
    """Leave out what `content` repeats of `structuredContent`, or the reverse."""
    # SDKs repeat `structuredContent` in `content`: as JSON, whole or item by item, and a mere text
    # as it is. Of JSON the edit in the structure is kept, of a mere text the edit in the text.
    before, after = (_repeated(one.get("structuredContent")) for one in (old, new))
    doubles = {(edit.old, edit.new) for edit in found if _is_text(edit)}
    for edit in found:
        if (
            _is_text(edit)
            and _canonical_json(edit.old) in before
            and _canonical_json(edit.new) in after
        ):
            continue
        wrapped = edit.path[1:3] == ("structuredContent", "result") and edit.kind is EditKind.TEXT
        if not wrapped or (edit.old, edit.new) not in doubles:
            yield edit


def _is_text(edit: Edit) -> bool:
    """`$.result.content[n].text`."""
    match edit.path[1:]:
        case ("content", Item(), "text"):
            return edit.kind is EditKind.TEXT
        case _:
            return False


def _repeated(structure: Any) -> set[bytes]:
    """Return the values that texts may repeat: a structure, the value in it, or an item of that."""
    wrapped = structure.get("result") if isinstance(structure, dict) else None
    items = wrapped if isinstance(wrapped, list) else []
    return {canonical(value) for value in (structure, wrapped, *items)}


def _canonical_json(text: str) -> bytes:
    return canonical(significant(text.encode("utf-8", "surrogatepass")))
