"""A player with a real server behind it, as scripts: what goes where, exact under a given clock."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.passthrough import Live
from mcpmock.playback.player import PlayerNote
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import PlayerOptions, SessionSelection
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    OPENING,
    WELCOME,
    Line,
    Script,
    batch,
    c,
    call,
    cancelled,
    cassette,
    error,
    exits,
    hangs_up,
    logs,
    notification,
    progress,
    request,
    response,
    s,
)

ASK = request(1, "sampling/createMessage", {"n": 1})
OURS = request("mcpmock:1", "sampling/createMessage", {"n": 1})
OTHER = response(0, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})
CHANGED = notification("notifications/roots/list_changed")


def live(*events: Line, told: list[object] | None = None, **playing: Any) -> Script:
    """A recorded session with a handshake, and a real server behind it."""
    options = PlayerOptions(on_miss="live", **playing)
    selection = SessionSelection(cassette(*OPENING, *events), options)
    player = SessionPlayer(selection, (told if told is not None else []).append)
    return Script([Live(player)])


def greeted(*events: Line, told: list[object] | None = None, **playing: Any) -> Script:
    """A session in which the real server is up: call 5 missed, and is waited for."""
    played = live(*events, told=told, **playing)
    played.at(0, client=INITIALIZE, to_client=WELCOME).at(0, client=INITIALIZED)
    played.at(1, client=call(5, "x"), to_server=INITIALIZE)
    return played.at(2, server=OTHER, to_server=[INITIALIZED, call(5, "x")])


def test_all_is_recorded() -> None:
    """Nothing goes to the real server; the session ends as a replay does."""
    played = live(c(call(1, "a")), s(response(1)))

    played.at(0, client=INITIALIZE, to_client=WELCOME).at(0, client=INITIALIZED)
    played.at(1, client=call(1, "a"), to_client=response(1))
    played.at(2, client=CHANGED).at(3, client=hangs_up(C2S)).nothing_more().hung_up()


def test_a_miss() -> None:
    """The server is brought up with the client's own handshake, whose answer nobody hears; what it
    says besides goes through, and what the recording matches is still replayed.
    """
    told: list[object] = []
    played = live(c(call(1, "a")), s(response(1)), told=told)
    played.at(0, client=INITIALIZE, to_client=WELCOME).at(0, client=INITIALIZED)

    played.at(1, client=call(7, "new"), to_server=INITIALIZE)
    played.at(2, server=logs("up\n"), to_client=logs("up\n")).at(2, server=LOG, to_client=LOG)
    played.at(3, client=call(1, "a"), to_client=response(1))
    played.at(4, client=call(8, "new"))
    played.at(5, server=OTHER, to_server=[INITIALIZED, call(7, "new"), call(8, "new")])
    played.at(6, server=response(8), to_client=response(8))
    played.at(7, server=response(7), to_client=response(7)).nothing_more()
    stage = played.pipeline.stages[0]
    assert isinstance(stage, Live)
    assert (True, 0) == (stage.opened, stage.player.missed)
    assert PlayerNote("tools/call", "not in the recording; the real server is asked") in told


@pytest.mark.parametrize(
    "said", [response(99), error("x"), error(b"null"), logs(OTHER.decode()), b"noise"]
)
def test_an_answer_before_that_of_the_handshake(said: bytes | Frame) -> None:
    """Only the one to the handshake is kept back."""
    played = live().at(0, client=INITIALIZE, to_client=WELCOME).at(0, client=INITIALIZED)
    played.at(1, client=call(5, "x"), to_server=INITIALIZE)

    played.at(2, server=said, to_client=said)
    played.at(3, server=OTHER, to_server=[INITIALIZED, call(5, "x")]).nothing_more()


def test_before_the_client_is_done_greeting() -> None:
    """That it is comes later, and goes through then."""
    played = live().at(0, client=INITIALIZE, to_client=WELCOME)
    played.at(1, client=call(5, "x"), to_server=INITIALIZE)
    played.at(2, client=INITIALIZED).at(3, server=OTHER, to_server=[call(5, "x"), INITIALIZED])

    played.at(4, client=CHANGED, to_server=CHANGED).nothing_more()


def test_without_a_handshake() -> None:
    """There is none to make."""
    selection = SessionSelection(
        cassette(c(call(1, "a")), s(response(1))), PlayerOptions(on_miss="live")
    )

    Script([Live(SessionPlayer(selection))]).at(0, client=call(1, "b"), to_server=call(1, "b"))


def test_half_a_handshake() -> None:
    """A client that says only the second half of it gets no answer to wait for."""
    played = live().at(0, client=INITIALIZED)

    played.at(1, client=call(5, "x"), to_server=[INITIALIZED, call(5, "x")])


def test_the_handshake_itself_is_not_recorded() -> None:
    """It goes through, once, and the client hears the answer."""
    selection = SessionSelection(
        cassette(c(call(1, "a")), s(response(1))), PlayerOptions(on_miss="live")
    )
    played = Script([Live(SessionPlayer(selection))])

    played.at(0, client=INITIALIZE, to_server=INITIALIZE).at(1, server=WELCOME, to_client=WELCOME)
    played.at(2, client=INITIALIZED, to_server=INITIALIZED)


def test_what_belongs_to_a_call() -> None:
    """Progress and the cancel of it; a late answer goes through as well."""
    told: list[object] = []
    played = greeted(told=told)
    asked = request(6, "tools/call", {"name": "slow"}, token="t")

    played.at(3, client=asked, to_server=asked).at(4, server=progress("t"), to_client=progress("t"))
    played.at(5, client=cancelled(6), to_server=cancelled(6))
    played.at(6, server=response(6), to_client=response(6)).nothing_more()
    note = PlayerNote("tools/call", "not in the recording; the real server is asked")
    assert [note, note] == told


def test_pings() -> None:
    """They go to the real server, once it is there."""
    played = live().at(0, client=request(1, "ping"), to_client=response(1))
    played.at(1, client=call(5, "x"), to_server=call(5, "x"))
    played.at(2, client=request(2, "ping"), to_server=request(2, "ping"))


def test_questions_of_both_servers() -> None:
    """The real one's have ids of our own; each answer reaches the one that asked."""
    told: list[object] = []
    recorded = c(call(1, "a")), s(ASK), c(response(1)), s(response(1, {"a": 1}))
    played = greeted(*recorded, told=told)

    played.at(3, client=call(1, "a"), to_client=ASK).at(4, server=ASK, to_client=OURS)
    played.at(5, client=response("mcpmock:1", {"x": 1}), to_server=response(1, {"x": 1}))
    played.at(6, client=response(1), to_client=response(1, {"a": 1}))
    played.at(
        7, server=request('a"b', "roots/list"), to_client=request('mcpmock:"a\\"b"', "roots/list")
    )
    other = notification("x/y", {"requestId": 'a"b'})
    played.at(8, server=other, to_client=other)
    played.at(8, server=cancelled('a"b'), to_client=cancelled('mcpmock:"a\\"b"'))
    for odd in (cancelled("unknown"), notification("notifications/cancelled"), batch()):
        played.at(9, server=odd, to_client=odd)
    assert 1 == len(told)


