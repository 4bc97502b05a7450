"""Learned header verdicts: which header values a recorded server refused.

Another client library may send another head than the recorded one; a header field that is wrong on
purpose must not match. The recording distinguishes them: the server refused the wrong ones. Used by
`matcher` where no recorded request has the same head.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from mcpmock.protocol.mirrored_headers import is_mirror
from mcpmock.redaction.placeholders import holds_placeholder

from .header_profile import LAST_EVENT, Fingerprint
from .request_key import MatchSubject

MIN_ERROR_STATUS = 400
"""The lowest HTTP status that refuses a request."""
HeaderTrait = tuple[str, str | None]
"""A field and its value; None where the field is absent."""


class HeaderVerdicts(Struct, frozen=True):
    """By method: the traits that only refused requests had."""

    bad: dict[str, set[HeaderTrait]]
    names: dict[str, set[str]]

    @classmethod
    def of(cls, exchanges: Iterable[tuple[MatchSubject, int | None]]) -> HeaderVerdicts:
        """Read the verdicts from recorded requests and the status of their responses."""
        exchanged = [
            (asked.method, asked.http, status)
            for asked, status in exchanges
            if asked.http is not None and status is not None
        ]
        names: dict[str, set[str]] = {}
        for method, http, _ in exchanged:
            names.setdefault(method, set()).update(http)
        bad: dict[str, set[HeaderTrait]] = {method: set() for method in names}
        for method, http, status in exchanged:
            if status >= MIN_ERROR_STATUS:
                bad[method].update(_traits(http, names[method]))
        for method, http, status in exchanged:
            if status < MIN_ERROR_STATUS:
                bad[method].difference_update(_traits(http, names[method]))
        return cls(bad, names)

    def refused(self, live: MatchSubject) -> bool:
        """Return whether a live request has a trait that the recorded server always refused."""
        if live.http is None or not self.bad.get(live.method):
            return False
        return not self.bad[live.method].isdisjoint(_traits(live.http, self.names[live.method]))


def contradict(recorded: Fingerprint, live: Fingerprint) -> bool:
    """Return whether two requests with equal bodies differ in a field that repeats a value of the
    body (then one of them is wrong), or in the stream that they resume.
    """
    return recorded.get(LAST_EVENT) != live.get(LAST_EVENT) or any(
        is_mirror(name) and live.get(name, value) != value and not holds_placeholder(value)
        for name, value in recorded.items()
    )


def _traits(http: Fingerprint, names: Iterable[str]) -> set[HeaderTrait]:
    return {(name, http.get(name)) for name in names}
