"""A JSON Schema document: which schema a reference means, and which schemas are equal with all that
they refer to.

A schema is a tuple of `SchemaPart`s that must all hold: the schema as written, what its `$ref`
names, the branches of its `allOf`. The empty tuple accepts everything. `schema_forms` reads what
the parts say.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urljoin

import attrs

from mcpmock.protocol.json_schema import step_into

from .normalize import key_of
from .severity import DocumentPath

_MAX_REFERENCES = 20
_BESIDE = {"$ref", "$defs", "definitions"}


@attrs.frozen(eq=False)
class SchemaPart:
    """A schema as it is written."""

    raw: Any
    resource: Any
    """The schema that references in it begin at: the document, or one with an `$id`."""
    path: DocumentPath
    """The way to it. What a reference names has the path of the reference."""

    def inside(self, raw: Any, *steps: str | int) -> SchemaPart:
        """Return a schema within this one."""
        resource = raw if isinstance(raw, dict) and _names_resource(raw) else self.resource
        return SchemaPart(raw, resource, (*self.path, *steps))


Schema = tuple[SchemaPart, ...]
EVERYTHING: Schema = ()


@attrs.define(eq=False)
class SchemaDocument:
    """A schema with all that stands in it."""

    root: Any
    _by_uri: dict[str, Any] | None = None
    _uris: dict[int, str] = attrs.field(factory=dict)
    _written: dict[int, tuple[bytes, set[str]]] = attrs.field(factory=dict)

    @property
    def schema(self) -> Schema:
        return (SchemaPart(self.root, self.root, ()),)

    def identity(self, schema: Schema) -> tuple[int, ...]:
        """Return a key that is equal for the same parts, by reference or not."""
        return tuple(sorted({id(self._meant(part).raw) for part in schema}))

    def _meant(self, part: SchemaPart) -> SchemaPart:
        """Return what a part names that is a mere reference."""
        for _ in range(_MAX_REFERENCES):
            if (
                not isinstance(part.raw, dict)
                or part.raw.keys() - _BESIDE
                or "$ref" not in part.raw
            ):
                break
            target = self.referenced(part)
            if target is None:
                break
            part = target
        return part

    def referenced(self, part: SchemaPart) -> SchemaPart | None:
        """Return what the `$ref` of a part names; None if that is not in this document."""
        reference = part.raw["$ref"]
        if not isinstance(reference, str):
            return None
        uri, _, fragment = reference.partition("#")
        resource = part.resource
        if uri:
            by_uri = self._resources()
            resource = by_uri.get(_joined(self._uris.get(id(resource), ""), uri))
        if resource is None:
            return None
        found = SchemaPart(resource, resource, part.path)
        if fragment and not fragment.startswith("/"):
            return _anchored(found, fragment)
        for step in unquote(fragment).split("/")[1:]:
            inner = step_into(found.raw, step)
            if inner is None:
                return None
            found = attrs.evolve(found.inside(inner), path=part.path)
        return found

    @property
    def has_one_base(self) -> bool:
        """Whether equal references always mean the same schema."""
        return not self._resources().keys() - {self._uris.get(id(self.root), "")}

    def written(self, part: SchemaPart) -> tuple[bytes, set[str]]:
        """Return how a part is written, and the references in it."""
        key = id(part.raw)
        if key not in self._written:
            self._written[key] = key_of(part.raw), set(_references(part.raw))
        return self._written[key]

    @cached_property
    def targets(self) -> dict[str, SchemaPart | None]:
        """What each reference in this document names."""
        found: dict[str, SchemaPart | None] = {}
        todo = [self.root]
        while todo:
            for name in _references(todo.pop()):
                if name not in found:
                    part = SchemaPart({"$ref": name}, self.root, ())
                    target = found[name] = self.referenced(part)
                    todo += [target.raw] if target else []
        return found

    def _resources(self) -> dict[str, Any]:
        """Return the schemas with an `$id`, by their URI."""
        if self._by_uri is None:
            self._by_uri = {}
            todo = [(self.root, "")]
            while todo:
                value, base = todo.pop()
                if isinstance(value, dict):
                    base = _joined(base, _id_of(value))
                    self._by_uri.setdefault(base, value)
                    self._uris[id(value)] = base
                    todo += [(inner, base) for inner in value.values()]
                elif isinstance(value, list):
                    todo += [(inner, base) for inner in value]
        return self._by_uri


def _names_resource(raw: dict[str, Any]) -> bool:
    """Return whether it is a resource of its own; before 2019-09 `$id: "#name"` was an anchor."""
    return bool(_id_of(raw))


def _id_of(raw: dict[str, Any]) -> str:
    named = raw.get("$id")
    return named.partition("#")[0] if isinstance(named, str) else ""


def changed_references(old: SchemaDocument, new: SchemaDocument) -> set[str]:
    """Return the references that do not name the same in both documents, with all that it refers
    to.
    """
    names, changed = old.targets.keys() | new.targets.keys(), set()
    users: dict[str, list[str]] = {}
    for name in names:
        one, other = old.targets.get(name), new.targets.get(name)
        if one is None or other is None or old.written(one) != new.written(other):
            changed.add(name)
        else:
            for used in old.written(one)[1]:
                users.setdefault(used, []).append(name)
    todo = [*changed]
    while todo:
        for name in users.get(todo.pop(), ()):
            if name not in changed:
                changed.add(name)
                todo.append(name)
    return changed


def _joined(base: str, uri: str) -> str:
    try:
        return urljoin(base, uri)
    except ValueError:  # "Invalid IPv6 URL"
        return uri


def _anchored(resource: SchemaPart, name: str) -> SchemaPart | None:
    for raw in _objects(resource.raw):
        anchors = raw.get("$anchor"), raw.get("$dynamicAnchor"), raw.get("$id")
        if name in anchors[:2] or anchors[2] == f"#{name}":
            return SchemaPart(raw, resource.resource, resource.path)
    return None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            yield value
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def _references(value: Any) -> Iterator[str]:
    """Yield a dynamic one with its keyword: what it names depends on the way to it."""
    for raw in _objects(value):
        if isinstance(raw.get("$ref"), str):
            yield raw["$ref"]
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in raw:
                yield f"{keyword} {raw[keyword]}"
