"""What each message of a session belongs to, as far as it matters."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.faults.call_tracker import FaultCallTracker
from mcpmock.faults.match import Match, MatchPlace, Subject, fits
from mcpmock.faults.segments import On, Unit, message_kind
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    WELCOME,
    batch,
    c2s,
    call,
    cancelled,
    get,
    hangs_up,
    logs,
    notification,
    request,
    response,
    s2c,
)


def follow(following: FaultCallTracker, frame: Frame) -> Subject:
    return following.subject(Unit([frame], message_kind(frame.content)))


def test_every_call_is_followed() -> None:
    """Its answer has its method, also behind a cancel; other answers have none."""
    following = FaultCallTracker(MatchPlace())
    for message in (call(2, "x"), call(3, "y"), cancelled(3)):
        follow(following, c2s(message))

    assert None is follow(following, s2c(response(1))).call
    assert "tools/call" == follow(following, s2c(response(2))).method
    assert "tools/call" == follow(following, s2c(response(3))).method


def test_what_comes_on_an_exchange_that_is_forgotten() -> None:
    """It was carried by no call."""
    following = FaultCallTracker(MatchPlace())
    follow(following, Frame(C2S, call(1, "x"), exchange=7))
    log = Frame(S2C, notification("x"), exchange=7)

    carrier = follow(following, log).carrier
    assert b"1" == (carrier and carrier.request.id)
    following.forget(7)
    assert None is follow(following, log).carrier


@pytest.mark.parametrize("looked_at", [True, False])
def test_era_and_phase(looked_at: bool) -> None:
    """Learned from the handshake, also where no fault looks at it, or from a request that needs
    none.
    """
    following = FaultCallTracker(MatchPlace())
    assert (None, "handshake") == (following.place.era, following.place.phase)
    for frame in (c2s(INITIALIZE), s2c(WELCOME)):
        if looked_at:
            follow(following, frame)
        else:
            following.overhear([frame])
    following.overhear([logs(INITIALIZED.decode())])
    assert ("2025-11-25", "handshake") == (following.place.era, following.place.phase)
    follow(following, c2s(INITIALIZED))
    assert "running" == following.place.phase

    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    follow(following, c2s(request(5, "tools/list", meta)))
    assert "2026-07-28" == following.place.era


def test_the_answer_to_another_request_names_no_revision() -> None:
    """Even if it has a member of that name; nor does one to an unknown request, past the
    handshake.
    """
    following = FaultCallTracker(MatchPlace())
    follow(following, c2s(INITIALIZED))
    follow(following, s2c(response(3, {"protocolVersion": "2025-11-25"})))
    follow(following, c2s(request(4, "ping")))
    follow(following, s2c(response(4, {"protocolVersion": "2025-11-25"})))

    assert None is following.place.era


def test_what_is_no_message() -> None:
    """A GET has its HTTP method; ends and banners are about nothing."""
    following = FaultCallTracker(MatchPlace())

    assert "GET" == following.subject(Unit(get(1), On.EXCHANGE)).method
    assert None is following.subject(Unit([hangs_up(C2S)], On.END)).method
    assert None is follow(following, s2c(b"banner")).message


def test_a_batch_is_about_all_that_stands_in_it() -> None:
    """Its requests are noted, and what answers them is known, alone or in a batch."""
    following = FaultCallTracker(MatchPlace())
    asked = follow(following, c2s(batch(call(1, "x"), request(2, "ping"), call(3, "y"))))

    assert ["tools/call", "ping", "tools/call"] == [item.method for item in asked.items]
    assert "tools/call" == follow(following, s2c(response(1))).method
    told = follow(following, s2c(batch(response(2), response(3))))
    assert ["ping", "tools/call"] == [item.method for item in told.items]


@pytest.mark.parametrize(
    ("path", "asked", "told"),
    [
        ({"path": "$.params.arguments.city"}, True, True),
        ({"path": "level"}, True, False),
        ({"path": "$.params.level", "equals": "info"}, True, False),
        ({"path": "$.params.level", "equals": "debug"}, False, False),
        ({"path": "result.sum"}, False, True),
        ({"path": "$.id", "equals": 2}, True, True),
    ],
)
def test_a_path_into_a_message_of_a_batch(path: dict[str, Any], asked: bool, told: bool) -> None:
    """It is meant if any of its messages is, whatever that is."""
    following, match = FaultCallTracker(MatchPlace()), Match(**path)
    log = notification("notifications/message", {"level": "info"})
    batches = (
        c2s(batch(call(1, "x", city="Oslo"), log, request(2, "ping"))),
        s2c(batch(response(1), response(2, {"sum": 3}))),
    )

    assert [asked, told] == [fits(match, follow(following, one), MatchPlace()) for one in batches]
