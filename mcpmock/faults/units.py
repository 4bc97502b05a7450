"""The values that a plan is made of: durations, sizes, rates, chances, counts.

Each is an `Annotated` type whose `Knob` says what it takes. In a plan a duration or a size has its
unit (`"250ms"`, `"64KiB"`): a bare number would be milliseconds to one reader and seconds to the
next. In Python it may be a number as well, in seconds or bytes: `to_seconds` and its like take
both, and `check` holds what came of it against the same bounds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import attrs

_NUMBER_AND_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]+)")
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZES = {"B": 1, "KB": 1000, "MB": 1000**2, "KiB": 1 << 10, "MiB": 1 << 20}


@attrs.frozen(kw_only=True)
class Knob:
    """What a number may be. `units` are the words that it is written with; none for bare ones."""

    what: str
    units: Mapping[str, float] = attrs.field(factory=dict, hash=False)
    least: float = 0
    most: float = math.inf
    whole: bool = False

    def read(self, value: object) -> float | int:
        """From a plan. Raises ValueError with what would have been right."""
        if self.units and isinstance(value, str):
            found = _NUMBER_AND_UNIT.fullmatch(value.strip())
            factor = None if found is None else self.units.get(found[2])
            if found is not None and factor is not None:
                return self._bounded(self._scaled(found[1], factor), value)
        elif not self.units and self._is_number(value):
            return self._bounded(value, value)  # type: ignore[arg-type]
        raise ValueError(f"expected {self.what}, not {shown(value)}")

    def check(self, value: Any) -> str | None:
        """What is wrong with a number that was given in Python."""
        if not self._is_number(value) or not self.least <= value <= self.most:
            return f"expected {self.what}, not {shown(value)}"
        return None

    def _scaled(self, number: str, factor: float) -> float | int:
        if self.whole:
            return round(float(number) * factor)
        # `250ms` is to be 0.25 and not 0.25000000000000006: dividing is exact where multiplying
        # by a thousandth is not.
        return float(number) / round(1 / factor) if factor < 1 else float(number) * factor

    def _bounded(self, number: float | int, value: object) -> float | int:
        if not self.least <= number <= self.most:
            raise ValueError(f"expected {self.what}, not {shown(value)}")
        return number

    def _is_number(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return math.isfinite(value)


_SECONDS = Knob(what='a duration as "250ms" or "2s"', units=_TIMES)
_SIZE = Knob(what='a size as "512B" or "64KiB"', units=_SIZES, whole=True)
_RATE = Knob(
    what='a rate as "64KiB/s"',
    units={f"{unit}/s": factor for unit, factor in _SIZES.items()},
    least=1,
    whole=True,
)
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


def to_seconds(value: float | str) -> float:
    """`"250ms"` as 0.25; a number is in seconds. What is no duration stays as it is, for `check` to
    complain of.
    """
    return _read(_SECONDS, value)  # type: ignore[return-value]


def to_bytes(value: int | str) -> int:
    """`"64KiB"` as 65536; a number is in bytes."""
    return _read(_SIZE, value)  # type: ignore[return-value]


def to_rate(value: int | str) -> int:
    """`"64KiB/s"` as 65536; a number is in bytes per second."""
    return _read(_RATE, value)  # type: ignore[return-value]


def to_span(
    value: tuple[float | str, float | str] | None,
) -> tuple[float, float] | None:
    """Two durations, each as `to_seconds` takes it."""
    return None if value is None else (to_seconds(value[0]), to_seconds(value[1]))


def _read(knob: Knob, value: object) -> object:
    try:
        return knob.read(value) if isinstance(value, str) else value
    except ValueError:
        return value


def shown(value: object) -> str:
    """A value as a plan spells it, nearly, and not long."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def words_of(type_: object) -> tuple[str, ...]:
    """The words of a `Literal`, also where it may be left out."""
    inside = get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)
    return next((get_args(one) for one in inside if get_origin(one) is Literal), ())


def knob_of(type_: object) -> Knob | None:
    """The knob of an annotated type, also where the value may be left out (`Seconds | None`)."""
    found = next((m for m in getattr(type_, "__metadata__", ()) if isinstance(m, Knob)), None)
    if found is not None:
        return found
    inside = (knob_of(arg) for arg in getattr(type_, "__args__", ()))
    return next((knob for knob in inside if knob is not None), None)
