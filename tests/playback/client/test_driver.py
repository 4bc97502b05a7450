"""The driver as a client of live servers that do what was recorded, something else, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.client.driver import MAX_NOISE, Driver
from mcpmock.playback.client.script import script_of
from mcpmock.playback.timing import Timing
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, StreamEnd
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Line,
    batch,
    c,
    call,
    cancelled,
    episode,
    error,
    exits,
    hangs_up,
    logs,
    notification,
    progress,
    request,
    response,
    s,
    s2c,
)

OPENING = (c(INITIALIZE), s(WELCOME), c(INITIALIZED))
END = b"end"
HOLE = "mcpmock:secret:token:1"


class Server:
    """A live server; what the driver says to it comes out of `hears`."""

    def __init__(self, *events: Line, began: float = 0.0, **how: Any) -> None:
        self.told: list[str] = []
        self.driver = Driver(script_of(episode(*events)), report=self.told.append, **how)
        self.pipeline = Pipeline([self.driver])
        self.pipeline.begin(began)

    def says(self, now: float, *raws: bytes | Frame) -> list[bytes]:
        """What the driver says at once of these."""
        frames = [s2c(raw) if isinstance(raw, bytes) else raw for raw in raws]
        out = self.pipeline.enter(frames, now) if frames else []
        due = self.pipeline.next_due
        while due is not None and due <= now:
            out += self.pipeline.advance(now)
            due = self.pipeline.next_due
        return [_raw(frame) for frames in out for frame in frames if frame.direction is C2S]

    def silent_until(self, now: float) -> list[bytes]:
        """What the driver says if the server says nothing until then."""
        out: list[bytes] = []
        while (due := self.pipeline.next_due) is not None and due <= now:
            out += self.says(due)
        return out


def _raw(frame: Frame) -> bytes:
    return END if isinstance(frame.fact, StreamEnd) else frame.raw


def opened(*events: Line, **how: Any) -> Server:
    server = Server(*OPENING, *events, **how)
    assert [INITIALIZE] == server.says(0)
    return server


def test_a_session() -> None:
    """Each line goes out when what came before it has come, whatever the server says in it."""
    server = opened(c(call(1, "a")), s(response(1, {"n": 1})), c(call(2, "b")), s(error(2)))

    assert [INITIALIZED, call(1, "a")] == server.says(1, WELCOME)
    assert [call(2, "b")] == server.says(2, error(1))
    assert [END] == server.says(3, response(2))
    assert (0, [], 0) == (server.driver.failed, server.told, server.driver.left)


def test_recorded_concurrency() -> None:
    """What was asked before an answer came is asked before it comes."""
    server = opened(
        c(call(1, "a")), c(call(2, "b")), s(response(2)), s(response(1)), c(call(3, "c")),
        s(response(3)),
    )  # fmt: skip

    assert [INITIALIZED, call(1, "a"), call(2, "b")] == server.says(1, WELCOME)
    assert [] == server.says(2, response(1))
    assert [call(3, "c")] == server.says(3, response(2))


def test_a_cancel_in_the_middle() -> None:
    """It comes behind as much progress as in the recording; an answer may be missing then."""
    slow = request(1, "tools/call", token=9)
    server = opened(c(slow), s(progress(9)), s(progress(9)), c(cancelled(1)))
    assert [INITIALIZED, slow] == server.says(1, WELCOME)

    assert [] == server.says(2, progress(9))
    assert [cancelled(1), END] == server.says(2.1, progress(9))


def test_a_question() -> None:
    """It is answered with the recorded answer and its own id, by what it asks; then the server may
    go on.
    """
    ask = [request(n, "sampling/createMessage", {"n": n}) for n in (1, 2)]
    server = opened(
        c(call(1, "a")), s(ask[0]), c(response(1, "one")), s(ask[1]), c(response(2, "two")),
        s(response(1)),
    )  # fmt: skip
    server.says(1, WELCOME)

    other = request("q", "sampling/createMessage", {"n": 2})
    assert [response("q", "two")] == server.says(2, other)
    assert [response("r", "one")] == server.says(3, request("r", "sampling/createMessage", {}))
    assert [response("s", "two")] == server.says(4, request("s", "sampling/createMessage", {}))
    assert [] == server.told


def test_questions_that_were_never_recorded() -> None:
    """A ping is answered; anything else is refused, and told."""
    server = opened(c(call(1, "a")), s(response(1)))
    server.says(1, WELCOME)

    assert [response(7)] == server.says(2, request(7, "ping"))
    [refusal] = server.says(3, request(8, "roots/list"))
    assert b'"code":-32601' in refusal
    assert ["the server asked for roots/list, which was never recorded"] == server.told


def test_many_questions_at_once() -> None:
    """Of a thousand the answers wait for their time, those to further ones are sent at once."""
    server = opened(
        c(call(1, "a")), s(request(0, "roots/list")), c(call(2, "b")), c(response(0)),
        timing=Timing("recorded"),
    )  # fmt: skip
    server.says(1, WELCOME)

    assert [response(1000), response(1001)] == server.says(
        1, *(request(n, "roots/list") for n in range(1002))
    )


def test_a_question_that_was_not_answered() -> None:
    """Nor is it now."""
    server = opened(c(call(1, "a")), s(request(5, "roots/list")))
    server.says(1, WELCOME)

    assert [END] == server.says(2, request(5, "roots/list"))


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (response(1, {"nextCursor": "LIVE"}), b'"LIVE"'),
        (response(1, {"nextCursor": None}), b'"C"'),
        (response(1, {"tools": []}), b'"C"'),
        (response(1), b'"C"'),
        (error(1), b'"C"'),
    ],
)
def test_live_tokens(answer: bytes, sent: bytes) -> None:
    """What the live server minted is sent back; the recorded value where it minted none."""
    server = opened(
        c(request(1, "tools/list")), s(response(1, {"nextCursor": "C"})),
        c(request(2, "tools/list", {"cursor": "C"})),
    )  # fmt: skip
    server.says(1, WELCOME)

    [second, _end] = server.says(2, answer)
    assert b'"cursor":' + sent in second.replace(b'": "', b'":"')


def test_secrets_that_servers_mint() -> None:
    """What was taken out of a recorded answer is learned from the live one."""
    server = opened(
        c(call(1, "login")), s(response(1, {"a": [{"token": f"T {HOLE}"}]})),
        c(call(2, "use", token=HOLE)),
    )  # fmt: skip
    server.says(1, WELCOME)

    assert [call(2, "use", token="live"), END] == server.says(
        2, batch(response(1, {"a": [{"token": "T live", "b": 1}]}))
    )


def test_an_error_in_the_place_of_a_secret() -> None:
    """The recorded text is sent."""
    use = call(2, "use", token=HOLE)
    server = opened(c(call(1, "login")), s(response(1, {"token": HOLE})), c(use))
    server.says(1, WELCOME)

    assert [use, END] == server.says(2, error(1))


def test_a_secret_that_is_not_minted() -> None:
    """A text that does not fit teaches nothing, and one that does later is learned."""
    server = opened(
        c(call(1, "login")), s(response(1, {"a": f"T {HOLE}", "b": f"T {HOLE}"})),
        c(call(2, "use", token=HOLE)),
    )  # fmt: skip
    server.says(1, WELCOME)

    assert [call(2, "use", token="live"), END] == server.says(
        2, response(1, {"a": "T live", "b": "none"})
    )


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"a": HOLE}, ["live"]), ({"a": HOLE}, {"b": "live"}), ({"a": HOLE}, {"a": 1}),
        ({"a": HOLE}, None), ([HOLE], {"a": "live"}), ([HOLE], []), ([HOLE], 5), ([HOLE], "live"),
        ({"a": f"T {HOLE}", "b": 5, "c": None}, {"a": "no", "b": HOLE, "c": [HOLE]}),
    ],
)  # fmt: skip
def test_an_answer_of_another_form(recorded: Any, live: Any) -> None:
    """It teaches nothing: the recorded text is sent."""
    use = call(2, "use", token=HOLE)
    server = opened(c(call(1, "login")), s(response(1, recorded)), c(use))
    server.says(1, WELCOME)

    assert [use, END] == server.says(2, response(1, live))


def test_what_the_server_no_longer_says() -> None:
    """It is waited for a moment and no more, and no failure of the drive."""
    server = opened(
        c(call(1, "a")), s(LOG), s(response(1)), c(call(2, "b")), s(LOG), s(response(2)),
        c(call(3, "c")),
    )  # fmt: skip
    server.says(1, WELCOME)
    assert [] == server.says(2, response(1))

    assert [call(2, "b")] == server.silent_until(2.5)
    assert [call(3, "c"), END] == server.says(3, LOG, response(2))
    assert [] == server.told
    server.driver.report_not_sent()
    assert (["not sent by the server: notifications/message"], 0) == (
        server.told,
        server.driver.failed,
    )


@pytest.mark.parametrize(
    ("late", "told"),
    [
        (0, ["not sent by the server: notifications/message"]),
        (1, ["not sent by the server: notifications/message"]),
        (2, []),
        (3, []),
    ],
)
def test_what_comes_later_than_it_is_waited_for(late: int, told: list[str]) -> None:
    """So many of the two come behind the end of the input, and were sent after all."""
    server = opened(
        c(call(1, "a")), s(LOG), s(response(1)), c(call(2, "b")), s(LOG), s(response(2)),
    )  # fmt: skip
    server.says(1, WELCOME)
    server.says(2, response(1))
    assert [call(2, "b")] == server.silent_until(2.5)
    assert [] == server.says(2.5, response(2))
    assert [END] == server.silent_until(3)

    server.says(4, *[LOG] * late)
    server.driver.report_not_sent()

    assert told == server.told


def test_an_answer_that_does_not_come() -> None:
    """It is waited for longer where it took long, and the drive has failed."""
    server = Server((0.0, "c2s", call(1, "a")), (3.0, "s2c", response(1)), c(call(2, "b")))
    assert [call(1, "a")] == server.says(0)

    assert [] == server.silent_until(14.9)
    assert [call(2, "b"), END] == server.silent_until(15)
    assert [b"1"] == server.driver.given_up
    assert (["no answer to the request in event 1"], 1) == (
        server.told,
        server.driver.failed,
    )
    assert [] == server.says(16, response(1))


@pytest.mark.parametrize(
    ("recorded", "answer", "told"),
    [
        (WELCOME, WELCOME, []),
        (WELCOME, error(0), ["the server answered initialize with an error"]),
        (error(0), error(0), []),
    ],
)
def test_a_client_that_is_refused(recorded: bytes, answer: bytes, told: list[str]) -> None:
    """It came no further than its handshake, whatever else is answered, unless in the recording."""
    server = Server(c(INITIALIZE), s(recorded), c(INITIALIZED))
    server.says(0)
    server.says(1, answer)

    assert (told, len(told)) == (server.told, server.driver.failed)


def test_a_server_that_ends() -> None:
    """What was left to say is told, and what it was asked last; behind the last line it is
    nothing.
    """
    server = opened(c(call(1, "a")), s(response(1)), c(call(2, "b")))
    server.says(1, WELCOME)
    server.pipeline.enter([exits(1)], 2)
    assert (["the server ended; recorded messages left to send: 1"], True) == (
        server.told,
        server.pipeline.hung_up is not None,
    )

    asked = opened(c(call(1, "a")), s(response(1)))
    asked.says(1, WELCOME)
    asked.pipeline.enter([exits(1)], 2)
    assert ["the server ended without an answer to the request in event 4"] == asked.told

    done = opened()
    assert [INITIALIZED, END] == done.says(1, WELCOME)
    done.pipeline.enter([exits(0)], 2)
    assert (0, []) == (done.driver.failed, done.told)


def test_a_server_that_closes_its_output_and_ends() -> None:
    """It ended once."""
    server = opened(c(call(1, "a")), s(response(1)))
    server.says(1, WELCOME)
    server.says(2, hangs_up(S2C), exits(1))

    assert ["the server ended without an answer to the request in event 4"] == server.told
    assert [0, 1] == [server.driver.left, server.driver.failed]


def test_a_server_that_ends_before_a_notification() -> None:
    """No answer is missing."""
    server = opened(c(call(1, "a")), s(response(1)), s(LOG))
    server.says(1, WELCOME)
    assert [END] == server.says(2, response(1), hangs_up(S2C))

    assert [] == server.told


CLOSED: Line = ("end", {"d": "s2c"})
CALLED = [*OPENING, c(call(1, "a"))]


@pytest.mark.parametrize(
    ("events", "waits"),
    [
        ([CLOSED, c(INITIALIZE), ("end", {"exit": 3})], True),
        ([c(INITIALIZE), CLOSED, ("end", {"exit": 3})], True),
        ([*OPENING, CLOSED, ("end", {"exit": 255})], True),
        ([*CALLED, CLOSED, ("end", {"signal": 11})], True),
        ([*CALLED, s(response(1)), CLOSED, ("end", {"exit": 1})], True),
        ([*CALLED, CLOSED, ("end", {"d": "c2s"}), ("end", {"exit": 1})], True),
        ([*CALLED, CLOSED, ("end", {"d": "c2s"}), ("end", {"exit": 0})], False),
        ([*CALLED, CLOSED, ("end", {"d": "c2s", "signal": 15}), ("end", {"exit": 1})], False),
        ([*CALLED, ("end", {"d": "c2s"}), CLOSED, ("end", {"exit": 1})], False),
        ([*CALLED, ("end", {"d": "c2s", "signal": 2}), CLOSED, ("end", {"exit": 1})], False),
        ([*CALLED, CLOSED, ("end", {"exit": 143})], False),
        ([*CALLED, CLOSED, ("end", {"signal": 9})], False),
        ([*CALLED, CLOSED, ("end", {"exit": 0})], False),
        ([*CALLED, CLOSED], False),
        (CALLED, False),
    ],
)
def test_a_recorded_crash(events: list[Line], waits: bool) -> None:
    """The server is to end by itself again: as long as for an answer it is not ended; then that it
    goes on is told.
    """
    server = Server(*events)
    said = [*server.says(0), *server.says(1, WELCOME), *server.says(2, response(1))]

    assert waits is (END not in [*said, *server.silent_until(9)])
    assert ([END] if waits else []) == server.silent_until(30)[-1:]
    server.driver.report_not_sent()
    assert (["not sent by the server: the end of its output"] if waits else []) == server.told


def test_a_server_that_closes_its_output() -> None:
    """It says nothing any more: no answer is waited for, and its input ends too."""
    server = opened(c(call(1, "a")), s(response(1)), c(call(2, "b")))
    server.says(1, WELCOME)
    [frames] = server.pipeline.enter([hangs_up(S2C)], 2)

    assert [END] == [_raw(frame) for frame in frames]
    assert ["the server ended; recorded messages left to send: 1"] == server.told

    ask = request(0, "roots/list")
    asked = Server(
        c(call(1, "a")), s(ask), c(response(0)), s(response(1)), timing=Timing("recorded")
    )
    asked.says(0)
    asked.says(1, ask)
    [frames] = asked.pipeline.enter([hangs_up(S2C)], 2)
    assert [END] == [_raw(frame) for frame in frames]


def test_a_server_that_falls_silent() -> None:
    """Not every answer is waited for then."""
    events = [event for n in range(1, 9) for event in (c(call(n, "a")), s(response(n)))]
    server = opened(*events)
    server.says(1, WELCOME)

    assert [call(2, "a"), call(3, "a"), END] == server.silent_until(31)
    assert "the server sends nothing any more; recorded messages left to send: 5" == server.told[-1]
    assert 4 == server.driver.failed


def test_a_server_that_writes_no_messages() -> None:
    """Its lines are no sign that an answer may come, and without end they end the session."""
    events = [event for n in range(1, 9) for event in (c(call(n, "a")), s(response(n)))]
    chatty = opened(*events)
    chatty.says(1, WELCOME)
    for now in (9, 19, 29):
        assert END not in chatty.says(now, b"noise")
        chatty.silent_until(now + 2.5)
    assert "the server sends nothing any more; recorded messages left to send: 5" == chatty.told[-1]

    endless = opened(*events)
    endless.says(1, WELCOME)
    endless.says(2, *[b"y"] * (MAX_NOISE - 1))
    assert [call(2, "a")] == endless.says(3, response(1))
    assert [END] == endless.says(4, *[b"y"] * MAX_NOISE)
    endless.says(5, *[b"y"] * (2 * MAX_NOISE))
    told = "the server sent 10000 lines that are not JSON-RPC messages, and none that is"
    assert [f"{told}; recorded messages left to send: 6"] == endless.told


def test_a_server_that_is_silent_to_the_end() -> None:
    """Where nothing is left to be sent, only what was not answered is told."""
    events = [event for n in (1, 2, 3) for event in (c(call(n, "a")), s(response(n)))]
    server = Server(*events)

    assert [*(call(n, "a") for n in (1, 2, 3)), END] == server.silent_until(31)
    assert [f"no answer to the request in event {n}" for n in (1, 3, 5)] == server.told


def test_a_server_that_speaks_first() -> None:
    """Its first message is waited for from the beginning, whatever the clock shows then."""
    server = Server(s(LOG), c(call(1, "a")), began=100.0)

    assert [] == server.silent_until(100.4)
    assert [call(1, "a"), END] == server.silent_until(100.5)


def test_answers_that_a_fault_takes_away() -> None:
    """They are waited for only until both sides are quiet, and are no failure; others as long as
    ever.
    """
    server = Server(
        c(call(1, "a")), c(call(2, "b")), s(response(1)), s(response(2)), c(call(3, "c")),
        s(response(3)), owes=lambda id_: id_ == b"2",
    )  # fmt: skip
    assert [call(1, "a"), call(2, "b")] == server.says(0)
    assert [] == server.silent_until(9)
    assert [call(3, "c")] == server.says(9, response(2))
    assert [] == server.silent_until(9.4)
    assert [END] == server.silent_until(9.5)

    assert ([], [], []) == (server.told, server.driver.given_up, server.driver.unanswered())


def test_an_answer_that_is_held_for_a_moment() -> None:
    """It is not yet taken away."""
    server = Server(c(call(1, "a")), s(response(1)), c(call(2, "b")), owes=lambda _id: False)
    assert [call(1, "a")] == server.says(0)

    assert [] == server.silent_until(0.4)
    assert [call(2, "b"), END] == server.says(0.4, response(1))


def test_requests_among_notifications() -> None:
    """Each has its own answer."""
    sent = batch(INITIALIZED, call(1, "a"), LOG, call(2, "b"))
    server = Server(c(sent), s(response(1)), c(call(3, "c")), s(response(2)))
    assert [sent] == server.says(0)

    assert [call(3, "c")] == server.says(1, response(1))
    assert [END] == server.says(1, response(2))


def test_standard_error() -> None:
    """It passes, and is no message whatever it says."""
    server = Server(c(call(1, "a")), s(response(1)))
    server.says(0)
    line = logs(response(1).decode())

    assert [[line]] == server.pipeline.enter([line], 1)
    assert [END] == server.says(2, response(1))


def test_a_cancel_of_nothing() -> None:
    """It is sent as recorded."""
    server = Server(c(call(1, "a")), c(cancelled(99)), s(response(1)))

    assert [call(1, "a"), cancelled(99)] == server.says(0)
    assert [] == server.driver.cancelled


@pytest.mark.parametrize(("owed", "failed"), [(True, 1), (False, 0)])
def test_a_fault_and_a_server_that_never_stops_talking(owed: bool, failed: int) -> None:
    """An answer is waited for no longer than without faults; one that a fault took away is no
    failure.
    """
    server = Server(c(call(1, "a")), s(response(1)), c(call(2, "b")), owes=lambda _id: owed)
    assert [call(1, "a")] == server.says(0)

    assert 10.0 == chatter(server, 0)
    assert failed == server.driver.failed


def chatter(server: Server, since: float) -> float:
    """When the driver says something, while the server never stops talking."""
    for tick in range(1, 100):
        if server.says(since + tick / 4, notification(f"x/{tick}")):
            return since + tick / 4
    raise AssertionError("never")


def test_a_server_that_never_stops_talking() -> None:
    """Neither what is missing nor a pause takes longer because of it, and nothing piles up."""
    for owes in (None, lambda _id: True):
        server = Server(c(call(1, "a")), s(response(1)), s(LOG), c(call(2, "b")), owes=owes)
        assert [call(1, "a")] == server.says(0)
        assert [] == server.says(1, response(1))
        assert 11.0 == chatter(server, 1)

    paused = Server(c(call(1, "a")), s(response(1)), c(call(2, "b")), timing=Timing("fixed", 3000))
    assert [call(1, "a")] == paused.silent_until(3)
    assert [] == paused.says(4, response(1))
    assert 7.0 == chatter(paused, 4)
    assert len(paused.pipeline._due) < 5


def test_slow_progress() -> None:
    """While a call is open, what came late in the recording may come late now."""
    slow = request(1, "tools/call", token=9)
    server = Server(
        (0.0, "c2s", slow), (2.0, "s2c", progress(9)), (2.0, "c2s", cancelled(1)),
    )  # fmt: skip
    assert [slow] == server.says(0)

    assert [] == server.silent_until(9.9)
    assert [cancelled(1), END] == server.silent_until(10)
    server.driver.report_not_sent()
    assert ["not sent by the server: notifications/progress for event 1"] == server.told


def test_an_answer_that_crossed_a_cancel() -> None:
    """It comes or does not, in time or late: a moment is waited for it."""
    server = Server(c(call(1, "a")), c(cancelled(1)), s(response(1)), c(call(2, "b")))
    assert [call(1, "a"), cancelled(1)] == server.says(0)
    assert [call(2, "b"), END] == server.says(0.25, response(1))

    silent = Server(c(call(1, "a")), c(cancelled(1)), s(response(1)), c(call(2, "b")))
    silent.says(0)
    assert [call(2, "b"), END] == silent.silent_until(0.5)
    silent.driver.report_not_sent()
    assert (["not sent by the server: answer for event 1"], 0) == (
        silent.told,
        silent.driver.failed,
    )


def test_a_cancel_of_what_the_server_asked() -> None:
    """It ends no call of the client."""
    ask = request(7, "roots/list")
    server = Server(c(call(1, "a")), s(ask), c(cancelled(7)), s(response(1)), c(call(2, "b")))
    assert [call(1, "a")] == server.says(0)

    assert [cancelled(7)] == server.says(1, ask)
    assert [call(2, "b"), END] == server.says(2, response(1))
    assert [] == server.driver.cancelled


def test_answers_twice_and_too_soon() -> None:
    """The second of two is nobody's; one to what was not yet asked neither."""
    server = opened(c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2)))
    answered: list[int] = []
    server.driver.on_answer = lambda number, _answer, _seconds: answered.append(number)
    server.says(1, response(2), WELCOME)

    assert [call(2, "b")] == server.says(2, response(1), response(1))
    assert [] == server.says(3, response(1))
    assert [END] == server.says(4, response(2))
    assert [0, 1, 2] == answered


