"""What is left over of a cassette, over several tests."""

from __future__ import annotations

from pathlib import Path

from mcpmock.api.log import Log
from mcpmock.modes.embedded import bare_casting
from mcpmock.pipeline.casting import Playing
from mcpmock.pipeline.player import Player
from mcpmock.testing.leftovers import Leftovers
from tests.helpers import INITIALIZE, WELCOME, c, c2s, call, cassette, response, s

FILE = Path("a.jsonl")
RECORDED = cassette(
    c(INITIALIZE), s(WELCOME), c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2))
)


def asks(*calls: bytes) -> Log:
    """The log of a test that asks these."""
    log = Log()
    player = Player(bare_casting(RECORDED, Playing()))
    log.watch(1, player)
    list(player.begin(0.0))
    for raw in (INITIALIZE, *calls):
        list(player.feed([c2s(raw)], 0.0))
    list(player.wake(1.0))
    return log


def test_one_test() -> None:
    """What it did not ask is left over."""
    assert ["tools/call"] == Leftovers().passed(FILE, "t", asks(call(1, "a")))
    assert [] == Leftovers().passed(FILE, "t", asks(call(1, "a"), call(2, "b")))


def test_two_tests_add_up() -> None:
    """In either order; only the last of them can tell."""
    for first, second in (("a", "b"), ("b", "a")):
        leftovers = Leftovers()
        leftovers.expect(FILE, "one")
        leftovers.expect(FILE, "two")
        assert [] == leftovers.passed(FILE, "one", asks(call(1, first)))
        assert [] == leftovers.passed(FILE, "two", asks(call(1, second)))
    assert ["tools/call"] == Leftovers().passed(FILE, "two", asks(call(1, "b")))


def test_one_did_not_pass() -> None:
    """It may have been the one that asks."""
    leftovers = Leftovers()
    leftovers.expect(FILE, "failed")

    assert [] == leftovers.passed(FILE, "t", asks())


def test_nothing_was_played() -> None:
    """A test that never asked its server says nothing about the cassette."""
    assert [] == Leftovers().passed(FILE, "t", Log())
