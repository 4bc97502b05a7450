"""The unused parts of a recording, described."""

from __future__ import annotations

from mcpmock.playback.unused import leftovers, unused_requests
from tests.support import INITIALIZE, WELCOME, batch, c, call, play, player_of, response, s


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


def test_what_is_nested_too_deeply_has_no_words() -> None:
    """It is named by its method alone; a batch by what is in it."""
    params = b'{"a":' * 9_999 + b"1" + b"}" * 9_999
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params
    lead = player_of(play(c(deep), c(batch(call(2, "b"), call(3, "c"))))).leading_candidate()
    assert lead is not None

    asked = '[["tools/call",{"name":"b"}],["tools/call",{"name":"c"}]]'
    assert ["tools/call (event 1)", f"a batch {asked} (event 2)"] == [
        *unused_requests(lead).values()
    ]