def test_long_answers() -> None:
    """They come in pieces."""
    server = opened(c(call(1, "a")), s(response(1)), c(call(2, "b")))
    server.says(1, WELCOME)
    half = Frame(S2C, response(1)[:20], b"", Fragment())
    rest = Frame(S2C, response(1)[20:], b"\n", Fragment(last=True))

    assert [] == server.pipeline.enter([half], 2)
    assert [[call(2, "b"), END]] == [
        [_raw(frame) for frame in frames] for frames in server.pipeline.enter([rest], 3)
    ]


def test_an_answer_that_is_too_long() -> None:
    """It is none, whatever it begins with."""
    server = opened(c(call(1, "a")), s(response(1)), c(call(2, "b")))
    server.says(1, WELCOME)
    server.driver._reassembly.max_bytes = 100
    pieces = [Frame(S2C, response(1), b"", Fragment()), Frame(S2C, b" " * 100, b"", Fragment(True))]

    assert [] == server.says(2, *pieces)
    assert [call(2, "b"), END] == server.says(3, response(1))


def test_the_place_of_a_reply() -> None:
    """It goes behind the lines that it came behind; where these wait for it, it goes anyhow."""
    ask = request(0, "roots/list")
    server = Server(
        c(call(1, "a")), s(ask), c(call(2, "b")), s(response(2)), c(call(3, "c")),
        (3.0, "c2s", response(0)), s(response(1)),
    )  # fmt: skip
    assert [call(1, "a")] == server.says(0)

    assert [call(2, "b")] == server.says(1, ask)
    assert [call(3, "c"), response(0)] == server.says(2, response(2))

    other = Server(
        c(call(1, "a")), s(ask), c(call(2, "b")), s(response(2)), c(call(3, "c")),
        (3.0, "c2s", response(0)), s(response(1)),
    )  # fmt: skip
    assert [call(1, "a")] == other.says(0)
    assert [call(2, "b")] == other.says(1, ask)
    assert [response(0)] == other.silent_until(6.0)


