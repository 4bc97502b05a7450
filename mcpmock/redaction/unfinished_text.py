"""`UnfinishedText`: what the pieces of a stream have left open. Standard error comes as it was
written, and a secret may go on in the next piece. Used by `redactor`.
"""

from __future__ import annotations

from msgspec import Struct

from mcpmock.lazy_pattern import lazy_pattern

from .placeholders import PLACEHOLDER

_MAX_LINE_BYTES = 1024
_MARKER_BYTES = 50
"""The line that begins a private key is no longer."""
_ENDS_IN_PLACEHOLDER = lazy_pattern(PLACEHOLDER + rb"[\w-]+:\d+\Z")
_KEY_LINES = lazy_pattern(rb"[\w+/=:,.\s-]*?(?=-----END)|[\w+/=:,.\s-]*+\Z")


class UnfinishedText(Struct):
    """The line that is not finished, and whether a private key is open."""

    line: bytes = b""
    """As it was recorded; as it came if it ends in a secret, which may go on."""
    _in_key: bool = False

    def rest_of_key(self, raw: bytes) -> bytes:
        """Return the part of the next piece that belongs to a private key, empty if none is open or
        only space follows.
        """
        rest = _KEY_LINES.match(raw) if self._in_key else None
        return rest[0] if rest is not None and rest[0].strip() else b""

    def add(self, raw: bytes, clean: bytes) -> None:
        """Note the next piece, as it came and as it is recorded."""
        seen = self.line + raw
        begin = seen.rfind(b"-----BEGIN")
        if begin >= 0 and b"PRIVATE KEY" in seen[begin : begin + _MARKER_BYTES]:
            self._in_key = True
        if seen.rfind(b"-----END") > begin:
            self._in_key = False
        recorded = _last_line(self.line + clean)
        goes_on = _ENDS_IN_PLACEHOLDER.search(recorded) is not None
        self.line = (_last_line(seen) if goes_on else recorded)[-_MAX_LINE_BYTES:]


def _last_line(text: bytes) -> bytes:
    return text.rpartition(b"\n")[2]
