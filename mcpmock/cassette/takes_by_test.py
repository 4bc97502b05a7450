"""Replaces the takes of one test in a cassette that several tests share, or puts them first.

A take names its test in its header (`test`). What one test records must not remove the takes of the
others. Bytes in and bytes out; `testing.cassette_store` writes the file.
"""

from __future__ import annotations

import msgspec

from .lines import Sheet, take_apart
from .model import Cassette
from .parser import header_of


def appended(old: bytes, new: bytes) -> bytes:
    """Return two cassettes as one; the first may end in a torn line."""
    return old + (b"\n" if old and not old.endswith(b"\n") else b"") + new


def retaken(old: bytes, new: bytes, test: str) -> bytes:
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


def own_first(cassette: Cassette, test: str) -> Cassette:
    """Return the cassette as this test plays it: with its own takes first."""
    # Another test may have recorded the same request with a server in another state.
    takes = sorted(cassette.takes, key=lambda take: take.header.test != test)
    return msgspec.structs.replace(cassette, takes=takes)


def _test_of(sheet: Sheet) -> str | None:
    header = None if sheet.header is None else header_of(sheet.header.raw)
    return None if header is None else header.test
