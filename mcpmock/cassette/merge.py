"""Cassettes joined into one: all their takes in the order they are given, in canonical form with
their times. Bytes in and bytes out.

Concatenating files does it too, as long as none ends in a torn line; this also puts the takes in
form, seals them and refuses what is in it already. Reading and writing is the command line's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import attrs

from mcpmock.errors import CassetteError

from .canonical import Canonical, canonical
from .model import Damage


@attrs.frozen
class Merged:
    """One cassette of several."""

    data: bytes
    takes: int
    events: int
    sealed: int
    """How many takes have a footer; the others were never closed by their recorder."""
    torn: tuple[tuple[str, Damage], ...]
    """By file, the lines that were never written to their end, and are left out."""


def merge(parts: Iterable[tuple[str, bytes]]) -> Merged:
    """Undamaged cassettes, by the names of their files, as one. Raises CassetteError for one that
    holds the same as another: a replay would play it twice.
    """
    names: dict[bytes, str] = {}
    joined: list[Canonical] = []
    torn: list[tuple[str, Damage]] = []
    for name, data in parts:
        digest = hashlib.sha256(data).digest()
        if digest in names:
            raise CassetteError(name, f"holds the same as {names[digest]}", hint="leave one out")
        names[digest] = name
        formed = canonical(data, "keep")
        joined.append(formed)
        torn += [(name, damage) for damage in formed.torn]
    return Merged(
        b"".join(formed.data for formed in joined),
        takes=sum(formed.takes for formed in joined),
        events=sum(formed.events for formed in joined),
        sealed=sum(formed.sealed for formed in joined),
        torn=tuple(torn),
    )
