"""What a test tells of its cassette."""

from __future__ import annotations

from pathlib import Path

from mcpmock.api.log import Log
from mcpmock.playback.player import Player
from mcpmock.playback.session_selection import ReplayOptions, SessionSelection
from mcpmock.testing.settings import Settings
from mcpmock.testing.unused_events import cassette_use
from tests.support import INITIALIZE, WELCOME, c, c2s, call, cassette, response, s

FILE = Path("a.jsonl")
RECORDED = cassette(
    c(INITIALIZE), s(WELCOME), c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2))
)


def asks(*calls: bytes) -> Log:
    """The log of a test that asks these."""
    log = Log()
    player = Player(SessionSelection(RECORDED, ReplayOptions()))
    log.watch(1, player)
    list(player.begin(0.0))
    for raw in (INITIALIZE, *calls):
        list(player.feed([c2s(raw)], 0.0))
    list(player.wake(1.0))
    return log


def test_what_it_did_not_ask() -> None:
    """By the session it played, in values that go from one process to another."""
    settings = Settings(path=FILE, unused="fail")
    told = cassette_use(settings, asks(call(1, "a")))

    assert [("1/1/stdio", {"5": "tools/call"})] == told["left"]
    assert ("a.jsonl", "a.jsonl", "fail") == (told["cassette"], told["shown"], told["unused"])
    assert [("1/1/stdio", {})] == cassette_use(settings, asks(call(1, "a"), call(2, "b")))["left"]


def test_what_belongs_to_no_session() -> None:
    """All takes are played at once, and each is told for itself: another test may play it alone."""
    log = Log()
    takes = cassette(c(call(1, "a")), s(response(1)), ("take", None), c(call(1, "b")))
    player = Player(SessionSelection(takes, ReplayOptions()), stateless=True)
    log.watch(1, player)
    list(player.begin(0.0))
    list(player.feed([c2s(call(1, "a"))], 0.0))
    list(player.wake(1.0))
    told = cassette_use(Settings(path=FILE, unused="fail"), log)

    assert [{}, {"1": "tools/call"}] == [left for _, left in told["left"]]
    assert all(session.endswith("/1/stdio") for session, _ in told["left"])


def test_nothing_was_played() -> None:
    """A test that never asked its server says nothing about the cassette."""
    assert [] == cassette_use(Settings(path=FILE), Log())["left"]


def test_while_recording() -> None:
    """A real server has no recorded requests."""
    told = cassette_use(Settings(path=FILE, mode="all", unused="fail"), asks())

    assert ("ignore", []) == (told["unused"], told["left"])