def test_silence_counts_from_a_reply() -> None:
    """What the client sends is activity, as what the server sends is."""
    ask = request(0, "roots/list")
    server = Server(
        (0.0, "c2s", call(1, "a")), (1.0, "s2c", ask), (1.4, "c2s", response(0)),
        (1.5, "s2c", LOG), (1.5, "s2c", response(1)), (1.6, "c2s", call(2, "b")),
        timing=Timing("recorded"),
    )  # fmt: skip
    assert [call(1, "a")] == server.says(0)
    assert [] == server.says(1, ask, response(1))

    assert [response(0)] == server.silent_until(1.89)
    assert [call(2, "b"), END] == server.silent_until(1.9)


def test_progress_on_a_question() -> None:
    """It has the token that the live question gave."""
    ask = request(0, "sampling/createMessage", token="old")
    server = Server(c(call(1, "a")), s(ask), c(progress("old")), c(response(0)), s(response(1)))
    server.says(0)

    live = request("q", "sampling/createMessage", token=7)
    assert [progress(7), response("q")] == server.says(1, live)


def test_progress_with_a_token_that_nothing_gave() -> None:
    """It is sent as recorded: what reports on nothing, and on a question that has no token now."""
    ask = request(0, "sampling/createMessage", token="old")
    server = Server(
        c(call(1, "a")), c(progress("other")), s(ask), c(progress("old")), c(response(0)),
        s(response(1)),
    )  # fmt: skip
    assert [call(1, "a"), progress("other")] == server.says(0)

    live = request("q", "sampling/createMessage")
    assert [progress("old"), response("q")] == server.says(1, live)


