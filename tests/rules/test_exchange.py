"""The state of an HTTP exchange."""

from __future__ import annotations

from mcpmock.protocol.messages import C2S, Frame, HttpBody, Request
from mcpmock.rules import exchange as module
from mcpmock.rules.exchange import CheckedExchange, OpenExchanges
from tests.support import answers, ends, get, opens, post, request, says


def take(exchanges: OpenExchanges, *frames: Frame) -> CheckedExchange:
    """All of these; gives the last one's exchange."""
    return [exchanges.take(frame) for frame in frames][-1]


def test_heads() -> None:
    """An exchange has the heads of its request and its response."""
    frames = post(7, request(1, "ping"), session="s", mcp_protocol_version="2025-06-18")
    found = take(OpenExchanges(), *frames, *answers(7, b"{}")[:2])

    assert ("POST", "s", "2025-06-18", 200) == (
        found.method, found.session, found.version, found.status
    )  # fmt: skip
    assert not found.streams


def test_what_is_open() -> None:
    """An id is answered by any of its spellings."""
    found = CheckedExchange(1, posted=[Request(b"1.0", "ping")], open=[b"1.0"])
    found.mark_answered(b"1")

    assert [] == found.open
    assert found.has_request(b"1")


def test_the_events_of_a_stream_keep_their_owner() -> None:
    """An event that comes again belongs to the stream that it came on first."""
    exchanges = OpenExchanges()
    take(exchanges, *post(1, b"{}"), *opens(1), *says(1, b"{}", id="a"))
    resumed = take(exchanges, *get(2, last_event_id="a"), *opens(2), says(2, b"{}", id="b")[0])

    assert (1, 1, False) == (resumed.resumes, resumed.owner, resumed.repeated)
    again = take(exchanges, says(2, b"{}", id="a")[0])
    assert (1, True) == (again.owner, again.repeated)
    exchanges.end_data(again)
    assert (2, False, None) == (again.owner, again.repeated, again.event)


def test_what_is_over_is_forgotten() -> None:
    """Its number may come again."""
    exchanges = OpenExchanges()
    first = take(exchanges, *get(1), ends(1))

    assert exchanges.running(1) is None
    assert take(exchanges, *get(1)) is not first


def test_the_memory_is_bounded() -> None:
    """Of exchanges and events without number only the latest are kept."""
    exchanges = OpenExchanges()
    for number in range(3 * module.MAX_REMEMBERED):
        take(exchanges, Frame(C2S, fact=HttpBody(), exchange=number))
        for event in range(4):
            take(exchanges, says(number, b"", id=f"{number}-{event}")[0])

    assert exchanges.running(0) is None
    assert exchanges.running(3 * module.MAX_REMEMBERED - 1) is not None
    assert len(exchanges._events) <= 10 * module.MAX_REMEMBERED
