"""The stage that lets faults happen: what it touches, and all that it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs
import pytest

from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.kinds.connection import GarbageThenClose, HalfClose, LimitData, ResetPeer
from mcpmock.faults.kinds.errors import Error, ToolError
from mcpmock.faults.kinds.http import WrongContentType
from mcpmock.faults.kinds.loss import BlackHole, Drop
from mcpmock.faults.kinds.process import Exit
from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.receipts import FaultRun
from mcpmock.faults.segments import On
from mcpmock.pipeline.stage import PASS, Action, Hangup, Send
from mcpmock.protocol.messages import C2S, S2C, Frame, HttpBody, HttpResponse
from tests.support import (
    answers,
    batch,
    c2s,
    call,
    ends,
    get,
    hangs_up,
    logs,
    notification,
    opens,
    post,
    progress,
    replies,
    request,
    response,
    s2c,
    says,
    script,
    shown,
)
from tests.support.faulty import engine_of, faulty, receipts


@attrs.frozen(kw_only=True)
class Takes(Fault):
    """Takes what it is for."""

    kind: ClassVar[str] = "takes"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        return ()


@attrs.frozen(kw_only=True)
class Marks(Fault):
    """Adds a mark to what it is for, and says something before and behind it."""

    kind: ClassVar[str] = "marks"
    mark: bytes = b"!"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send([matched.message(matched.direction, b"<")])
        yield Send(matched.unit)
        yield Send([matched.message(matched.direction, self.mark)])


@attrs.frozen(kw_only=True)
class Breaks(Fault):
    """Has a bug."""

    kind: ClassVar[str] = "breaks"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raise ZeroDivisionError


@attrs.frozen(kw_only=True)
class Answers(Fault):
    """Answers in the server's place."""

    kind: ClassVar[str] = "answers"
    acts_on: ClassVar[On] = On.ASKED | On.BEGIN

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Hangup("begun") if matched.on is On.BEGIN else Send(matched.answer(b"{}"))


@attrs.frozen(kw_only=True)
class Replaces(Fault):
    """Sends another frame instead."""

    kind: ClassVar[str] = "replaces"
    by: Frame

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send([self.by])


ALL = [c2s(call(1, "x")), s2c(response(1)), s2c(b"banner"), logs("x"), s2c(notification("a"))]


def test_without_faults_nothing_is_looked_at() -> None:
    """The same batch goes on, untouched."""
    stage = FaultEngine(FaultRun())

    assert all(stage.feed([frame], 0) is PASS for frame in ALL)


@pytest.mark.parametrize("match", [Match(probability=0), Match(session=2), Match(transport="sse")])
def test_where_no_fault_can_be_nothing_is_looked_at(match: Match) -> None:
    """The same batch goes on, untouched."""
    stage = FaultEngine(FaultRun.of(Plan(faults=(Latency(latency=1, match=match),))))

    assert all(stage.feed([frame], 0) is PASS for frame in ALL)


@pytest.mark.parametrize(
    ("by", "fired"),
    [
        (says(1, b"x")[-1], 0),
        (says(1, b"y")[-1], 1),
        (says(2, b"x")[-1], 1),
        (post(1, b"x")[-1], 1),
        (Frame(S2C, b"x", fact=HttpBody(), exchange=1), 1),
    ],
)
def test_what_is_a_change(by: Frame, fired: int) -> None:
    """Other bytes, another way, another exchange and another kind of frame."""
    wire = faulty(Replaces(by=by), transport="streamable-http")
    told = receipts(wire)
    wire.pipeline.enter([says(1, b"x")[-1]], 0)

    assert fired == len(told)


def test_names_may_be_spelled_in_another_way() -> None:
    """Escapes in JSON hide nothing."""
    asked = request(1, "tools/call").replace(b"/", b"\\/")
    escaped = request(2, "tools/call").replace(b"tools", b"\\u0074ools")
    wire = faulty(Takes(toward="server", match=Match(method="tools/call")))

    wire.at(0, client=asked).at(0, client=escaped).nothing_more()


