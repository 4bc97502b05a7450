"""`StubScript`: a hand-written server as values: its entries, and their answers in order.

A `StubEntry` selects calls; its `StubStep`s are the answers, the nth for the nth call of a session.
`stage` counts the calls, `results` makes results of the answers. `builder` writes the entries,
also while a session runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs
from msgspec import UNSET

from mcpmock.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from mcpmock.playback.variables import Mismatch

Arguments = dict[str, Any]
LOGGED, UPDATED = "notifications/message", "notifications/resources/updated"
_VARIABLE = lazy_pattern(r"\{(\+?)(\w+)(\*?)\}")


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
"""The method that calls an entry of each kind; a `METHOD` entry has the method as its name."""


@attrs.frozen
class StubMessage:
    """A notification, sent `after` seconds after the message before it. Without a method it is
    progress of the call, and `params` lack the token.
    """

    method: str | None
    params: Mapping[str, Any] | None
    after: float = 0.0


@attrs.frozen
class StubReply:
    """A JSON value, or a function that computes one from the arguments."""

    value: Any


@attrs.frozen
class StubRun:
    """A function that answers a call: it takes the `StubCall`."""

    function: Callable[[Any], Any]


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


StubAnswer = StubReply | StubRun | StubRefusal | StubSilence | StubRecorded


@attrs.frozen
class StubStep:
    """The answer to one call: notifications, and `after` seconds later the answer."""

    answer: StubAnswer
    messages: tuple[StubMessage, ...] = ()
    after: float = 0.0


ArgumentTest = Callable[[Any], object]


@attrs.frozen
class Condition:
    """A condition on the arguments of a call: `wanted` holds a value or a test function for some of
    them; `test` takes all of them.
    """

    wanted: Mapping[str, Any] = attrs.field(factory=dict)
    test: ArgumentTest | None = None

    def __bool__(self) -> bool:
        return bool(self.wanted) or self.test is not None

    def differences(self, arguments: Arguments, path: str) -> list[Mismatch]:
        """Return where these arguments differ from the wanted ones; empty if the condition is
        met.
        """
        if not self:
            return []

        from mcpmock.playback.variables import Mismatch, compare  # the demo server starts without

        found = []
        for name, wanted in self.wanted.items():
            at = f"{path}.{name}"
            if name not in arguments:
                found.append(Mismatch(at, _show_wanted(wanted), UNSET))
            elif callable(wanted):
                found += _apply_test(wanted, arguments[name], at)
            else:
                found += compare(wanted, arguments[name], at)
        if self.test is not None:
            found += _apply_test(self.test, arguments, path)
        return found


@attrs.define(eq=False)
class StubEntry:
    """One tool, prompt, resource or method under one condition. Equal only to itself."""

    kind: RouteKind
    name: str
    repeats: str
    condition: Condition = attrs.field(factory=Condition)
    steps: list[StubStep] = attrs.field(factory=list)
    method: str = attrs.field(init=False)
    """The method that calls it."""

    @method.default
    def _called_by(self) -> str:
        return CALLED_BY.get(self.kind, self.name)

    def arguments_of(self, method: str, params: Mapping[str, Any]) -> Arguments | None:
        """Return the arguments of a call that this entry may be for; None for any other call."""
        if method != self.method:
            return None
        match self.kind:
            case RouteKind.TOOL | RouteKind.PROMPT:
                given = params.get("arguments")
                mine = params.get("name") == self.name
                return (given if isinstance(given, dict) else {}) if mine else None
            case RouteKind.RESOURCE:
                return {} if params.get("uri") == self.name else None
            case RouteKind.TEMPLATE:
                return self._match_template(str(params.get("uri")))
            case RouteKind.METHOD:
                return {name: value for name, value in params.items() if name != "_meta"}

    def differences(self, arguments: Arguments) -> list[Mismatch]:
        """Return where these arguments are not what the condition asks for."""
        inside = self.kind in (RouteKind.TOOL, RouteKind.PROMPT)
        return self.condition.differences(arguments, "$.arguments" if inside else "$")

    @property
    def rank(self) -> tuple[int, bool]:
        """The sort key of entries; entries of one rank stay in the order they were written. Named
        entries come before templates, these before whole methods, and entries with a condition
        before those without.
        """
        wide = (RouteKind.TEMPLATE, RouteKind.METHOD)
        return wide.index(self.kind) + 1 if self.kind in wide else 0, not self.condition

    def step(self, turn: int) -> StubStep | None:
        """Return the answer to the call of this turn (from 0); None if no answer is left."""
        if turn < len(self.steps):
            return self.steps[turn]
        if not self.steps or self.repeats == "error":
            return None
        return self.steps[turn % len(self.steps) if self.repeats == "cycle" else -1]

    def _match_template(self, uri: str) -> Arguments | None:
        """End a variable before the next `/`, but for `{+path}` (RFC 6570), `{path*}` (FastMCP)."""
        pattern, *rest = map(re.escape, _VARIABLE.split(self.name))
        for plus, _, star, text in zip(*(rest[i::4] for i in range(4)), strict=True):
            pattern += f"({'.+' if plus or star else '[^/]+'}){text}"
        found = re.fullmatch(pattern, uri)
        if found is None:
            return None
        return dict(zip(rest[1::4], map(unquote, found.groups()), strict=True))


@attrs.define
class StubScript:
    """A hand-written server. Its lists only grow, so sessions may read while a test writes."""

    name: str = "stub"
    version: str = "1"
    instructions: str | None = None
    revision: str | None = None
    """The only revision that the server supports; None for all."""
    title: str | None = None
    capabilities: Arguments = attrs.field(factory=dict)
    """Those that the server declares besides the ones that its answers need."""
    entries: list[StubEntry] = attrs.field(factory=list)
    listed: dict[tuple[RouteKind, str], Arguments] = attrs.field(factory=dict)
    """The list entry of each tool, prompt, resource and template."""
    announcements: list[StubMessage] = attrs.field(factory=list)
    """The notifications that the server sends of its own accord."""
    notified: set[str] = attrs.field(factory=set)
    """The methods of those that functions send, as far as it is known."""
    warned: set[tuple[RouteKind, str]] = attrs.field(factory=set)
    """The tools and the like whose answers were found to break what is declared."""

    @property
    def info(self) -> dict[str, str]:
        """The `serverInfo` of the protocol."""
        title = {} if self.title is None else {"title": self.title}
        return {"name": self.name, **title, "version": self.version}

    @property
    def takes_log_levels(self) -> bool:
        """Whether clients can say which log messages they want."""
        return "logging" in self.capabilities or LOGGED in self.methods_used

    @property
    def takes_subscriptions(self) -> bool:
        """Whether clients can subscribe to resources."""
        resources = self.capabilities.get("resources")
        declared = isinstance(resources, dict) and resources.get("subscribe") is True
        return declared or UPDATED in self.methods_used

    @property
    def methods_used(self) -> Iterator[str]:
        """The methods that the server answers or sends."""
        kinds = {kind for kind, _ in list(self.listed)}
        yield from (CALLED_BY[kind] for kind in kinds)
        yield from (entry.method for entry in list(self.entries))
        steps = [step for entry in list(self.entries) for step in list(entry.steps)]
        messages = [*self.announcements, *(one for step in steps for one in step.messages)]
        yield from (message.method for message in messages if message.method is not None)
        yield from list(self.notified)

    def entries_for(
        self, method: str, params: Mapping[str, Any]
    ) -> list[tuple[StubEntry, Arguments]]:
        """Return the entries that a call may be for with its arguments, by rank; conditions are not
        checked.
        """
        called = [entry for entry in list(self.entries) if entry.method == method]
        pairs = [(entry, entry.arguments_of(method, params)) for entry in called]
        found = [(entry, arguments) for entry, arguments in pairs if arguments is not None]
        return sorted(found, key=lambda pair: pair[0].rank)

    def offers(self, *kinds: RouteKind) -> bool:
        """Return whether there is anything of these kinds."""
        return any(kind in kinds for kind, _ in list(self.listed))


def check_variables(uri: str) -> None:
    """Raise ValueError for braces that are no variable: of a template that could fit no URI."""
    if "{" in (rest := _VARIABLE.sub("", uri)):
        odd = rest[rest.index("{") :].partition("}")
        raise ValueError(f"a variable is {{name}}, {{+name}} or {{name*}}, not {odd[0] + odd[1]!r}")


def _apply_test(test: ArgumentTest, value: Any, path: str) -> list[Mismatch]:
    """Return the mismatch if a test fails; an exception counts as a failure and is named."""
    from mcpmock.playback.variables import Mismatch

    try:
        met = bool(test(value))
    except Exception as error:  # noqa: BLE001 (the user's own function)
        return [Mismatch(path, f"<{_function_name(test)} raised {error!r}>", value)]
    return [] if met else [Mismatch(path, _show_wanted(test), value)]


def _show_wanted(wanted: Any) -> Any:
    return f"<{_function_name(wanted)}>" if callable(wanted) else wanted


def _function_name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
