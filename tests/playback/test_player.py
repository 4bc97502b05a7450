"""The player: a cassette played to a client over stdio, exact under a given clock."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import Any

import pytest

from mcpmock.pipeline.stage import Hangup
from mcpmock.playback.fallback import Fallback
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    OPENING,
    WELCOME,
    Line,
    batch,
    c,
    c2s,
    call,
    cancelled,
    errors,
    exits,
    hangs_up,
    logs,
    notification,
    play,
    player_of,
    progress,
    request,
    response,
    s,
    s2c,
)
from tests.support.steps import count_steps


def test_a_session() -> None:
    """A client that does what was recorded gets what was recorded."""
    played = play(*OPENING, s(LOG), c(request(1, "tools/list")), s(response(1, {"tools": []})))

    played.at(0, client=INITIALIZE, to_client=WELCOME)
    played.at(1, client=INITIALIZED, to_client=LOG)
    played.at(2, client=request("a", "tools/list", {}), to_client=response("a", {"tools": []}))
    played.at(3, client=hangs_up(C2S)).nothing_more().hung_up()
    assert (0, []) == (player_of(played).missed, player_of(played).leftovers())


def test_server_messages_before_any_client_message() -> None:
    """What the server said first is said at the beginning."""
    play(s(b"banner"), ("stderr", "up\n"), c(INITIALIZE), s(WELCOME)).at(
        0, to_client=[b"banner", logs("up\n")]
    )


def test_out_of_order_answers() -> None:
    """Recorded concurrency is reproduced, whichever of the requests comes first."""
    events = (c(call(1, "a")), c(call(2, "b")), s(response(2)), s(response(1)))
    expected = [response(2), response(1)]

    play(*events).at(0, client=call(1, "a")).at(
        0.01, client=call(2, "b"), to_client=expected
    ).nothing_more()
    play(*events).at(0, client=[call(1, "a"), call(2, "b")], to_client=expected).nothing_more()
    played = play(*events).at(0, client=call(2, "b"), to_client=response(2))
    played.at(0.001, client=call(1, "a"), to_client=response(1)).nothing_more()


def test_a_sequential_client_waits_for_the_grace_only() -> None:
    """A client that does not overlap its requests gets its answer after 20 ms, exactly."""
    played = play(c(call(1, "a")), c(call(2, "b")), s(response(1)), s(response(2)))
    played.at(0, client=call(1, "a")).at(0.02, to_client=response(1))

    played.at(1, client=call(2, "b"), to_client=response(2)).nothing_more()


@pytest.mark.parametrize(
    ("grace", "steps"),
    [
        (0.02, [(1, 0.02), (1, 0.02), (1, 0.02), (1, 0.001), (1, 0.001)]),
        # Calls that overlap again give the session its grace back; it learns anew.
        (0.02, [*[(1, 0.02)] * 3, (1, 0.001), (2, 0.02), (1, 0.02), (1, 0.02), (1, 0.001)]),
        (0.02, [(1, 0.02), (1, 0.02), (2, 0.02), (1, 0.02), (1, 0.02), (1, 0.001)]),
        (0.02, [*[(3, 0.02)] * 5, (1, 0.02), (1, 0.02), (1, 0.001)]),
        (0.05, [*[(1, 0.05)] * 3, (1, 0.001)]),
        (0.0005, [(1, 0.0005)] * 5),
    ],
)
def test_the_grace_learns(grace: float, steps: list[tuple[int, float]]) -> None:
    """A client that lets three graces in a row pass waits a millisecond from then on, until two of
    its calls overlap again. Each step is so many calls at once, of 30 that were recorded at once,
    and the grace after which they are answered.
    """
    calls = range(1, 31)
    asked, answered = ([*map(kind, calls)] for kind in (partial(call, tool="a"), response))
    played = play(*map(c, asked), *map(s, answered), pace=Pace(overlap_grace=grace))
    now, first = 0.0, 0
    for together, waits in steps:
        now, last = now + 1, first + together
        played.at(now, client=asked[first:last]).at(now + waits, to_client=answered[first:last])
        first = last


def test_a_large_batch_is_refused() -> None:
    """Without an exchange each request in it gets the error: its id alone says what is refused."""
    calls = [call(n, "a") for n in range(100)]
    [raw] = play(c(call(1, "a")), s(response(1))).heard(batch(*calls, INITIALIZED))

    assert [(n, -32600) for n in range(100)] == [
        (error["id"], error["error"]["code"]) for error in json.loads(raw)
    ]
    assert [] == play(c(call(1, "a")), s(response(1))).heard(batch(*[INITIALIZED] * 101))


def test_the_end_of_the_server_waits_for_overlapping_requests() -> None:
    """A server that ended after its last answer ends after it in a replay whose requests come in
    another order, and within the grace where a request does not come at all.
    """
    events = (
        c(call(1, "a")),
        c(call(2, "b")),
        s(response(2)),
        s(response(1)),
        ("end", {"exit": 3}),
    )
    played = play(*events).at(0, client=call(2, "b"), to_client=response(2))
    played.at(0.01, client=call(1, "a"), to_client=[response(1), exits(3)]).nothing_more()

    play(*events).at(0, client=call(2, "b"), to_client=response(2)).at(
        0.02, to_client=exits(3)
    ).nothing_more()


def test_the_grace_is_100_ms_at_most() -> None:
    """A client that keeps talking about other things is answered after 100 ms."""
    played = play(c(call(1, "a")), c(call(2, "b")), s(response(1)))
    played.at(0, client=call(1, "a"))
    for now in (0.015, 0.03, 0.045, 0.06, 0.075, 0.09):
        played.at(now, client=b"noise")

    played.at(0.1, to_client=response(1)).nothing_more()


def test_a_grace_of_ones_own() -> None:
    """The grace is the user's to set."""
    events = (c(call(1, "a")), c(call(2, "b")), s(response(1)))
    played = play(*events, pace=Pace(overlap_grace=0.5, overlap_limit=2.5))

    played.at(0, client=call(1, "a")).at(0.5, to_client=response(1)).nothing_more()


