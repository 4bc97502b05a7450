"""`ExchangeIndex`: what the exchanges of a recorded session carry, besides the messages that an
`answer_index.AnswerIndex` knows. `exchange_reader` makes it, `known_answers` plays it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from mcpmock.protocol.messages import Fact

from .header_profile import Fingerprint


class ExchangePart(Struct, frozen=True):
    """What leaves together on a recorded exchange: facts, a message if there is one, and facts."""

    exchange: int
    places: tuple[int, ...]
    """The places of all of them in the episode; the fields of an event are at that of its data."""
    before: tuple[Fact, ...] = ()
    after: tuple[Fact, ...] = ()
    has_message: bool = True


class ExchangeIndex(Struct, frozen=True, eq=False):
    """The exchanges of a session."""

    numbers: Sequence[int]
    """The exchanges of the client messages, by the numbers of these."""
    profiles: Sequence[Fingerprint]
    """The profiles of their heads."""
    parts: Mapping[int, ExchangePart]
    """What leaves, by the place of its message, or of its first fact."""
    streams: Sequence[int]
    """The numbers of the requests for streams (GET)."""
    session_ids: frozenset[str]
    """The ids that the server gave the session, or their placeholders."""
