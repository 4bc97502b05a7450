"""`StubScript`: a hand-written server as values. What it offers, and for each call what it says, in
which order.

An `StubEntry` says which calls it is for; its `StubStep`s are the answers, the nth for the nth
call of a
session. Nothing here has state: how often what was called is `stage`'s, and what a result looks
like in which revision `results`'. `api.stub` writes these, also while a session runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any
from urllib.parse import unquote

import attrs

from mcpmock.playback.variables import Mismatch, compare

Arguments = dict[str, Any]
_VARIABLE = re.compile(r"\{(\w+)\}")


class RouteKind(Enum):
    """What an entry stands for."""

    TOOL = "tool"
    PROMPT = "prompt"
    RESOURCE = "resource"
    TEMPLATE = "template"
    METHOD = "method"


CALLED_BY = {
    RouteKind.TOOL: "tools/call",
    RouteKind.PROMPT: "prompts/get",
    RouteKind.RESOURCE: "resources/read",
    RouteKind.TEMPLATE: "resources/read",
}
"""The method that calls an entry; one of another kind has the method for its name."""


@attrs.frozen
class StubMessage:
    """A notification, `after` so many seconds behind what came before it. One without a method is
    progress of the call: `params` lack the token then.
    """

    method: str | None
    params: Mapping[str, Any] | None
    after: float = 0.0


@attrs.frozen
class StubReply:
    """A JSON value, or a function that makes one of the arguments."""

    value: Any


@attrs.frozen
class StubRefusal:
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


@attrs.frozen
class StubSilence:
    """No answer, ever."""


@attrs.frozen
class StubRecorded:
    """The recording answers."""


StubAnswer = StubReply | StubRefusal | StubSilence | StubRecorded


@attrs.frozen
class StubStep:
    """What one call gets: notifications, and then, after so many seconds, the answer."""

    answer: StubAnswer
    sayings: tuple[StubMessage, ...] = ()
    after: float = 0.0


Test = Callable[[Any], object]


@attrs.frozen
class Condition:
    """What the arguments of a call must be: `wanted` names some of them, each with its value or
    with a function that is given the live one; `test` is given all of them.
    """

    wanted: Mapping[str, Any] = attrs.field(factory=dict)
    test: Test | None = None

    def __bool__(self) -> bool:
        return bool(self.wanted) or self.test is not None

    def differences(self, arguments: Arguments, path: str) -> list[Mismatch]:
        """Where these arguments are other ones; none if they are meant."""
        found = []
        for name, wanted in self.wanted.items():
            at = f"{path}.{name}"
            if name not in arguments:
                found.append(Mismatch(at, _told(wanted), None))
            elif callable(wanted):
                found += _tried(wanted, arguments[name], at)
            else:
                found += compare(wanted, arguments[name], at)
        if self.test is not None:
            found += _tried(self.test, arguments, path)
        return found


@attrs.define(eq=False)
class StubEntry:
    """One tool, prompt, resource or method under one condition. Equal only to itself."""

    kind: RouteKind
    name: str
    repeats: str
    condition: Condition = attrs.field(factory=Condition)
    steps: list[StubStep] = attrs.field(factory=list)

    def arguments_of(self, method: str, params: Mapping[str, Any]) -> Arguments | None:
        """The arguments of a call that this entry may be for; None for any other call."""
        if method != CALLED_BY.get(self.kind, self.name):
            return None
        match self.kind:
            case RouteKind.TOOL | RouteKind.PROMPT:
                given = params.get("arguments")
                mine = params.get("name") == self.name
                return (given if isinstance(given, dict) else {}) if mine else None
            case RouteKind.RESOURCE:
                return {} if params.get("uri") == self.name else None
            case RouteKind.TEMPLATE:
                return self._variables(str(params.get("uri")))
            case RouteKind.METHOD:
                return {name: value for name, value in params.items() if name != "_meta"}

    def differences(self, arguments: Arguments) -> list[Mismatch]:
        """Where these arguments are not what the condition asks for."""
        inside = self.kind in (RouteKind.TOOL, RouteKind.PROMPT)
        return self.condition.differences(arguments, "$.arguments" if inside else "$")

    @property
    def rank(self) -> tuple[bool, bool]:
        """Entries are looked at in this order, those of one rank as they were written: what has a
        name of its own before a whole method, what has a condition before what has none.
        """
        return self.kind is RouteKind.METHOD, not self.condition

    def step(self, turn: int) -> StubStep | None:
        """What the call of this turn (from 0) gets; None where nothing is left."""
        if turn < len(self.steps):
            return self.steps[turn]
        if not self.steps or self.repeats == "error":
            return None
        return self.steps[turn % len(self.steps) if self.repeats == "cycle" else -1]

    def _variables(self, uri: str) -> Arguments | None:
        """Of a template's URI. A variable ends where the next `/` is."""
        parts = _VARIABLE.split(self.name)
        pattern = "".join("([^/]+)" if i % 2 else re.escape(part) for i, part in enumerate(parts))
        found = re.fullmatch(pattern, uri)
        if found is None:
            return None
        return dict(zip(parts[1::2], map(unquote, found.groups()), strict=True))


@attrs.define
class StubScript:
    """All that was written of one server. Lists only grow, so sessions may read meanwhile."""

    name: str = "stub"
    version: str = "1"
    instructions: str | None = None
    revision: str | None = None
    """The only revision that it speaks; None for all of them."""
    entries: list[StubEntry] = attrs.field(factory=list)
    listed: dict[tuple[RouteKind, str], Arguments] = attrs.field(factory=dict)
    """What the lists say of each tool, prompt, resource and template."""
    announcements: list[StubMessage] = attrs.field(factory=list)
    """What the server says of its own accord, once the session is open."""

    @property
    def info(self) -> dict[str, str]:
        """Who the server is, in the words of the protocol."""
        return {"name": self.name, "version": self.version}

    def entries_for(
        self, method: str, params: Mapping[str, Any]
    ) -> list[tuple[StubEntry, Arguments]]:
        """The entries that a call may be for, the first to be asked first, whatever their
        conditions say.
        """
        pairs = [(entry, entry.arguments_of(method, params)) for entry in list(self.entries)]
        found = [(entry, arguments) for entry, arguments in pairs if arguments is not None]
        return sorted(found, key=lambda pair: pair[0].rank)

    def offers(self, *kinds: RouteKind) -> bool:
        """Whether there is anything of these kinds."""
        return any(kind in kinds for kind, _ in list(self.listed))


def _tried(test: Test, value: Any, path: str) -> list[Mismatch]:
    """A condition that fails with an exception is not met, and says why."""
    try:
        met = bool(test(value))
    except Exception as error:  # noqa: BLE001 (the user's own function)
        return [Mismatch(path, f"<{_name(test)} raised {error!r}>", value)]
    return [] if met else [Mismatch(path, _told(test), value)]


def _told(wanted: Any) -> Any:
    return f"<{_name(wanted)}>" if callable(wanted) else wanted


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
