"""A player behind `Resumption`: a live client that loses its connection anywhere gets everything
once, whatever the recorded client did.
"""

from __future__ import annotations

import re

import pytest

from mcpmock.playback.player import Player, ReplayOptions, SessionSelection
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.transports.streamable_http.resumption import Resumption
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    Script,
    call,
    ends,
    get,
    in_session,
    opens,
    over_http,
    post,
    progress,
    response,
    says,
)
from tests.support.http_episodes import OPENING

Steps = tuple[Frame | list[Frame], ...]


def event(x: int, call: int, number: int) -> list[Frame]:
    return says(x, progress(call, number), id=f"s{call}-{number}")


def answer(x: int, call: int) -> list[Frame]:
    return [*says(x, response(call, {"of": call}), id=f"s{call}-end"), ends(x)]


def asked(x: int, call_id: int) -> Steps:
    return (
        post(x, call(call_id, f"tool-{call_id}"), session="S"),
        opens(x),
        says(x, b"", id=f"s{call_id}-0", retry=10),
    )


def back(x: int, call: int, number: int) -> Steps:
    return (get(x, session="S", last_event_id=f"s{call}-{number}"), opens(x))


NEVER_CUT = (
    *asked(3, 1), event(3, 1, 1), event(3, 1, 2), event(3, 1, 3), answer(3, 1),
    *asked(4, 2), event(4, 2, 1), answer(4, 2),
)  # fmt: skip
CUT = (
    *asked(3, 1), event(3, 1, 1), ends(3, "closed", C2S),
    *asked(4, 2), event(4, 2, 1), ends(4, "closed", C2S),
    *back(5, 1, 1), event(5, 1, 2), ends(5, "closed", C2S),
    *back(6, 2, 1), answer(6, 2),
    *back(7, 1, 2), event(7, 1, 2), event(7, 1, 3), answer(7, 1),
)  # fmt: skip
POLLED = (
    *asked(3, 1), event(3, 1, 1), ends(3),
    *asked(4, 2), ends(4),
    *back(5, 2, 0), event(5, 2, 1), answer(5, 2),
    *back(6, 1, 1), event(6, 1, 2), ends(6),
    *back(7, 1, 2), event(7, 1, 3), answer(7, 1),
)  # fmt: skip
RESET = tuple(
    [step, ends(step.exchange or 0, "reset")] if isinstance(step, Frame) else step for step in CUT
)
"""As CUT, but the recorder also noted how its own connection to the server was torn down."""
RECORDINGS = {"never": NEVER_CUT, "cut": CUT, "polled": POLLED, "reset": RESET}
WHOLE = {
    1: ["s1-0", "s1-1", "s1-2", "s1-3", "s1-end"],
    2: ["s2-0", "s2-1", "s2-end"],
}


class Client:
    """A client that knows what it has seen of each call."""

    def __init__(self, recorded: Steps) -> None:
        cassette = over_http(in_session(2, *OPENING, *recorded))
        player = Player(SessionSelection(cassette, ReplayOptions()), mint=lambda: "live")
        self.player = player
        self.script = Script([Resumption(), player])
        self.script.hears(0, post(1, INITIALIZE), post(2, INITIALIZED, session="live"))
        self.seen: dict[int, list[str]] = {1: [], 2: []}
        self._x = 2
        self._now = 0.0

    def ask(self, number: int, most: int) -> None:
        """Asks, and loses the connection behind `most` events, and each time it has come back."""
        self._x += 1
        asks = post(self._x, call(number, f"tool-{number}"), session="live")
        self._hear(asks, number, most)

    def come_back(self, number: int, most: int) -> None:
        """Takes up the stream, if there is more of it."""
        last = self.seen[number][-1]
        if not last.endswith("end"):
            self._x += 1
            self._hear(get(self._x, session="live", last_event_id=last), number, most)

    def _hear(self, frames: list[Frame], number: int, most: int) -> None:
        x = self._x
        self._now += 1
        lines = [*self.script.hears(self._now, frames), *self.script.later(self._now + 0.9)]
        assert f"{x} 200 text/event-stream" == lines[0]
        ids = [found[1] for line in lines if (found := re.match(rf"{x} sse id=(\S+)", line))]
        self.seen[number] += ids[:most]
        if f"{x} eof" not in lines:
            self.script.hears(self._now + 0.95, [ends(x, "closed", C2S)])


@pytest.mark.parametrize("most", range(1, 6))
@pytest.mark.parametrize("recorded", RECORDINGS.values(), ids=RECORDINGS)
def test_cut_at_every_event(recorded: Steps, most: int) -> None:
    """No gap, no duplicate, and each stream its own, also where nothing at all arrived."""
    client = Client(recorded)
    client.ask(1, most)
    client.ask(2, most)
    for _ in range(10):
        for number, least in ((2, most), (1, 0), (1, most)):
            client.come_back(number, least)

    assert WHOLE == client.seen
    assert 0 == client.player.missed


@pytest.mark.parametrize("recorded", [NEVER_CUT, CUT, RESET], ids=["never", "cut", "reset"])
def test_a_client_that_stays(recorded: Steps) -> None:
    """It has everything on the exchange of its request."""
    client = Client(recorded)
    client.ask(1, 10)
    client.ask(2, 10)

    assert WHOLE == client.seen