def test_sampling_within_a_call() -> None:
    """The server's question goes out, and the call's answer only after the client's."""
    asks = request(0, "sampling/createMessage", {"n": 1})
    played = play(c(call(0, "ask")), s(asks), c(response(0, {"x": 1})), s(LOG), s(response(0)))
    played.at(0, client=call(0, "ask"), to_client=asks).at(1, client=b"noise")

    played.at(5, client=response(0, {"y": 2}), to_client=[LOG, response(0)]).nothing_more()


def test_two_questions_answered_in_one_batch() -> None:
    """Answers to the server that come in a batch are answers."""
    events = (
        c(call(1, "ask")),
        s(request("x", "roots/list")),
        s(request("y", "roots/list")),
        c(batch(response("x"), response("y"))),
        s(response(1)),
    )
    played = play(*events).at(
        0, client=call(1, "ask"), to_client=[request("x", "roots/list"), request("y", "roots/list")]
    )

    played.at(1, client=batch(response("x"), response("y")), to_client=response(1)).nothing_more()


def test_batches() -> None:
    """A batch is answered as recorded, with the live ids; one of notifications gets no answer."""
    both = batch(request(1, "ping"), request(2, "tools/list"))
    played = play(c(both), s(batch(response(1), response(2))), c(batch(INITIALIZED)), s(LOG))
    live = batch(request("a", "ping"), request("b", "tools/list"))

    played.at(0, client=live, to_client=batch(response("a"), response("b")))
    played.at(1, client=batch(INITIALIZED), to_client=LOG).nothing_more()
    assert 0 == player_of(played).missed


@pytest.mark.parametrize(
    "unheard",
    [
        cancelled(99),
        response(99),
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        b"noise",
    ],
)
@pytest.mark.parametrize("order", ["causal", "strict"])
def test_what_waits_for_a_message_that_belongs_to_nothing(unheard: bytes, order: str) -> None:
    """A server message recorded after a stray client message comes when the stray message came."""
    played = play(
        *OPENING, c(unheard), s(LOG), c(request(1, "tools/list")), s(response(1)), order=order
    )
    played.at(0, client=INITIALIZE, to_client=WELCOME).at(1, client=INITIALIZED)

    played.at(2, client=unheard, to_client=LOG)
    played.at(3, client=request(1, "tools/list"), to_client=response(1)).nothing_more()
    assert 0 == player_of(played).missed


