"""Joins cassettes: their takes in the given order, in canonical form with their times. Bytes in and
bytes out.

Concatenating files that end in a whole line joins them too; `merge` also formats and seals the
takes and refuses duplicates.
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