def test_batches_stay_together() -> None:
    """What is not delayed leaves in one batch, as it came."""
    wire = faulty(Takes(match=Match(nth=2)))
    out = wire.pipeline.enter([s2c(response(n)) for n in range(4)], 0)

    assert [[response(n) for n in (0, 2, 3)]] == [[f.raw for f in frames] for frames in out]


def test_faults_follow_each_other() -> None:
    """Each gets what the one before left; what else was said stays in its place."""
    wire = faulty(Latency(latency=1), Latency(latency=0.5), Marks())

    wire.at(0, server=b"a", to_client=[])
    wire.at(1.5, to_client=[b"<", b"a", b"!"]).nothing_more()


def test_what_is_gone_meets_no_other_fault() -> None:
    """Who comes later in the plan is not asked, and its turn has not come."""
    wire = faulty(Takes(match=Match(nth=1)), Latency(latency=1, match=Match(nth=1)))

    wire.at(0, server=b"a").at(0, server=b"b").at(1, to_client=b"b").nothing_more()


def test_a_bug_in_a_fault_does_not_reach_the_wire() -> None:
    """The message passes, and the run knows."""
    wire = faulty(Breaks())

    wire.at(0, server=b"a", to_client=b"a").nothing_more()
    run = engine_of(wire).run
    assert ["fault breaks: ZeroDivisionError()"] == run.mistakes
    assert "never fired" in run.summary()[0]


def test_server_requests_too() -> None:
    """What the server asks, and what the client answers."""
    asked = request(1, "sampling/createMessage")
    match = Match(method="sampling/*")

    faulty(Takes(match=match)).at(0, server=asked).nothing_more()
    wire = faulty(Takes(toward="server", match=match))
    wire.at(0, server=asked, to_client=asked).at(0, client=response(1)).nothing_more()


def test_sessions_and_directions() -> None:
    """Only the session and the direction that are named."""
    fault = Takes(toward="client", match=Match(session=2))

    faulty(fault, session=1).at(0, server=b"a", to_client=b"a").nothing_more()
    wire = faulty(fault, session=2)
    wire.at(0, server=b"a").at(0, client=b"a", to_server=b"a").nothing_more()


def test_at_the_beginning() -> None:
    """Some faults are for the session itself."""
    faulty(Answers()).hung_up().nothing_more()


def test_its_time_is_counted_from_the_beginning() -> None:
    """Not from the first message."""
    wire = faulty(Takes(match=Match(between=(1, 2))))
    wire.at(1.5, server=b"a").at(3, server=b"b", to_client=b"b").nothing_more()


def test_over_http_a_request_is_taken_whole() -> None:
    """The server hears nothing of an exchange that a fault answered, nor of its end."""
    wire = faulty(Answers(match=Match(tool="x")), transport="streamable-http")

    assert ["1 200 application/json", "1 {}", "1 eof"] == wire.hears(0, post(1, call(1, "x")))
    assert 2 == len(wire.hears(2, post(2, call(1, "y"))))


def test_over_http_a_get_is_one_too() -> None:
    """By its HTTP method."""
    wire = faulty(Answers(match=Match(method="GET")), transport="streamable-http")

    assert ["1 200 application/json", "1 {}", "1 eof"] == wire.hears(0, get(1))


def test_over_http_an_answer_is_taken_whole() -> None:
    """Its exchange stays open, and others do not care."""
    wire = faulty(Takes(toward="client", match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, call(1, "x")), post(2, call(2, "y")))
    head, *rest = answers(1, response(1))

    assert [] == wire.hears(1, [head], rest)
    assert 3 == len(wire.hears(1, answers(2, response(2))))


def test_over_http_an_event_of_a_stream_is_taken() -> None:
    """The rest of the stream passes."""
    progresses = Match(method="notifications/progress")
    wire = faulty(Takes(toward="client", match=progresses), transport="streamable-http")
    wire.hears(0, post(1, request(1, "tools/call", {"name": "x"}, token=1)))

    assert ["1 200 text/event-stream", "1 sse id=b", "1 " + response(1).decode(), "1 eof"] == (
        wire.hears(
            1, opens(1), says(1, progress(1), id="a"), says(1, response(1), id="b"), [ends(1)]
        )
    )