def test_any_order_plays_stubs() -> None:
    """In any order every request is answered by its key, again and again."""
    played = play(
        *OPENING, c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2)), order="any"
    )
    for now, tool in enumerate("babba"):
        played.at(now, client=call(now, tool), to_client=response(now))
    assert (0, []) == (player_of(played).missed, player_of(played)._repeats.playing)


@pytest.mark.parametrize(
    "live",
    [call(9, "b"), INITIALIZED, cancelled(9), response(9), b"noise"],
    ids=lambda raw: raw[-20:].decode(),
)
def test_strict_misses_what_is_out_of_order(live: bytes) -> None:
    """In strict order any client message out of the recorded order is a miss."""
    played = play(
        c(call(1, "a")),
        s(response(1)),
        c(call(2, "b")),
        s(response(2)),
        c(INITIALIZED),
        order="strict",
    )
    played.heard(live)

    assert 1 == player_of(played).missed


def test_strict_misses_a_cancel_out_of_turn() -> None:
    """Though the call that it cancels is known."""
    played = play(c(call(1, "a")), c(call(2, "b")), s(response(1)), s(response(2)), order="strict")
    played.heard(call(5, "a"))
    played.heard(cancelled(5))

    assert 1 == player_of(played).missed


def test_strict_plays_the_recorded_interleaving() -> None:
    """In strict order each server message waits for all that the client did before it."""
    events = (c(call(1, "a")), c(call(2, "b")), s(response(1)), c(INITIALIZED), s(response(2)))
    played = (
        play(*events, order="strict")
        .at(0, client=call(1, "a"))
        .at(5, client=call(2, "b"), to_client=response(1))
    )

    played.at(9, client=INITIALIZED, to_client=response(2)).nothing_more()
    assert 0 == player_of(played).missed


def test_cancelling_what_was_answered() -> None:
    """A call that the recording answered and the live client cancels gets no answer."""
    played = play(c(request(1, "x", token=1)), s(progress(1)), s(response(1)))
    played.at(0, client=request(5, "x", token=1), to_client=progress(1))

    played.at(0.001, client=cancelled(5)).nothing_more()


@pytest.mark.parametrize("renamed", [True, False])
def test_many_calls_that_are_cancelled(renamed: bool) -> None:
    """The last cancel of many open calls takes no more steps than the first."""
    calls = [call(n, "x") for n in range(400)]
    played = play(*map(c, calls), c(call(400, "y")), *(s(response(n)) for n in range(400)))
    played.at(0, client=[call(f"a{n}", "x") if renamed else calls[n] for n in range(400)])

    def steps_of(n: int) -> int:
        return count_steps(lambda: played.at(0, client=cancelled(f"a{n}" if renamed else n)))

    taken = [steps_of(n) for n in reversed(range(400))]

    assert max(taken[300:]) <= max(taken[:100])


def test_no_other_notification_cancels() -> None:
    """Whatever it names."""
    other = notification("n", {"requestId": 5})
    played = play(c(call(1, "x")), c(call(2, "x")), s(response(1)), s(response(2)))
    played.at(0, client=call(5, "x")).at(0, client=other)

    played.at(0, client=call(6, "x"), to_client=[response(5), response(6)]).nothing_more()


@pytest.mark.parametrize("late", [True, False])
def test_a_recorded_cancel(late: bool) -> None:
    """A call that was cancelled in the recording is silent, or answered late if the server did."""
    answer = [s(response(1))] if late else []
    played = play(c(call(1, "x")), c(cancelled(1)), *answer).at(0, client=call("a", "x"))

    played.at(1, client=cancelled("a"), to_client=[response("a")] if late else None).nothing_more()


def test_cancelling_the_unknown() -> None:
    """A cancel of what is unknown or finished changes nothing and is no miss."""
    played = play(c(call(1, "x")), s(response(1)), c(call(2, "y")), s(response(2)))
    played.at(0, client=call(1, "x"), to_client=response(1))
    for raw in (cancelled(1), cancelled("1"), cancelled(99), notification(CANCELLED)):
        played.at(2, client=raw)

    played.at(3, client=call(2, "y"), to_client=response(2)).nothing_more()
    assert 0 == player_of(played).missed


