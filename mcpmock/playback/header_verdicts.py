"""Learned header verdicts: which header values a recorded server refused.

A head may differ from the recorded one where another client library sends it; a header field that
is wrong on purpose must not. The recording tells them apart: the server refused the requests with
the wrong ones. Used by `matcher` where no recorded request has the same head.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from mcpmock.redaction.redactor import PLACEHOLDER

from .header_profile import LAST_EVENT, Fingerprint, is_fixed, is_mirror
from .request_key import MatchSubject

REFUSED = 400
"""The first status that refuses a request."""
Trait = tuple[str, str | None]
"""A field and its value; None where the field is absent."""


@attrs.frozen
class HeaderVerdicts:
    """By method: the traits that only refused requests had."""

    bad: dict[str, set[Trait]]
    names: dict[str, set[str]]

    @classmethod
    def of(cls, exchanges: Iterable[tuple[MatchSubject, int | None]]) -> HeaderVerdicts:
        """From what was asked and the status of the response."""
        exchanged = [
            (asked.method, asked.http, status)
            for asked, status in exchanges
            if asked.http is not None and status is not None
        ]
        names: dict[str, set[str]] = {}
        for method, http, _ in exchanged:
            names.setdefault(method, set()).update(n for n in http if not is_fixed(n, http))
        bad: dict[str, set[Trait]] = {method: set() for method in names}
        for method, http, status in exchanged:
            if status >= REFUSED:
                bad[method].update(_traits(http, names[method]))
        for method, http, status in exchanged:
            if status < REFUSED:
                bad[method].difference_update(_traits(http, names[method]))
        return cls(bad, names)

    def refused(self, live: MatchSubject) -> bool:
        """Whether a live request has what the recorded server refused, and never took."""
        if live.http is None or not self.bad.get(live.method):
            return False
        return not self.bad[live.method].isdisjoint(_traits(live.http, self.names[live.method]))


def contradict(recorded: Fingerprint, live: Fingerprint) -> bool:
    """Whether two requests that ask the same differ in a field that repeats what they ask: then one
    of them is wrong. Nor is a stream that goes on another one, or one that begins.
    """
    return recorded.get(LAST_EVENT) != live.get(LAST_EVENT) or any(
        is_mirror(name) and live.get(name, value) != value and PLACEHOLDER.decode() not in value
        for name, value in recorded.items()
    )


def _traits(http: Fingerprint, names: Iterable[str]) -> set[Trait]:
    return {(name, http.get(name)) for name in names}
