"""What a server says of itself, compared: its lists of tools, prompts and resources, and its
handshake.

Members of a list are paired by name, so a removed one is one change; a new order is compatible.
`schema_changes` compares their schemas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from mcpmock.protocol.methods import LISTS
from mcpmock.protocol.skills import LIST

from .normalize import key_of
from .schema_changes import INPUT, OUTPUT, schema_changes
from .severity import ABSENT, Change, Item, ValuePath
from .value_changes import Measure, edits

_TEXTS = {"description", "title", "instructions"}
MemberName = tuple[str, int]
"""The name of a member, and how many of that name stand before it."""


@attrs.frozen
class Catalog:
    """A list that a server gives: by what its members are named, and the rules for one less and one
    more.
    """

    name: str
    removed: str
    added: str
    renamed: str = ""


_SKILLS = Catalog("uri", "skill-removed", "skill-added")
CATALOGS = {
    "tools/list": Catalog("name", "tool-removed", "tool-added", "tool-renamed"),
    "prompts/list": Catalog("name", "prompt-removed", "prompt-added", "prompt-renamed"),
    "resources/list": Catalog("uri", "resource-removed", "resource-added", "resource-renamed"),
    "resources/templates/list": Catalog(
        "uriTemplate", "resource-removed", "resource-added", "resource-renamed"
    ),
    LIST: _SKILLS,
}
"""By method."""
_SKILL_FILES = Catalog("uri", "skill-file-removed", "skill-file-added")
_ARGUMENTS = Catalog("name", "argument-removed", "argument-added")
HANDSHAKES = {"initialize", "server/discover"}
_TAKEN_AS_TASK = {"forbidden": {False}, "optional": {False, True}, "required": {True}}
"""By `taskSupport`, whether calls are taken that run as tasks, and others."""


def catalog_changes(
    method: str, old: dict[str, Any], new: dict[str, Any], path: ValuePath, measure: Measure
) -> Iterator[Change]:
    """Yield what changed in the result of a list method."""
    catalog, member = CATALOGS[method], LISTS[method]
    one, other = old.get(member), new.get(member)
    if isinstance(one, list) and isinstance(other, list):
        inside = (*path, member)
        compared = _skill_changes if method == LIST else _member_changes
        yield from _members(one, other, inside, catalog, compared, measure)
        old = {name: value for name, value in old.items() if name != member}
        new = {name: value for name, value in new.items() if name != member}
    yield from _metadata(old, new, path, measure)


def skill_changes(
    old: dict[str, Any], new: dict[str, Any], path: ValuePath, measure: Measure
) -> Iterator[Change]:
    """Yield what changed in the result of `skills/get`."""
    one, other = old.get("skill"), new.get("skill")
    if isinstance(one, dict) and isinstance(other, dict):
        yield from _skill_changes(one, other, (*path, "skill"), measure)
        old = {name: value for name, value in old.items() if name != "skill"}
        new = {name: value for name, value in new.items() if name != "skill"}
    yield from _metadata(old, new, path, measure)


def handshake_changes(
    old: dict[str, Any], new: dict[str, Any], path: ValuePath, measure: Measure
) -> Iterator[Change]:
    """Yield what changed in what a server says first."""
    for name in dict.fromkeys((*old, *new)):
        one, other, inside = old.get(name, ABSENT), new.get(name, ABSENT), (*path, name)
        match name:
            case "capabilities":
                yield from _capabilities(one, other, inside, measure)
            case "protocolVersion":
                for edit in edits(one, other, inside, measure):
                    yield Change("protocol-version-changed", edit.path, edit.old, edit.new)
            case "supportedVersions" if isinstance(one, list) and isinstance(other, list):
                yield from _versions(one, other, inside)
            case "serverInfo":
                yield from _server_info_changes(one, other, inside, measure)
            case "_meta":
                yield from _server_info_changes(one, other, inside, measure)
            case _:
                yield from _text_changes(one, other, inside, measure)


def _capabilities(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    """Yield the changes of capabilities: one counts as there unless it is absent or false."""
    for edit in edits(_plain(old), _plain(new), path, measure):
        had, has = (value not in (ABSENT, False, None) for value in (edit.old, edit.new))
        rule = "metadata-changed"
        if had is not has:
            rule = "capability-removed" if had else "capability-added"
        yield Change(rule, edit.path, edit.old, edit.new)


def _versions(old: list[Any], new: list[Any], path: ValuePath) -> Iterator[Change]:
    for i, version in enumerate(old):
        if version not in new:
            yield Change("protocol-version-removed", (*path, Item(i, None)), version)
    for j, version in enumerate(new):
        if version not in old:
            yield Change("protocol-version-added", (*path, Item(None, j)), ABSENT, version)


def _server_info_changes(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    for edit in edits(_plain(old), _plain(new), path, measure):
        yield Change("server-info-changed", edit.path, edit.old, edit.new)


def _members(
    old: list[Any],
    new: list[Any],
    path: ValuePath,
    catalog: Catalog,
    compared: Callable[[Any, Any, ValuePath, Measure], Iterator[Change]],
    measure: Measure,
) -> Iterator[Change]:
    """Yield the changes of a list whose members have names."""
    before, after = _by_name(old, catalog.name), _by_name(new, catalog.name)
    renamed = _renamed(before, after, old, new, catalog)
    for name, i in before.items():
        if name in renamed:
            j = after[renamed[name]]
            inside = (*path, _item(name, i, j, catalog), catalog.name)
            yield Change(catalog.renamed, inside, name[0], renamed[name][0])
        elif name in after:
            j = after[name]
            yield from compared(old[i], new[j], (*path, _item(name, i, j, catalog)), measure)
        else:
            yield Change(catalog.removed, (*path, _item(name, i, None, catalog)), old[i])
    for name, j in after.items():
        if name not in before and name not in renamed.values():
            rule, member = catalog.added, new[j]
            is_argument = catalog is _ARGUMENTS and isinstance(member, dict)
            if is_argument and member.get("required") is True:
                rule = "argument-required"
            yield Change(rule, (*path, _item(name, None, j, catalog)), ABSENT, member)
    common = [name for name in before if name in after]
    order = [name for name in after if name in before]
    if common != order and not measure.leeway.is_unordered(path):
        names = [[name for name, _ in row] for row in (common, order)]
        yield Change("list-reordered", path, *names)


def _renamed(
    before: dict[MemberName, int],
    after: dict[MemberName, int],
    old: list[Any],
    new: list[Any],
    catalog: Catalog,
) -> dict[MemberName, MemberName]:
    """Return the new names of members that are gone, where one new member says the same."""
    rows: dict[bytes, tuple[list[MemberName], list[MemberName]]] = {}
    for side, (mine, theirs, members) in enumerate(((before, after, old), (after, before, new))):
        for name, place in mine.items():
            said = members[place]
            if catalog.renamed and name not in theirs and _is_described(said):
                key = key_of({k: v for k, v in said.items() if k not in (catalog.name, "title")})
                rows.setdefault(key, ([], []))[side].append(name)
    return {gone[0]: come[0] for gone, come in rows.values() if len(gone) == len(come) == 1}


def _is_described(member: Any) -> bool:
    """Return whether a member has a description, by which it is known again."""
    return isinstance(member, dict) and bool(member.get("description"))


def _by_name(members: list[Any], name: str) -> dict[MemberName, int]:
    """Key by the name, or "", and by how many of that name stood before it."""
    seen: Counter[str] = Counter()
    found = {}
    for place, member in enumerate(members):
        called = member.get(name) if isinstance(member, dict) else None
        key = called if isinstance(called, str) else ""
        found[key, seen[key]] = place
        seen[key] += 1
    return found


def _item(name: MemberName, old: int | None, new: int | None, catalog: Catalog) -> Item:
    return Item(old, new, (catalog.name, name[0]) if name[0] and not name[1] else None)


def _skill_changes(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield from _text_changes(old, new, path, measure)
        return
    for name in dict.fromkeys((*old, *new)):
        one, other, inside = old.get(name, ABSENT), new.get(name, ABSENT), (*path, name)
        if name == "frontmatter":
            if next(edits(_plain(one), _plain(other), inside, measure), None) is not None:
                yield Change("skill-frontmatter-changed", inside, one, other)
        elif name != "resources":
            yield from _text_changes(one, other, inside, measure)
        elif isinstance(one, list) and isinstance(other, list):
            yield from _members(one, other, inside, _SKILL_FILES, _skill_file_changes, measure)
        elif one != other:
            rule = "skill-dynamic" if isinstance(one, list) else "metadata-changed"
            yield Change(rule, inside, one, other)


def _skill_file_changes(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    """Yield the changes of a file of a skill: another digest has mostly another size, too."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield from _text_changes(old, new, path, measure)
        return
    for name in ("digest", "size"):
        one, other = old.get(name, ABSENT), new.get(name, ABSENT)
        if next(edits(one, other, (*path, name), measure), None) is not None:
            yield Change("skill-content-changed", (*path, name), one, other)
            break
    rest = [
        {name: value for name, value in one.items() if name not in ("digest", "size")}
        for one in (old, new)
    ]
    yield from _metadata(rest[0], rest[1], path, measure)