def test_opaque_lines() -> None:
    """What is no JSON-RPC matches by its bytes and lets happen what waited for it, else it is a
    miss.
    """
    parse_error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}'
    played = play(c(b'{"torn'), s(parse_error))
    assert [] == played.heard(b" \t")
    assert 0 == player_of(played).missed

    assert [] == played.heard(b'{"other')
    assert [parse_error] == played.heard(b'{"torn')
    assert 1 == player_of(played).missed


def test_standard_error_at_its_place() -> None:
    """Standard error comes where it was recorded, or not at all when muted."""
    events = (c(call(1, "a")), ("stderr", "working\n"), s(response(1)))

    play(*events).at(0, client=call(1, "a"), to_client=[logs("working\n"), response(1)])
    play(*events, mute=True).at(0, client=call(1, "a"), to_client=response(1))


def test_a_recorded_crash_ends_the_replay() -> None:
    """Where the server ended first, replay ends there, with its exit."""
    crash = (s(b'{"torn'), ("end", {"d": "s2c"}), ("end", {"exit": 7}))
    played = play(*OPENING, c(call(1, "a")), *crash)
    played.at(0, client=INITIALIZE, to_client=WELCOME).at(1, client=INITIALIZED).still_there()

    played.at(2, client=call(5, "a"), to_client=[b'{"torn', hangs_up(S2C), exits(7)]).hung_up()


@pytest.mark.parametrize(
    ("second", "answer"),
    [("a", [(2, None)]), ("b", [(2, -31999)]), (None, [])],
    ids=["a repeat", "a miss", "alone"],
)
def test_nothing_comes_behind_a_recorded_crash(second: str | None, answer: list[Any]) -> None:
    """What the client asked in the same read is answered before it."""
    tail = (("end", {"d": "s2c"}), ("end", {"exit": 7}))
    played = play(c(request(1, "a")), s(response(1)), *tail, repeats="last")
    asked = [request(1, "a"), *([] if second is None else [request(2, second)])]

    [out] = played.pipeline.enter([Frame(C2S, raw) for raw in asked], 0.0)
    assert [(1, None), *answer] == errors([frame.raw for frame in out[:-2]])
    assert [hangs_up(S2C), exits(7)] == list(out[-2:])
    played.hung_up()


def test_the_client_closes_first() -> None:
    """When the client closes, what is due is still sent, and what the recorded server did then is
    not.
    """
    tail = (("end", {"d": "c2s"}), ("stderr", "bye\n"), ("end", {"d": "s2c"}), ("end", {"exit": 3}))
    events = (*OPENING, c(call(1, "a")), (6.5, "s2c", response(1)), *tail)
    played = (
        play(*events, pace=Pace(Timing.parse("recorded")))
        .at(0, client=INITIALIZE)
        .at(1, to_client=WELCOME)
    )
    played.at(1, client=INITIALIZED).at(2, client=call(1, "a")).at(
        3, client=hangs_up(C2S)
    ).still_there()

    played.at(4, to_client=logs("bye\n")).at(4.5, to_client=response(1)).nothing_more().hung_up()


def test_held_answers_do_not_wait_for_a_client_that_closed() -> None:
    """When the client closes, no overlap is waited for."""
    played = play(c(call(1, "a")), c(call(2, "b")), s(response(1)))

    played.at(0, client=call(1, "a")).at(
        0.001, client=hangs_up(C2S), to_client=response(1)
    ).hung_up()
    planned = play(c(call(1, "a")), c(call(2, "b")), s(response(1)))
    planned.at(0, client=[ODD, call(1, "a")]).at(
        0.001, client=hangs_up(C2S), to_client=response(1)
    ).hung_up()


@pytest.mark.parametrize("order", ["causal", "strict"])
def test_the_end_of_the_client_is_no_message(order: str) -> None:
    """Where none was recorded: it is neither noted nor a miss. What nothing waited for is."""
    played = play(c(call(1, "a")), s(response(1)), order=order)
    told: list[Miss | PlayerNote] = []
    player_of(played).report = told.append
    played.at(0, client=call(1, "a"), to_client=response(1)).at(1, client=ODD)
    played.at(2, client=hangs_up(C2S)).hung_up()

    [one] = told
    assert "notifications/mine" == one.method
    assert isinstance(one, Miss) == (order == "strict")
    if isinstance(one, PlayerNote):
        assert "not in the recording; nothing waited for it" == one.text


