"""JSON with comments and trailing commas, as clients read it: where each value stands.

No library keeps every byte and is alive: the editors of the field parse and print again, which
loses comments, or all of a file that they cannot parse (mcpm.sh).
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any, NamedTuple

from mcpmock.protocol.raw_json import Span

from .document import MAX_CONFIG_DEPTH, ConfigError, Document, Path

_BLANK = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.])|(?:true|false|null)\b"
)
_LEAD = re.compile(r"[ \t]*")
_LINE_LEAD = re.compile(r"\n([ \t]*)\Z")
_MARK = "\ufeff"


class _Value(NamedTuple):  # a frozen attrs class takes three times as long to make
    """A value where it stands. An object has members, an array elements, a scalar neither."""

    span: Span
    members: list[tuple[str, Span, _Value]] | None = None
    elements: list[_Value] | None = None


class JsonDocument(Document):
    """Raises ConfigError where it is not JSON, comments and trailing commas apart."""

    def __init__(self, file: object, text: str, *, may_be_blank: bool = False) -> None:
        super().__init__(file, text)
        start = self._skip_blank(len(_MARK) if text.startswith(_MARK) else 0)
        if may_be_blank and start == len(text):
            self._top = _Value(Span(start, start), [])
            return
        self._top = self._parse(start, 0)
        end = self._skip_blank(self._top.span.end)
        if end < len(text):
            raise self._error(end, "expected the end of the file")

    @cached_property
    def value(self) -> Any:
        return self._decode(self._top)

    def span(self, path: Path) -> Span:
        return self._find(path).span

    def name_span(self, path: Path) -> Span:
        *outer, name = path
        members = self._find(outer).members or ()
        return {known: span for known, span, _ in members}[name]

    def spelled(self, name: str, value: str | None = None) -> str:
        return json.dumps(name) if value is None else f"{json.dumps(name)}: {value}"

    def with_object(self, path: Path, value: dict[str, Any]) -> str:
        start, end = self.span(path)
        lead = _LEAD.match(self.text[:start].rpartition("\n")[2])
        assert lead is not None  # it matches nothing, too
        one_line = "\n" not in self.text[start:end]
        unit = None if one_line else "\t" if "\t" in lead[0] else "  "
        return self.text[:start] + self._indented(value, lead[0], unit) + self.text[end:]

    def with_member(self, path: Path, name: str, value: dict[str, Any]) -> str:
        there, inside = self._top, dict[str, Any]({name: value})
        steps = [*path]
        while steps and steps[0] in (known := {one[0]: one[2] for one in there.members or ()}):
            there = known[steps.pop(0)]
        if there.members is None:
            raise self._error(there.span.start, "expected an object")
        for step in reversed(steps):
            inside = {step: inside}
        if self._top.span.start == len(self.text):
            added = json.dumps(inside, ensure_ascii=False, indent=2) + "\n"
            lead = "" if self.text[-1:] in ("", _MARK, "\n") else "\n"
            return self.text + (lead + added).replace("\n", self.line_end)
        ((first, new),) = inside.items()
        start = there.span.start
        own = _LEAD.match(self.text[:start].rpartition("\n")[2])
        assert own is not None  # it matches nothing, too
        if there.members:
            _, before, last = there.members[-1]
            line = _LINE_LEAD.search(self.text, 0, before.start)
            lead, unit = (line[1], self._unit(own[0], line[1])) if line else ("", None)
            added = self.added(last.span, first, self._indented(new, lead, unit))
            return self.text[: last.span.end] + added + self.text[last.span.end :]
        lead = own[0] + self._unit(own[0], "")
        member = f"{json.dumps(first)}: {self._indented(new, lead, self._unit(own[0], ''))}"
        added = f"{self.line_end}{lead}{member}{self.line_end}{own[0]}"
        return self.text[: start + 1] + added + self.text[start + 1 :]

    def without_member(self, path: Path) -> str:
        *outer, name = path
        members = self._find(outer).members or []
        place = next(i for i, (known, _, _) in enumerate(members) if known == name)
        _, told, value = members[place]
        start, end = told.start, value.span.end
        if place:
            start = members[place - 1][2].span.end
        elif members[1:]:
            end = members[1][1].start
        around = self.text[start : told.start] + self.text[value.span.end : end]
        if around.strip(", \t\r\n"):
            raise self._error(told.start, f"comments stand around {name}: take it out by hand")
        return self.text[:start] + self.text[end:]

    def _unit(self, outer: str, inner: str) -> str:
        """Return one step of indentation."""
        return inner.removeprefix(outer) or ("\t" if "\t" in outer else "  ")

    def _indented(self, value: Any, lead: str, unit: str | None) -> str:
        text = json.dumps(value, ensure_ascii=False, indent=unit)
        return text.replace("\n", self.line_end + lead)

    def refuse_duplicates(self, path: Path) -> None:
        names: set[str] = set()
        for name, span, _ in self._find(path).members or ():
            if name in names:
                raise self._error(span.start, f"{json.dumps(name)} is there twice")
            names.add(name)

    def elements(self, path: Path) -> list[Span]:
        return [one.span for one in self._find(path).elements or ()]

    def added(self, span: Span, name: str, value: str) -> str:
        before = self.text[: span.start]
        # The white space before the name of the neighbour, if it begins a line.
        lead = re.search(r"(?:\r?\n[ \t]*)?(?=\"(?:[^\"\\]|\\.)*\"\s*:\s*\Z)", before)
        return f",{lead[0] if lead and lead[0] else ' '}{json.dumps(name)}: {value}"

    def _find(self, path: Path) -> _Value:
        found = self._top
        for step in path:
            found = {name: value for name, _, value in found.members or ()}[step]
        return found

    def _decode(self, value: _Value) -> Any:
        if value.members is not None:
            return {name: self._decode(inside) for name, _, inside in value.members}
        if value.elements is not None:
            return [self._decode(inside) for inside in value.elements]
        text = self.text[slice(*value.span)]
        if text[0] == '"' and "\\" not in text:
            return text[1:-1]  # nearly every scalar; json.loads takes ten times as long
        return json.loads(text)

    def _parse(self, at: int, depth: int) -> _Value:
        first = self.text[at : at + 1]
        if first in ("{", "["):
            if depth == MAX_CONFIG_DEPTH:
                raise self._error(at, f"nested deeper than {MAX_CONFIG_DEPTH} levels")
            return self._parse_inside(at, depth, "}" if first == "{" else "]")
        scalar = _SCALAR.match(self.text, at)
        if scalar is None:
            raise self._error(at, "expected a value")
        return _Value(Span(*scalar.span()))

    def _parse_inside(self, start: int, depth: int, bracket: str) -> _Value:
        members: list[tuple[str, Span, _Value]] = []
        elements: list[_Value] = []
        at = self._skip_blank(start + 1)
        while self.text[at : at + 1] != bracket:
            if bracket == "}":
                name = self._parse(at, depth)
                at = self._skip_blank(name.span.end)
                if self.text[name.span.start] != '"' or self.text[at : at + 1] != ":":
                    raise self._error(name.span.start, 'expected "NAME": VALUE')
                value = self._parse(self._skip_blank(at + 1), depth + 1)
                members.append((self._decode(name), name.span, value))
            else:
                value = self._parse(at, depth + 1)
                elements.append(value)
            at = self._skip_blank(value.span.end)
            if self.text[at : at + 1] == ",":
                at = self._skip_blank(at + 1)
            elif self.text[at : at + 1] != bracket:
                raise self._error(at, f"expected a comma or {bracket}")
        span = Span(start, at + 1)
        return _Value(span, members) if bracket == "}" else _Value(span, None, elements)

    def _skip_blank(self, at: int) -> int:
        blank = _BLANK.match(self.text, at)
        assert blank is not None  # it matches nothing, too
        return blank.end()

    def _error(self, at: int, reason: str) -> ConfigError:
        return ConfigError(self.file, reason, line=self.line_of(at))
