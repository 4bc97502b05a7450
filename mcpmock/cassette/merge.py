"""Joins cassettes: their takes in the given order, in canonical form with their times; or replaces
the takes of one test. Bytes in and bytes out.

Concatenating files that end in a whole line joins them too; `merge` also formats and seals the
takes and refuses duplicates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import attrs
import msgspec

from mcpmock.errors import CassetteError

from .canonical import Canonical, canonical
from .lines import Sheet, take_apart
from .model import Cassette, Damage
from .parser import header_of


@attrs.frozen
class Merged:
    """The joined cassette, and what it holds."""

    data: bytes
    takes: int
    events: int
    sealed: int
    """How many takes have a footer; the others were never closed by their recorder."""
    torn: tuple[tuple[str, Damage], ...]
    """By file, the torn lines, which are left out."""


def merge(parts: Iterable[tuple[str, bytes]]) -> Merged:
    """Join undamaged cassettes, given as (file name, bytes). Raises CassetteError for two with the
    same bytes, because a replay would play them twice.
    """
    names: dict[bytes, str] = {}
    joined: list[Canonical] = []
    torn: list[tuple[str, Damage]] = []
    for name, data in parts:
        digest = hashlib.sha256(data).digest()
        if digest in names:
            raise CassetteError(name, f"holds the same as {names[digest]}", hint="leave one out")
        names[digest] = name
        formed = canonical(data, "keep", stderr="keep")
        joined.append(formed)
        torn += [(name, damage) for damage in formed.torn]
    return Merged(
        b"".join(formed.data for formed in joined),
        takes=sum(formed.takes for formed in joined),
        events=sum(formed.events for formed in joined),
        sealed=sum(formed.sealed for formed in joined),
        torn=tuple(torn),
    )


def appended(old: bytes, new: bytes) -> bytes:
    """Return two cassettes as one; the first may end in a torn line."""
    return old + (b"\n" if old and not old.endswith(b"\n") else b"") + new


def retaken(old: bytes, new: bytes, test: str | None) -> bytes:
    """Return the old cassette with the new takes in the place of the takes of this test, and of
    those that name no test, which no test would replace otherwise. The other takes stay byte for
    byte.
    """
    sheets, _ = take_apart(old)
    parts: list[bytes] = []
    placed = False
    for sheet in sheets:
        if _test_of(sheet) not in (None, test):
            parts.append(sheet.data)
        elif not placed:
            placed = True
            parts.append(appended(new, b""))
    return b"".join(parts if placed else [*parts, new])


def split_test(data: bytes, test: str | None) -> tuple[bytes, bytes]:
    """Return the takes of a test, and those of all others, byte for byte."""
    sheets, _ = take_apart(data)
    own = [_test_of(sheet) == test for sheet in sheets]
    parts = [
        b"".join(sheet.data for sheet, is_own in zip(sheets, own, strict=True) if is_own is wanted)
        for wanted in (True, False)
    ]
    return parts[0], parts[1]


def own_first(cassette: Cassette, test: str) -> Cassette:
    """Return the cassette as this test plays it: with its own takes first."""
    # Another test may have recorded the same request with a server in another state.
    takes = sorted(cassette.takes, key=lambda take: take.header.test != test)
    return msgspec.structs.replace(cassette, takes=takes)


def _test_of(sheet: Sheet) -> str | None:
    header = None if sheet.header is None else header_of(sheet.header.raw)
    return None if header is None else header.test