def test_why_a_session_ends() -> None:
    """The first reason, though what is due is sent before the end."""
    events: list[Line] = [(0.0, "c2s", call(1, "a")), (5.0, "s2c", response(1))]
    played = play(*events, pace=Pace(Timing.parse("recorded")), on_miss="close")
    played.at(0, client=call(1, "a")).at(1, client=call(2, "b")).at(2, client=hangs_up(C2S))
    played.still_there().at(5, to_client=response(1)).hung_up()

    assert Hangup("nothing recorded for tools/call") == played.pipeline.hung_up


def test_an_answer_of_a_stub() -> None:
    """It goes before those that mcpmock has for a ping or a probe."""
    for method in ("ping", "server/discover", "mine"):
        played = play(c(call(1, "a")), s(response(1)))
        player_of(played).fallback = Fallback(lambda _asked: [s2c(response(5, {"mine": 1}))])
        played.at(0, client=request(5, method), to_client=response(5, {"mine": 1}))


def test_what_is_due_while_an_answer_is_repeated() -> None:
    """Neither waits for the other."""
    events: list[Line] = [
        (0.0, "c2s", call(1, "slow")), (3.0, "s2c", response(1)),
        (4.0, "c2s", call(2, "quick")), (5.0, "s2c", response(2)),
        (6.0, "c2s", call(3, "slowest")), (20.0, "s2c", response(3)),
    ]  # fmt: skip
    played = play(*events, pace=Pace(Timing.parse("recorded")), repeats="last")
    played.at(0, client=call(1, "slow")).at(3, to_client=response(1))

    played.at(10, client=call(3, "slow")).at(10.5, client=call(4, "quick"))
    played.at(11.5, to_client=response(4)).at(13, to_client=response(3))
    played.at(20, client=call(5, "slowest")).at(20.5, client=call(6, "quick"))
    played.at(21.5, to_client=response(6)).at(34, to_client=response(5)).nothing_more()


def test_a_client_that_never_stops_talking() -> None:
    """While an answer is due, nothing piles up."""
    events: list[Line] = [(0.0, "c2s", call(1, "a")), (9.0, "s2c", response(1))]
    played = play(*events, pace=Pace(Timing.parse("recorded")))
    played.at(0, client=call(1, "a"))
    for tick in range(50):
        played.at(1 + tick / 10, client=ODD)

    assert len(played.pipeline._due) < 5
    played.at(9, to_client=response(1))


def test_an_empty_recording() -> None:
    """Nothing is left over, and nothing waits for anything."""
    played = play()
    told: list[Miss | PlayerNote] = []
    player_of(played).report = told.append
    played.at(0, client=INITIALIZED)

    assert ([], []) == (told, player_of(played).leftovers())


def test_timing_is_per_request() -> None:
    """One slow answer holds up no other; `recorded` keeps the recorded pauses from the cause."""
    events: list[Line] = [
        (0.0, "c2s", call(1, "slow")),
        (0.0, "c2s", request(2, "ping")),
        (0.25, "s2c", response(2)),
        (3.0, "s2c", response(1)),
    ]
    played = play(*events, pace=Pace(Timing.parse("recorded")))

    played.at(0, client=call(1, "slow")).at(1, client=request(2, "ping"))
    played.at(1.25, to_client=response(2)).at(3.0, to_client=response(1)).nothing_more()


def test_everything_due_comes_at_any_time_of_day() -> None:
    """Whatever the times are, nothing is left due: each wake finds something to play."""
    assert {6} == {_answers_at_random_times(random.Random(seed)) for seed in range(60)}


def _answers_at_random_times(dice: random.Random) -> int:
    events: list[Line] = [(n / 1000, "c2s", call(n, "x", n=n)) for n in range(6)]
    events += [(round(dice.uniform(0.1, 3), 3), "s2c", response(n)) for n in range(6)]
    played = play(*events, pace=Pace(Timing.parse("recorded")))
    now = round(dice.uniform(0, 9), 3)
    lines = played.hears(now, *([c2s(call(n, "x", n=n))] for n in range(6)))
    for _ in range(50):
        if (due := played.pipeline.next_due) is not None:
            lines += played.later(due)
    return len(lines)


