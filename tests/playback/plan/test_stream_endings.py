"""How responses end that were not seen to."""

from __future__ import annotations

import pytest

from mcpmock.playback.plan.builder import RecordedExchange, delayed
from mcpmock.playback.plan.plan import PlannedMessage
from mcpmock.protocol.messages import ExchangeEnd, Frame, HttpResponse
from tests.support import accepts, ends, replies, s2c

TIMES: dict[int | None, int] = {5: 3_000_000}


def known(media: str, last: Frame, left: int | None = None) -> RecordedExchange:
    head = replies(1, 200, media).fact
    assert isinstance(head, HttpResponse)
    planned = PlannedMessage(4, last, frozenset({0}), (5,), answers=True, chain=5, exchange=1)
    return RecordedExchange(1, 0, (5,), head=head, last=planned, left_us=left)


@pytest.mark.parametrize(
    ("media", "answered", "expected"),
    [
        ("text/event-stream", {5}, True),
        ("text/event-stream", set(), False),
        ("application/json", {5}, True),
        ("application/json", set(), True),
    ],
)
def test_missing_ends(media: str, answered: set[int], expected: bool) -> None:
    """A stream that answered what was asked is over, and so is anything that is no stream."""
    found = known(media, s2c(b"{}")).missing_end(answered, TIMES)

    assert [(4, ExchangeEnd(), 0.0)] * expected == [(c.index, c.frame.fact, c.gap_s) for c in found]
    assert all(planned.made_up and not planned.answers for planned in found)


def test_the_client_left() -> None:
    """It is made up for the time when the client left."""
    [end] = known("application/json", s2c(b"{}"), 5_000_000).missing_end({5}, TIMES)

    assert 2.0 == end.gap_s


@pytest.mark.parametrize("exchange", [RecordedExchange(1), known("application/json", ends(1))])
def test_nothing_is_missing(exchange: RecordedExchange) -> None:
    """Of what had no response, or ended, there is no end to be made up."""
    assert [] == exchange.missing_end(set(), TIMES)


def test_a_delayed_end() -> None:
    """It waits for one thing more, and no longer behind it than was recorded."""
    end = PlannedMessage(9, accepts(1)[-1], frozenset({1}), gap_s=5.0)

    assert ({1, 7}, 2.0) == (
        set(delayed(end, 7, 2_000_000).causes),
        delayed(end, 7, 2_000_000).gap_s,
    )
    assert 0.0 == delayed(end, 7, -5).gap_s