def test_tokens_as_the_live_server_spells_them() -> None:
    """In batches and in answers to questions too; whatever their type."""
    server = Server(
        c(call(1, "a")), s(response(1, {"taskId": "T"})),
        c(batch(request(2, "tasks/get", {"taskId": "T"}))), s(request(0, "roots/list")),
        c(response(0, {"taskId": "T"})), s(batch(response(2))),
    )  # fmt: skip
    server.says(0)

    live = response(1, {"taskId": "\0"}).replace(b'"\\u0000"', b"1.50")
    [second] = server.says(1, live)
    assert batch(request(2, "tasks/get", {"taskId": "T"})).replace(b'"T"', b"1.50") == second
    assert [response(9, {"taskId": "T"}).replace(b'"T"', b"1.50")] == server.says(
        2, request(9, "roots/list")
    )


def test_what_is_told_is_bounded() -> None:
    """A server may ask for ever, and for anything."""
    server = opened(c(call(1, "a")), s(response(1)))
    server.says(1, WELCOME)
    for number in range(100):
        assert 1 == len(server.says(2, request(number, f"x/{number}")))
        assert 1 == len(server.says(2, request(number, "x/0")))

    assert (20, 200) == (len(server.told), server.driver.failed)


def test_pauses() -> None:
    """With recorded times lines and answers wait as long as they did, from what came last."""
    server = Server(
        (0.0, "c2s", call(1, "a")), (1.0, "s2c", request(0, "roots/list")),
        (1.5, "c2s", response(0)), (2.0, "s2c", response(1)), (2.25, "c2s", call(2, "b")),
        timing=Timing("recorded"),
    )  # fmt: skip
    assert [call(1, "a")] == server.says(0)

    assert [] == server.says(3, request(0, "roots/list"))
    assert [response(0)] == server.silent_until(3.5)
    assert [] == server.says(5, response(1))
    assert [call(2, "b"), END] == server.silent_until(5.25)


def test_told_to_stop() -> None:
    """The end of the client's side passes, and nothing more is said."""
    server = opened(c(call(1, "a")))
    [batch] = server.pipeline.enter([Frame(C2S, b"", b"", StreamEnd())], 1)

    assert isinstance(batch[0].fact, StreamEnd)
    assert [] == server.says(2, WELCOME, exits(0))
    assert ([], 0) == (server.told, server.driver.failed)
