"""The takes of one test among others in a cassette: replaced by new ones, or put first. Bytes in
and bytes out, as in `merge`; `testing.cassette_store` writes the file.

A take that a test recorded names it in its header. Several tests may share a cassette: what one of
them records must not throw away what the others did.
"""

from __future__ import annotations

import msgspec

from .lines import Sheet, take_apart
from .model import Cassette
from .parser import header_of


def appended(old: bytes, new: bytes) -> bytes:
    """One cassette behind another, which may end in a torn line."""
    return old + (b"\n" if old and not old.endswith(b"\n") else b"") + new


def retaken(old: bytes, new: bytes, test: str) -> bytes:
    """The old cassette with the new takes in the place of those of this test, and of those that are
    of no test: nobody else would replace them. The takes of other tests stay, byte for byte.
    """
    sheets, _ = take_apart(old)
    kept: list[bytes] = []
    placed = False
    for sheet in sheets:
        by = _test_of(sheet)
        if by not in (None, test):
            kept.append(sheet.data)
        elif not placed:
            placed = True
            kept.append(appended(new, b""))
    return b"".join(kept if placed else [*kept, new])


def own_first(cassette: Cassette, test: str) -> Cassette:
    """The cassette as this test plays it: what it recorded itself comes before what others did,
    which may have asked the same of a server in another state.
    """
    takes = sorted(cassette.takes, key=lambda take: take.header.test != test)
    return msgspec.structs.replace(cassette, takes=takes)


def _test_of(sheet: Sheet) -> str | None:
    header = None if sheet.header is None else header_of(sheet.header.raw)
    return None if header is None else header.test
