"""The values that a plan is made of: durations, sizes, rates, chances, counts, words, texts.

A knob with bounds or units is an `Annotated` type whose `Knob` says what it takes. `read_value` is
the one reader of values, from a plan and in Python alike: a number is in seconds, bytes or bytes a
second, a text has its unit (`"250ms"`, `"64KiB"`, `"1Mbps"`).
"""

from __future__ import annotations

import math
import signal
from collections.abc import Iterable, Mapping, Sized
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import attrs

from mcpmock.lazy_pattern import lazy_pattern

_NUMBER_AND_UNIT = lazy_pattern(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]+)")
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_SIZES: dict[str, float] = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3}
_SIZES |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZES |= {"kB": 1000} | {unit.lower(): factor for unit, factor in _SIZES.items()}
_RATES: dict[str, float] = {f"{unit}/s": factor for unit, factor in _SIZES.items()}
_RATES |= {"bps": 1 / 8, "kbps": 1000 / 8, "Mbps": 1000**2 / 8, "Gbps": 1000**3 / 8}
_Number = TypeVar("_Number", int, float)
_PLAIN_TYPES: Mapping[object, str] = {str: "a text", bool: "true or false", int: "a whole number"}


@attrs.frozen(kw_only=True)
class Knob:
    """What a number may be. `units` are the words that a text ends in; none for bare numbers."""

    what: str
    units: Mapping[str, float] = attrs.field(factory=dict, hash=False)
    least: float = 0
    most: float = math.inf
    whole: bool = False

    def read(self, value: object) -> Any:
        """Return the number. Raises ValueError with what it has to be."""
        number: Any = self._parsed(value) if isinstance(value, str) else value
        types = (int,) if self.whole else (int, float)
        if type(number) in types and self.least <= number <= self.most:
            return number
        raise ValueError(f"expected {self.what}, not {shown(value)}")

    def _parsed(self, text: str) -> float | int | None:
        found = _NUMBER_AND_UNIT.fullmatch(text.strip())
        if found is None or (factor := self.units.get(found[2])) is None:
            return None
        if self.whole:
            return round(float(found[1]) * factor)
        # `250ms` is to be 0.25 and not 0.25000000000000006: dividing is exact where multiplying
        # by a thousandth is not.
        return float(found[1]) / round(1 / factor) if factor < 1 else float(found[1]) * factor


_SECONDS = Knob(
    what='a duration as "250ms" or "2s", or a number of seconds', units=_TIMES, most=1e9
)
_SIZE = Knob(what='a size as "512B" or "64KiB", or a number of bytes', units=_SIZES, whole=True)
_RATE = Knob(
    what='a rate as "64KiB/s" or "1Mbps", or a number of bytes a second',
    units=_RATES,
    least=1,
    whole=True,
)


@attrs.frozen(kw_only=True)
class _SignalKnob(Knob):
    def read(self, value: object) -> Any:
        if isinstance(value, str):
            name = value.upper()
            value = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", value)
        if isinstance(value, bool) or value not in signal.valid_signals():
            raise ValueError(f"expected {self.what}, not {shown(value)}")
        return int(value)  # type: ignore[call-overload]


_MILLISECONDS = Knob(
    what='a time as "1500ms" or "2s", or a number of milliseconds',
    units={unit: factor * 1000 for unit, factor in _TIMES.items()},
    whole=True,
)
_SIGNAL = _SignalKnob(what='a signal of this system as "SIGKILL" or 9')


Milliseconds = Annotated[int, _MILLISECONDS]
Signal = Annotated[int, _SIGNAL]
Seconds = Annotated[float, _SECONDS]
Size = Annotated[int, _SIZE]
Rate = Annotated[int, _RATE]
Chance = Annotated[float, Knob(what="a number from 0 to 1", most=1)]
Count = Annotated[int, Knob(what="a whole number from 0", whole=True)]
Ordinal = Annotated[int, Knob(what="a whole number from 1", least=1, whole=True)]
Status = Annotated[
    int, Knob(what="an HTTP status from 200 to 599", least=200, most=599, whole=True)
]
Code = Annotated[int, Knob(what="a whole number", least=-math.inf, whole=True)]
ExitCode = Annotated[int, Knob(what="an exit status from 0 to 255", most=255, whole=True)]


