"""What `mcpmock faults KIND` says of a kind. All of it comes from the class: the text and the
example from the docstring, the knobs from the typed fields, the rest from what the kind is for.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, get_type_hints

import attrs

from mcpmock.options.units import Knob, describe_type, knob_of
from mcpmock.printable import printable

from .fault import Fault
from .fears import fears_of
from .match import Match
from .registry import KINDS, THEMES
from .segments import On
from .shorthand import spell_shorthand, spell_toml

_MIN_SEARCHED_CHARS = 3
_COMMON = {field.name for field in attrs.fields(Fault)}
_TRANSPORTS = {"stdio": "stdio", "streamable-http": "Streamable HTTP", "sse": "HTTP+SSE"}
_MODES = "live (record, proxy), replay, and toward a server (drive, verify)"
_LOGIN_MODES = "replay --auth oauth"
_ACTS_ON = {
    On.REQUEST: "requests",
    On.RESPONSE: "responses",
    On.NOTIFICATION: "notifications",
    On.OTHER: "batches and what is not JSON-RPC",
    On.EXCHANGE: "HTTP requests without a message",
    On.BEGIN: "the start of the session",
    On.END: "the end of the client's input",
    On.LOGIN: "the login of a client",
    On.CLOSE: "the end of the server's output or of an HTTP exchange",
}


@attrs.frozen
class KnobHelp:
    """One knob of a kind: what it takes, and its value if it is not given, as a plan writes it."""

    name: str
    takes: str
    default: str
    aliases: Sequence[str]
    """Other names that a plan may write."""


@attrs.frozen
class KindHelp:
    """One kind: `summary` is the first sentence of `text`, `example` the knobs of its example."""

    kind: str
    theme: str
    text: str
    acts_on: str
    toward: str
    transports: str
    modes: str
    knobs: Sequence[KnobHelp]
    example: Mapping[str, Any]

    @property
    def summary(self) -> str:
        return " ".join(self.text.split("\n\n")[0].split())

    @property
    def shorthand(self) -> str:
        """The example as `--fault` takes it."""
        return spell_shorthand(self.kind, self.example)

    @property
    def toml(self) -> str:
        """The example as an entry of a plan."""
        lines = [f"{name} = {spell_toml(value)}" for name, value in self.example.items()]
        return "\n".join(["[[fault]]", f'kind = "{self.kind}"', *lines])

    @property
    def value(self) -> dict[str, Any]:
        """The whole as JSON."""
        return {
            "type": "kind",
            **attrs.asdict(self),
            "summary": self.summary,
            "transports": self.transports.split(", "),
            "example": {"fault": self.shorthand, "toml": self.toml},
        }


def help_of(kind: str) -> KindHelp:
    """Return what a user has to know of a kind."""
    cls = KINDS[kind]
    hints = get_type_hints(cls, include_extras=True)
    text, _, example = (inspect.getdoc(cls) or "").partition(">>> ")
    return KindHelp(
        kind=kind,
        theme=next(theme for theme, kinds in THEMES.items() if kind in kinds),
        text=text.strip(),
        acts_on=_acts_on(cls),
        toward=f"the {cls.only} only" if cls.only else cls.usually,
        transports=", ".join(
            name for transport, name in _TRANSPORTS.items() if transport in cls.transports
        ),
        modes=_LOGIN_MODES if cls.acts_on is On.LOGIN else _MODES,
        knobs=[
            KnobHelp(
                field.name,
                describe_type(hints[field.name]),
                _default(field, hints[field.name]),
                [alias for alias, name in cls.aliases.items() if name == field.name],
            )
            for field in attrs.fields(cls)
            if field.name not in _COMMON
        ],
        example=_knobs_of(example),
    )


def match_keys() -> Sequence[str]:
    """Return what `match` may name."""
    return [field.name for field in attrs.fields(Match)]


def _knobs_of(example: str) -> dict[str, Any]:
    """Return the arguments of `fault = mcpmock.faults.Kind(knob=value)`."""
    (assignment,) = ast.parse(example.strip()).body
    assert isinstance(assignment, ast.Assign)
    assert isinstance(assignment.value, ast.Call)
    words = assignment.value.keywords
    values = map(ast.literal_eval, [word.value for word in words])
    return {str(word.arg): value for word, value in zip(words, values, strict=True)}


def _acts_on(cls: type[Fault]) -> str:
    words = ", ".join(words for on, words in _ACTS_ON.items() if on in cls.acts_on)
    if cls.acts_on == On.MESSAGE:
        words = "every message"
    return f"{words} of {', '.join(cls.about)}" if cls.about else words


def _default(field: attrs.Attribute[Any], type_: Any) -> str:
    value, knob = field.default, knob_of(type_)
    if value is None or value in ("", ()):
        return "none"
    if knob is not None and knob.units and isinstance(value, int | float):
        return spell_toml(_with_unit(value, knob))
    return spell_toml(value)


def _with_unit(value: float, knob: Knob) -> str:
    """Format a value in the largest unit that has it as a whole number."""
    exact = Decimal(repr(value))
    for unit, factor in sorted(knob.units.items(), key=lambda one: -one[1]):
        many = exact / Decimal(repr(factor))
        if many >= 1 and many == int(many):
            return f"{int(many)}{unit}"
    return f"{value:g}{'s' if 's' in knob.units else 'B'}"


def kinds_on(asked: str) -> dict[str, list[KindHelp]]:
    """Return the kinds for what these words speak of: by what is feared, or else by the kinds that
    speak of it themselves.
    """
    feared = {one.text: [help_of(kind) for kind in one.kinds] for one in fears_of(asked)}
    if feared or len(asked) < _MIN_SEARCHED_CHARS:
        return feared
    word = asked.lower()
    named = [one for one in map(help_of, KINDS) if word in f"{one.kind} {one.text}".lower()]
    return {f"kinds that speak of {printable(asked)}": named} if named else {}