def _member_changes(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    """Yield the changes of a tool, prompt or resource."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield from _text_changes(old, new, path, measure)
        return
    for name in dict.fromkeys((*old, *new)):
        one, other, inside = old.get(name, ABSENT), new.get(name, ABSENT), (*path, name)
        if name == "inputSchema":
            yield from schema_changes(_schema(one), _schema(other), inside, INPUT)
        elif name == "outputSchema":
            yield from _output(one, other, inside)
        elif name == "arguments" and _is_list(one) and _is_list(other):
            rows = (one if one is not ABSENT else [], other if other is not ABSENT else [])
            yield from _members(*rows, inside, _ARGUMENTS, _argument, measure)
        elif name == "execution":
            for change in _text_changes(_plain(one), _plain(other), inside, measure):
                yield _judged_support(change) if change.path[-1] == "taskSupport" else change
        else:
            yield from _text_changes(one, other, inside, measure)


def _judged_support(change: Change) -> Change:
    """Return a change of `taskSupport` under the rule that judges it."""
    sides = ("forbidden" if one is ABSENT else str(one) for one in (change.old, change.new))
    taken, takes = (_TAKEN_AS_TASK.get(one, set()) for one in sides)
    if not taken or not takes or taken == takes:
        return change
    rule = "constraint-tightened" if taken - takes else "constraint-loosened"
    return attrs.evolve(change, rule=rule)


def _output(old: Any, new: Any, path: ValuePath) -> Iterator[Change]:
    if old is ABSENT or new is ABSENT:
        rule = "output-schema-removed" if new is ABSENT else "output-schema-added"
        yield Change(rule, path, old, new)
    else:
        yield from schema_changes(old, new, path, OUTPUT)


def _argument(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    """Yield the changes of an argument of a prompt."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield from _text_changes(old, new, path, measure)
        return
    needed, needs = old.get("required") is True, new.get("required") is True
    if needed is not needs:
        words = ("optional", "required") if needs else ("required", "optional")
        yield Change("argument-required" if needs else "argument-optional", path, *words)
    old, new = ({k: v for k, v in one.items() if k != "required"} for one in (old, new))
    yield from _metadata(old, new, path, measure)


def _metadata(
    old: dict[str, Any], new: dict[str, Any], path: ValuePath, measure: Measure
) -> Iterator[Change]:
    for name in dict.fromkeys((*old, *new)):
        one, other = old.get(name, ABSENT), new.get(name, ABSENT)
        yield from _text_changes(one, other, (*path, name), measure)


def _text_changes(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Change]:
    """Yield what changed in descriptions, hints and icons."""
    if old is ABSENT or new is ABSENT:
        found = [(path, old, new)]
    else:
        found = [(edit.path, edit.old, edit.new) for edit in edits(old, new, path, measure)]
    for where, one, other in found:
        rule = "description-changed" if where[-1] in _TEXTS else "metadata-changed"
        yield Change(rule, where, one, other)


def _is_list(value: Any) -> bool:
    return value is ABSENT or isinstance(value, list)


def _schema(value: Any) -> Any:
    """Return a schema; none takes everything."""
    return {} if value is ABSENT else value


def _plain(value: Any) -> Any:
    return {} if value is ABSENT or value is None else value
