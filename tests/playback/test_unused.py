"""The unused parts of a recording, described."""

from __future__ import annotations

from mcpmock.playback.unused import leftovers
from tests.support import INITIALIZE, WELCOME, c, call, play, player_of, response, s


def test_in_words() -> None:
    """Requests that never came are named and counted, whatever is missing with them is not."""
    played = play(
        c(INITIALIZE), s(WELCOME), c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2))
    )  # fmt: skip
    lead = player_of(played).leading_candidate()
    assert lead is not None
    unused = "initialize (event 1), tools/call a (event 3), tools/call b (event 5)"
    assert [f"3 recorded requests never came: {unused}"] == leftovers(lead)

    for raw in (INITIALIZE, call(3, "a"), call(4, "b")):
        played.heard(raw)
    assert [] == leftovers(lead)
