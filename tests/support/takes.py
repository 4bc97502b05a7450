"""Takes of one line each, to see which of them a file keeps."""

from __future__ import annotations

from mcpmock.cassette.parser import read

from . import HEADER, c, cassette_bytes


def take(text: str, test: str | None = None) -> bytes:
    """A take of one line."""
    named = b"" if test is None else b',"test":"%b"' % test.encode()
    header = HEADER.rstrip().removesuffix(b"}") + named + b"}\n"
    return cassette_bytes(c(text.encode()), header=header)


def said(data: bytes) -> list[str]:
    """What is in the takes, in order."""
    cassette = read("a", data)
    assert [] == cassette.damage
    return [(event.payload or b"").decode() for take in cassette.takes for event in take.events]