def read_value(value: Any, type_: Any) -> Any:
    """Return the value of a field of this type. Raises ValueError with what it has to be."""
    args, origin = get_args(type_), get_origin(type_)
    accepted = type_ not in _PLAIN_TYPES or type(value) is type_
    if origin is Annotated:
        return args[1].read(value)
    if origin is Literal:
        accepted = value in args
    elif origin in (Union, UnionType):
        inside = [arg for arg in args if arg is not NoneType]
        if len(inside) == 1 and value is not None:
            return read_value(value, inside[0])
        accepted = type(value) in {get_origin(arg) or arg for arg in args}
    elif origin is dict:
        accepted = isinstance(value, Mapping)
    elif origin is tuple:
        types = args[:1] * len(value) if ... in args and isinstance(value, Sized) else args
        if isinstance(value, list | tuple) and len(value) == len(types):
            return tuple(map(read_value, value, types))
        accepted = False
    if not accepted:
        raise ValueError(f"expected {describe_type(type_)}, not {shown(value)}")
    return value


def describe_type(type_: Any) -> str:
    """Return what a plan may write for a field of this type."""
    args, origin = [arg for arg in get_args(type_) if arg is not NoneType], get_origin(type_)
    if origin is Annotated:
        return str(args[1].what)
    if origin is Literal:
        return f"one of {', '.join(args)}"
    if origin is tuple:
        return f"a list{'' if ... in args else f' of {len(args)}'}; each {describe_type(args[0])}"
    if origin is dict:
        return "a table"
    if origin in (Union, UnionType):
        return " or ".join(map(describe_type, args))
    return _PLAIN_TYPES.get(type_, "any value")


def list_mistakes(values: Any, hints: Mapping[str, Any]) -> Iterable[str]:
    """Read the fields of a frozen attrs object; the mistakes, each with the field's name."""
    for field in attrs.fields(type(values)):
        try:
            value = read_value(getattr(values, field.name), hints[field.name])
            object.__setattr__(values, field.name, value)
        except ValueError as error:
            yield f"{field.name}: {error}"


def to_seconds(value: float | str) -> float:
    """`"250ms"` as 0.25; a number is in seconds. An invalid value stays as it is, so that all
    mistakes of a fault are found together.
    """
    return _read_number(_SECONDS, value)


def to_bytes(value: int | str) -> int:
    """`"64KiB"` as 65536; a number is in bytes."""
    return _read_number(_SIZE, value)


def to_rate(value: int | str) -> int:
    """`"64KiB/s"` as 65536; a number is in bytes per second."""
    return _read_number(_RATE, value)


def to_milliseconds(value: int | str) -> int:
    """`"2s"` as 2000; a number is in milliseconds."""
    return _read_number(_MILLISECONDS, value)


def to_signal(value: int | str) -> int:
    """`"SIGKILL"` as 9."""
    return _read_number(_SIGNAL, value)


def to_span(value: tuple[float | str, float | str] | None) -> tuple[float, float] | None:
    """Return two durations."""
    return value if value is None else tuple(map(to_seconds, value))  # type: ignore[return-value]


def _read_number(knob: Knob, value: _Number | str) -> _Number:
    try:
        return knob.read(value)  # type: ignore[no-any-return]
    except ValueError:
        return value  # type: ignore[return-value]


def shown(value: object) -> str:
    """Return a value as a plan spells it, nearly, and not long."""
    if isinstance(value, bool):
        text = str(value).lower()
    else:
        text = str(value) if hasattr(value, "isoformat") else repr(value)  # a date of TOML
    return text if len(text) <= 60 else text[:57] + "..."


def knob_of(type_: object) -> Knob | None:
    """Return the knob of an annotated type, also where the value may be left out (`Seconds |
    None`).
    """
    found = next((m for m in getattr(type_, "__metadata__", ()) if isinstance(m, Knob)), None)
    if found is not None:
        return found
    inside = (knob_of(arg) for arg in getattr(type_, "__args__", ()))
    return next((knob for knob in inside if knob is not None), None)
