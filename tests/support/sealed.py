"""A take as bytes, with the footer that fits it."""

from __future__ import annotations

import hashlib

from tests.support import HEADER, cassette_bytes, request, response

EVENTS = cassette_bytes(("c2s", request(1, "ping")), ("s2c", response(1)), header=b"")
ONE, TWO = EVENTS.splitlines(keepends=True)


def sealed(body: bytes = HEADER + EVENTS, **wrong: int) -> bytes:
    """A take with the footer that fits it, but for what is to be wrong."""
    digest = hashlib.sha256(body).hexdigest().encode()
    events = wrong.get("events", body.count(b"\n") - 1)
    footer = b'{"footer":{"events":%d,"sha256":"%b","redacted":0,"gaps":0}}\n'
    return body + footer % (events, digest)


DAMAGED = sealed(HEADER + ONE + b"oops\n" + TWO)