def test_progress_and_answer_are_apart() -> None:
    """An answer comes 2 ms after the last progress of its call, with no timing too, and nothing
    else waits for it.
    """
    events = (
        c(request(1, "x", token=1)),
        s(progress(1)),
        s(LOG),
        s(response(1)),
        c(request(2, "ping")),
        s(response(2)),
    )
    played = play(*events).at(0, client=request(1, "x", token=1), to_client=[progress(1), LOG])

    played.at(0.001, client=request(2, "ping"), to_client=response(2)).at(
        0.002, to_client=response(1)
    ).nothing_more()


def test_pieces_of_a_long_request() -> None:
    """A request that comes in pieces is answered like another."""
    raw = call(1, "a")
    played = play(c(raw), s(response(1)))
    played.at(0, client=Frame(C2S, raw[:20], b"", Fragment()))

    played.at(
        1, client=Frame(C2S, raw[20:], b"\n", Fragment(last=True)), to_client=response(1)
    ).nothing_more()


def test_what_was_left_over() -> None:
    """At the end the player says what never came, was never answered or was never due."""
    played = play(*OPENING, c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2)))
    played.heard(INITIALIZE)

    assert [
        "2 recorded requests never came: tools/call a (event 4), tools/call b (event 6)"
    ] == player_of(played).leftovers()


def test_silence_costs_the_next_call_nothing() -> None:
    """While the client says nothing, nothing is done: how long it was silent does not matter, nor
    how long the recording is.
    """
    calls = [line for n in range(1, 500) for line in (c(call(n, "a")), s(response(n)))]
    played = play(*OPENING, *calls)
    played.at(0, client=INITIALIZE, to_client=WELCOME)
    played.at(0.001, client=call(1, "a"), to_client=response(1))

    assert played.pipeline.next_due is None
    played.at(9, client=call(2, "a"), to_client=response(2))
    assert played.pipeline.next_due is None


def test_a_plan_that_takes_over_behind_progress() -> None:
    """An answer keeps its distance to progress that was itself sent late without the plan."""
    first, second = (request(n, "tools/call", {"name": "a"}, token=n) for n in (1, 2))
    question, reply = request("q", "roots/list"), response("q", {"roots": []})
    told = [progress(1), response(1), progress(2), question]
    played = play(
        *map(c, (first, second)),
        *map(s, told),
        c(reply),
        s(response(2)),
    )
    played.at(0, client=[first, second], to_client=progress(1))
    played.at(0.002, to_client=told[1:])
    played.at(0.003, client=notification("notifications/unknown"))
    played.at(0.003, client=reply)
    played.at(0.004, to_client=response(2))


ODD = notification("notifications/mine")
"""Nothing recorded: what was answered from a table is planned from here on."""


def test_an_answer_behind_progress_where_the_plan_begins() -> None:
    """The client has time to read the progress of a call, whatever came in between."""
    asked, other = request(1, "a", token=1), request(2, "b")
    said = c(asked), s(progress(1)), c(other), s(response(1)), s(response(2))
    played = play(*OPENING, *said)
    played.at(0, client=[INITIALIZE, INITIALIZED], to_client=WELCOME)
    played.at(1, client=asked, to_client=progress(1))

    played.at(1.001, client=[ODD, other]).at(1.002, to_client=[response(1), response(2)])


def test_what_follows_an_answer_that_waits_where_the_plan_begins() -> None:
    """It comes behind it, as it was recorded."""
    asked, question, reply = request(1, "a", token=1), request("r", "roots/list"), response("r")
    said = c(asked), s(progress(1)), s(question), s(response(1)), c(reply), s(progress(1, 2))
    played = play(*OPENING, *said)
    played.at(0, client=[INITIALIZE, INITIALIZED], to_client=WELCOME)
    played.at(1, client=asked, to_client=[progress(1), question])

    played.at(1.001, client=[ODD, reply]).at(1.002, to_client=[response(1), progress(1, 2)])