@pytest.mark.parametrize("id_", [3, "three", "mcpmock", 1.5])
def test_questions_in_a_batch(id_: object) -> None:
    """They keep their ids, and so do the answers."""
    asks = batch(request(id_, "roots/list"), request(99, "roots/list"))
    played = greeted().at(3, server=asks, to_client=asks)

    played.at(4, client=response(id_), to_server=response(id_)).nothing_more()


def test_reports_on_a_question() -> None:
    """The client's progress goes to the server whose question it is."""
    played = greeted()
    asks = request(3, "sampling/createMessage", {}, token="s")
    renamed = asks.replace(b'"id":3', b'"id":"mcpmock:3"')

    played.at(3, server=asks, to_client=renamed)
    played.at(4, client=progress("s"), to_server=progress("s")).nothing_more()


def test_long_lines() -> None:
    """Pieces of an answer are put together before they go to the real server; pieces of what that
    says pass as they come, and a call is asked whole.
    """
    played = greeted(c(call(1, "a")), s(response(1)))
    played.at(3, server=ASK, to_client=OURS)
    answer, own = response("mcpmock:1", "x" * 9), response(1, "x" * 9)

    played.at(4, client=Frame(C2S, answer[:20], b"", Fragment()))
    played.at(5, client=Frame(C2S, answer[20:], b"\n", Fragment(last=True)), to_server=own)
    piece = Frame(S2C, LOG[:9], b"", Fragment())
    played.at(6, server=piece, to_client=piece)
    asked = call(1, "a")
    played.at(7, client=Frame(C2S, asked[:9], b"", Fragment()))
    played.at(8, client=Frame(C2S, asked[9:], b"\n", Fragment(last=True)), to_client=response(1))


def test_long_lines_beside_standard_error() -> None:
    """What comes between the pieces of a line is no part of it: the server's question is open."""
    played = greeted()
    pieces = [Frame(S2C, ASK[:9], b"", Fragment()), Frame(S2C, ASK[9:], b"\n", Fragment(last=True))]
    for now, frame in enumerate((pieces[0], logs("up\n"), pieces[1]), 3):
        played.at(now, server=frame, to_client=frame)

    played.at(6, client=response(1), to_server=response(1))


def test_the_end() -> None:
    """The client's reaches the real server, and its end is that of the session; the recorded end
    does not count any more.
    """
    played = greeted(c(call(1, "a")), s(response(1)), ("end", {"d": "s2c"}), ("end", {"exit": 1}))

    played.at(3, client=call(1, "a"), to_client=response(1)).still_there()
    played.at(4, client=hangs_up(C2S), to_server=hangs_up(C2S)).still_there()
    played.at(5, server=exits(0), to_client=exits(0))


def test_recorded_pauses() -> None:
    """They are kept while the real server is up."""
    recorded = (6.0, "c2s", call(1, "a")), (9.5, "s2c", response(1))
    played = live(*recorded, pace=Pace(Timing("recorded")))
    played.at(0, client=INITIALIZE).at(1, to_client=WELCOME).at(2, client=INITIALIZED)
    played.at(5, client=call(5, "x"), to_server=INITIALIZE)

    played.at(6, client=call(1, "a")).at(9.5, to_client=response(1)).nothing_more()