def test_over_http_a_delayed_answer_keeps_its_exchange_in_order() -> None:
    """Head, message and end come together, and another exchange does not wait."""
    wire = faulty(Latency(latency=1, match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, call(1, "x")))
    reply = answers(1, response(1))

    assert [] == wire.hears(1, reply[:1], reply[1:])
    assert 3 == len(wire.hears(1.5, answers(2, response(2))))
    assert shown(reply) == wire.later(2)


def test_over_http_sse_the_stream_is_shared() -> None:
    """One held message holds up no other call."""
    wire = faulty(Latency(latency=1, match=Match(tool="x")), transport="sse")
    wire.hears(0, get(1), opens(1), post(2, call(1, "x")), post(3, request(2, "ping")))

    assert [] == wire.hears(1, says(1, response(1)))
    assert ["1 " + response(2).decode()] == wire.hears(1, says(1, response(2)))
    assert ["1 " + response(1).decode()] == wire.later(2)


def test_over_http_each_message_to_the_server_has_its_post() -> None:
    """Also what a fault puts in front of the client's own, and behind it."""
    wire = faulty(Marks(toward="server"), transport="streamable-http").pipeline
    asked = call(1, "x")

    sent = [frame for frames in wire.enter(post(1, asked), 0) for frame in frames]
    assert [
        *("-1 POST /mcp", "-1 <"),
        *("1 POST /mcp", f"1 {asked.decode()}"),
        *("-2 POST /mcp", "-2 !"),
    ] == shown(sent)


@pytest.mark.parametrize(
    ("fault", "tool", "opening", "passes"),
    [
        (Latency(latency=1, match=Match(tool="x")), "x", replies(1, 200, "application/json"), 0),
        (Latency(latency=1, match=Match(tool="x")), "y", replies(1, 200, "application/json"), 1),
        (Latency(latency=1, match=Match(tool="x")), "x", opens(1)[0], 1),
        (WrongContentType(match=Match(tool="x")), "x", opens(1)[0], 0),
        (WrongContentType(match=Match(tool="x")), "y", opens(1)[0], 1),
    ],
)
def test_which_head_waits(fault: Fault, tool: str, opening: Frame, passes: int) -> None:
    """That of a body in JSON, if a fault may be for its call; that of a stream only for a fault
    that changes it.
    """
    wire = faulty(fault, transport="streamable-http")
    wire.hears(0, post(1, call(1, tool)))

    assert passes == len(wire.hears(1, [opening]))
    wire.abandon()


def test_a_head_that_waited_goes_as_it_came() -> None:
    """A call that might have been meant and was not: each of both in its own batch."""
    late = Match(tool="x", nth=2)
    wire = faulty(Latency(latency=1, match=late), transport="streamable-http")
    wire.pipeline.enter(post(1, call(1, "x")), 0)
    head, message, end = answers(1, response(1))

    assert [] == wire.pipeline.enter([head], 1)
    assert [[head], [message, end]] == wire.pipeline.enter([message, end], 1)


def test_a_head_that_waited_for_a_fault_that_is_gone() -> None:
    """It goes in front of its message all the same."""
    wire = faulty(Latency(latency=1, match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, call(1, "x")))
    head, *rest = answers(1, response(1))

    assert [] == wire.hears(1, [head])
    engine_of(wire).run.clear()
    assert shown([head, *rest]) == wire.hears(1, rest)


