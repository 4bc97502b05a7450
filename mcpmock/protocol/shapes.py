"""The shapes of messages by revision, read from `shape_table`: whether a value fits a definition,
and if not, each place where it does not.

A definition is first asked by closures over the decoded value, a microsecond or a few for most.
Only what does not fit is gone through again for the places. `rules.shapes` decides which definition
a message has to fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec

from .contents import SECRET_MARK
from .messages import encode
from .shape_table import ROWS

Step = str | int
Test = Callable[[Any], bool]


class Misfit(NamedTuple):
    """A place in a value that does not fit: the steps to it, what is wrong with it, and what the
    definition says.
    """

    steps: tuple[Step, ...]
    problem: str
    sentence: str


class _Type:
    """A type: `fits` says whether a value has it, `words` what it is."""

    fits: Test
    exactly: type | None = None
    """The type of Python of which every value fits: it is looked at without a call."""
    words: str
    plural = ""

    def misfits(self, value: Any, steps: tuple[Step, ...], says: str) -> Iterator[Misfit]:
        """Yield the places that do not fit. `says` is the sentence of the definition around it."""
        if not self.fits(value) and not hides(value):
            yield Misfit(steps, f"{_short(value)} is not {self.words}", says)


class _Plain(_Type):
    """A type of JSON, of a number also its bounds."""

    def __init__(self, kind: str, low: float | None = None, high: float | None = None) -> None:
        test, self.words, self.plural = _KINDS[kind]
        self.fits = test
        self.exactly = _EXACTLY.get(kind)
        if low is not None or high is not None:
            least, most = float("-inf") if low is None else low, high or float("inf")
            self.fits = lambda value: test(value) and least <= value <= most
            self.words += f" from {low:g}" + ("" if high is None else f" to {high:g}")


class _Constants(_Type):
    def __init__(self, values: tuple[str | int, ...]) -> None:
        self.values = values
        self.words = _one_of([encode(value).decode() for value in values])
        known = frozenset(values)
        self.fits = lambda value: type(value) in (str, int, float) and value in known


class _Array(_Type):
    """A list, perhaps of a greatest length."""

    def __init__(self, inside: _Type, most: int | None) -> None:
        self._inside, self._most = inside, most
        test, length = inside.fits, most if most is not None else float("inf")
        self.fits = lambda value: (
            type(value) is list and len(value) <= length and all(map(test, value))
        )
        limit = "" if most is None else f"at most {most} "
        self.words = f"a list of {limit}{inside.plural or inside.words}"

    def misfits(self, value: Any, steps: tuple[Step, ...], says: str) -> Iterator[Misfit]:
        if not isinstance(value, list):
            yield from super().misfits(value, steps, says)
            return
        if self._most is not None and len(value) > self._most:
            yield Misfit(steps, f"has {len(value)} items, {self._most} are allowed", says)
        for index, item in enumerate(value):
            if not self._inside.fits(item):
                yield from self._inside.misfits(item, (*steps, index), says)


class _Map(_Type):
    """An object whose members are all of one type."""

    def __init__(self, inside: _Type) -> None:
        self._inside = inside
        test = inside.fits
        self.fits = lambda value: type(value) is dict and all(map(test, value.values()))
        self.words = f"an object of {inside.plural or inside.words}"

    def misfits(self, value: Any, steps: tuple[Step, ...], says: str) -> Iterator[Misfit]:
        if not isinstance(value, dict):
            yield from super().misfits(value, steps, says)
            return
        for name, item in value.items():
            if not self._inside.fits(item):
                yield from self._inside.misfits(item, (*steps, name), says)


class _Object(_Type):
    """A definition with members; others are allowed."""

    words = "an object"

    def __init__(self, name: str, members: Mapping[str, _Type], required: tuple[str, ...]) -> None:
        self.name, self.members, self.required = name, members, required
        self.plural = "objects" if "." in name else f"{name} objects"
        tests = {member: inside.fits for member, inside in members.items()}
        exactly = {member: inside.exactly for member, inside in members.items()}

        def fits(value: Any) -> bool:
            if type(value) is not dict:
                return False
            for member in required:
                if member not in value:
                    return False
            for member, item in value.items():
                if exactly.get(member) is type(item):
                    continue
                test = tests.get(member)
                if test is not None and not test(item):
                    return False
            return True

        self.fits = fits

    @cached_property
    def constants(self) -> dict[str, tuple[str | int, ...]]:
        """The members that tell it from others."""
        kinds = self.members.items()
        return {name: kind.values for name, kind in kinds if isinstance(kind, _Constants)}

    def misfits(self, value: Any, steps: tuple[Step, ...], says: str) -> Iterator[Misfit]:
        if not isinstance(value, dict):
            yield from super().misfits(value, steps, says)
            return
        for member in self.required:
            if member not in value:
                yield Misfit((*steps, member), "missing", f"{self.name} requires {member}.")
        for member, item in value.items():
            inside = self.members.get(member)
            if inside is not None and not inside.fits(item):
                said = f"{self.name}.{member} is {inside.words}."
                yield from inside.misfits(item, (*steps, member), said)


class _Union(_Type):
    """Any of several types. Which one was meant is judged by the constants of objects."""

    def __init__(self, branches: list[_Type]) -> None:
        self.branches = _flat(branches)
        names = [one.name if isinstance(one, _Object) else one.words for one in self.branches]
        self.names = names
        self.words = self.plural = _one_of(names)
        tests = [one.fits for one in self.branches]

        self.fits = self._by_type(lambda value: any(test(value) for test in tests))

    def misfits(self, value: Any, steps: tuple[Step, ...], says: str) -> Iterator[Misfit]:
        meant = self._meant(value)
        if len(meant) == 1:
            yield from meant[0].misfits(value, steps, says)
        elif not hides(value) and not self._tells_nothing(value):
            objects = isinstance(value, dict) and any(isinstance(b, _Object) for b in self.branches)
            said = f"{_short(value)} is not {self.words}"
            yield Misfit(steps, f"none of {', '.join(self.names)}" if objects else said, says)

    def _by_type(self, fits: Test) -> Test:
        """Return the test of a value, which for contents is that of the branch with its `type`."""
        tests: dict[Any, Test] = {}
        for one in self.branches:
            values = one.constants.get("type", ()) if isinstance(one, _Object) else ()
            if len(values) != 1 or values[0] in tests:
                return fits
            tests[values[0]] = one.fits

        def fits_by_type(value: Any) -> bool:
            kind = value.get("type") if type(value) is dict else None
            return type(kind) is str and kind in tests and tests[kind](value)

        return fits_by_type

    def _meant(self, value: Any) -> list[_Type]:
        """Return the branches that the value may have been meant for."""
        if isinstance(value, list):
            return [one for one in self.branches if isinstance(one, _Array)]
        if not isinstance(value, dict):
            return []
        found = [one for one in self.branches if isinstance(one, _Object)]
        told = [one for one in found if one.constants and _agrees(one, value)]
        whole = [one for one in told if all(name in value for name in one.required)]
        return list(whole if len(whole) == 1 else told)

    def _tells_nothing(self, value: Any) -> bool:
        """Return whether a placeholder stands where the constant would."""
        names = {n for one in self.branches if isinstance(one, _Object) for n in one.constants}
        return isinstance(value, dict) and any(hides(value.get(name)) for name in names)


def _flat(branches: list[_Type]) -> list[_Type]:
    """Return the branches with those of unions inside."""
    found: list[_Type] = []
    for one in branches:
        found += one.branches if isinstance(one, _Union) else [one]
    return found


def _agrees(one: _Object, value: dict[str, Any]) -> bool:
    return all(
        value[name] in values if name in value else name not in one.required
        for name, values in one.constants.items()
    )


def hides(value: Any) -> bool:
    """Return whether a placeholder stands in the place of a value, or is a part of it."""
    # "REDACTED" is what mcp-cassette, whose recordings `convert` reads, writes for a secret.
    return isinstance(value, str) and (SECRET_MARK in value or value == "REDACTED")


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = encode(value).decode("utf-8", "replace")
    return text if len(text) <= 60 else text[:57] + "..."


def _one_of(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


_KINDS: dict[str, tuple[Test, str, str]] = {
    "string": (lambda value: type(value) is str, "a string", "strings"),
    "number": (lambda value: type(value) in (int, float), "a number", "numbers"),
    "integer": (_is_integer, "an integer", "integers"),
    "boolean": (lambda value: type(value) is bool, "a boolean", "booleans"),
    "object": (lambda value: type(value) is dict, "an object", "objects"),
    "array": (lambda value: type(value) is list, "a list", "lists"),
    "null": (lambda value: value is None, "null", ""),
    "any": (lambda value: True, "anything", "anything"),  # noqa: ARG005
}
_EXACTLY = {"string": str, "boolean": bool, "object": dict, "array": list}


class Shapes:
    """The definitions of one revision."""

    def __init__(self, revision: str) -> None:
        self._types: dict[str, str] = {}
        self._members: dict[str, dict[str, str]] = {}
        self._read: dict[str, _Type] = {}
        self.methods: dict[str, str] = {}
        """By method, the definition of its request or notification."""
        self.errors: dict[int, str] = {}
        """By code, the definition of the error, where it has one of its own."""
        name = ""
        for row in ROWS.splitlines():
            text, since, until = _bounds(row)
            if row[0] != " ":
                name, _, kind = text.partition(" = ")
            if not since <= revision <= until:
                continue
            if row[0] == " ":
                member, kind = text.split(" ", 1)
                if name not in self._members:
                    continue
                self._members[name][member] = kind
                if member == "method" and kind != "string":
                    self.methods[_constant(kind)] = name
                elif member == "code" and kind[0] in "-0123456789":
                    self.errors[int(kind)] = name
            elif kind:
                self._types[name] = kind
            else:
                self._members[name] = {}
        results = {
            method: name.removesuffix("Request") + "Result" for method, name in self.methods.items()
        }
        self._results = {method: name for method, name in results.items() if name in self}

    def __contains__(self, name: str) -> bool:
        return name in self._types or name in self._members

    def __iter__(self) -> Iterator[str]:
        yield from (*self._types, *self._members)

    def result_of(self, method: str) -> str:
        """Return the definition of the result of a method."""
        return self._results.get(method, "Result")

    def fits(self, name: str, value: Any) -> bool:
        """Return whether a value fits a definition, but for its placeholders."""
        return (self._read.get(name) or self._definition(name)).fits(value)

    def misfits(self, name: str, value: Any) -> Iterator[Misfit]:
        """Yield the places where a value does not fit a definition."""
        found = self._definition(name)
        if not found.fits(value):
            yield from found.misfits(value, (), f"{name} is {found.words}.")

    def _definition(self, name: str) -> _Type:
        found = self._read.get(name)
        if found is None:
            if name in self._types:
                found = _TypeReader(self._types[name], self._definition).union()
            else:
                rows = self._members[name].items()
                members = {
                    member.rstrip("?"): _TypeReader(kind, self._definition).union()
                    for member, kind in rows
                }
                required = tuple(member for member, _ in rows if member[-1] != "?")
                found = _Object(name, members, required)
            self._read[name] = found
        return found


_BOUND = re.compile(r" (since|until|in) (\S+)")


def _bounds(row: str) -> tuple[str, str, str]:
    """Return what a row says, and the first and the last revision in which it holds."""
    given = dict(_BOUND.findall(row))
    only = given.get("in")
    text = _BOUND.sub("", row).strip()
    return text, only or given.get("since", ""), only or given.get("until", "~")


_TOKEN = re.compile(r'"[^"]*"|-?\d+|\.\.|[][(){}|]|[^][(){}|.]+(?:\.[^][(){}|.]+)*')


class _TypeReader:
    """Reads a type as the table writes it: `(A|"b"|number(0..1))[..100]`, `{string[]}`."""

    def __init__(self, text: str, definition: Callable[[str], _Type]) -> None:
        self._tokens = _TOKEN.findall(text)
        self._definition = definition

    def union(self) -> _Type:
        branches = [self._postfix()]
        while self._take("|"):
            branches.append(self._postfix())
        if len(branches) == 1:
            return branches[0]
        values = [v for one in branches if isinstance(one, _Constants) for v in one.values]
        if all(isinstance(one, _Constants) for one in branches):
            return _Constants(tuple(values))
        return _Union(branches)

    def _postfix(self) -> _Type:
        kind = self._one()
        while self._take("["):
            most = int(self._tokens.pop(0)) if self._take("..") else None
            self._tokens.pop(0)
            kind = _Array(kind, most)
        return kind

    def _one(self) -> _Type:
        token = self._tokens.pop(0)
        if token in "({":
            inside = self.union()
            self._tokens.pop(0)
            return inside if token == "(" else _Map(inside)
        if token[0] in '"-0123456789':
            return _Constants((_constant(token),))
        if token not in _KINDS:
            return self._definition(token)
        if token == "number" and self._take("("):
            low = self._bound()
            self._take("..")
            high = self._bound()
            self._tokens.pop(0)
            return _Plain(token, low, high)
        return _Plain(token)

    def _bound(self) -> float | None:
        known = self._tokens[0].lstrip("-").isdigit()
        return float(self._tokens.pop(0)) if known else None

    def _take(self, token: str) -> bool:
        found = self._tokens[:1] == [token]
        if found:
            del self._tokens[0]
        return found


def _constant(text: str) -> Any:
    return msgspec.json.decode(text)


@cache
def shapes_of(revision: str) -> Shapes:
    """Return the definitions of a revision of the protocol."""
    return Shapes(revision)