def test_hanging_up_waits_for_what_is_held() -> None:
    """A server that is done has said all; what is held of it comes first."""

    class Done(FaultEngine):
        def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
            return (Send([s2c(response(1))]), Hangup("done"))

    slow = FaultEngine(FaultRun.of(Plan(faults=(Latency(latency=1),))))
    wire = script(slow, Done(FaultRun()))

    wire.at(0, client=hangs_up(c2s(b"").direction)).still_there()
    wire.at(1, to_client=response(1)).hung_up()


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Twice, to the last bit."""

    def run() -> list[tuple[float, bytes]]:
        wire = faulty(Latency(latency=1, jitter=1, match=Match(probability=0.5)), seed=3).abandon()
        told = receipts(wire)
        for n in range(50):
            wire._take(wire.pipeline.enter([s2c(response(n))], n / 10))
        wire._pass_time(float("inf"))
        return [(receipt["drawn"]["seconds"], b"") for receipt in told] + [
            (0, frame.raw) for frame in wire._out
        ]

    assert run() == run()


def test_a_stream_with_a_length() -> None:
    """Some servers count a whole event stream. What adds to it takes the length away; a stream that
    only might have been meant keeps it.
    """
    length = "9"

    def head_of(nth: int, cut: int, tool: str = "x") -> str | None:
        match = Match(tool="x", nth=nth)
        waits = WrongContentType(match=Match(tool="x", nth=9))  # its head waits for an event
        wire = faulty(
            waits, Marks(toward="client", match=match), transport="streamable-http"
        ).pipeline
        wire.enter(post(1, request(1, "tools/call", {"name": tool}, token=1)), 0)
        told = (*says(1, progress(1)), *says(1, response(1)))
        stream = [*opens(1, content_length=length), *told, ends(1)]
        parts = filter(None, (stream[:cut], stream[cut:]))
        [head, *_] = [frame for part in parts for out in wire.enter(part, 0) for frame in out]
        assert isinstance(head.fact, HttpResponse)
        return head.fact.header("content-length")

    for cut in range(len([*opens(1), *says(1, b""), *says(1, b""), ends(1)])):
        assert head_of(2, cut) is None
        assert length == head_of(2, cut, "another tool")
    assert length == head_of(9, 0)


def test_a_body_in_json_keeps_its_length() -> None:
    """Also where the end of its exchange comes later."""
    late = Latency(latency=1, match=Match(tool="x", nth=9))
    wire = faulty(late, transport="streamable-http").pipeline
    wire.enter(post(1, call(1, "x")), 0)
    reply = answers(1, response(1), content_length="9")[:2]

    assert [reply] == wire.enter(reply, 0)


def test_a_batch_is_meant_as_a_whole() -> None:
    """If any of its messages is; also where it answers one that is."""
    both = batch(call(1, "y"), call(2, "x"))
    told = batch(response(1), response(2))
    one = Match(tool="x")

    faulty(Drop(toward="server", match=one)).at(0, client=both).nothing_more()
    faulty(Drop(match=one)).at(0, client=both, to_server=both).at(1, server=told).nothing_more()
    slow = faulty(Latency(latency=1, match=one)).at(0, client=both, to_server=both)
    slow.at(1, server=response(1), to_client=response(1)).at(2, server=told).at(3, to_client=told)
    slow.at(4, server=batch(response(1)), to_client=batch(response(1))).nothing_more()


def test_in_a_batch_there_is_no_request_to_refuse() -> None:
    """What is for requests or answers leaves a batch alone."""
    asked = batch(call(1, "x"))

    faulty(Error(), ToolError()).at(0, client=asked, to_server=asked).nothing_more()


@pytest.mark.parametrize(
    "fault",
    [
        Exit(toward="client"),
        LimitData(bytes=5),
        ResetPeer(),
        GarbageThenClose(),
        HalfClose(),
        BlackHole(toward="client"),
    ],
    ids=lambda fault: fault.kind,
)
def test_nothing_fires_behind_the_end(fault: Fault) -> None:
    """What came in the same read is lost with the end, and no fault is for it."""
    run = FaultRun.of(Plan(faults=(fault,)))
    engine = FaultEngine(run)
    list(engine.feed([s2c(progress(1)), s2c(response(1)), logs("x")], 0.0))

    assert [1] == [armed.turn.fired for armed in run.armed]


@pytest.mark.parametrize(("ended", "fired"), [(False, 1), (True, 0)])
def test_nothing_enters_an_input_that_has_ended(ended: bool, fired: int) -> None:
    """A cancel that the server cannot get has not fired; the message is passed."""
    run = FaultRun.of(Plan(faults=(Cancel(i=1),)))
    engine = FaultEngine(run)
    engine.feed([c2s(call(1, "x"))], 0.0)
    if ended:
        engine.feed([hangs_up(C2S)], 0.0)
    said = s2c(response(1))
    sent = [frame for act in engine.feed([said], 1.0) for frame in act.frames]  # type: ignore[union-attr]

    assert (1 + fired, fired) == (len(sent), run.armed[0].turn.fired)
    assert said in sent
