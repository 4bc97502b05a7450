"""The faults of a run: what they count and what is told of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs
import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.kinds.connection import LimitData
from mcpmock.faults.kinds.content import Replace, Truncate
from mcpmock.faults.kinds.http import JsonInsteadOfSse, Outage, Quota, WrongContentType
from mcpmock.faults.kinds.mcp import CapabilityLie, CursorLoop, ToolVanishes, VersionMismatch
from mcpmock.faults.kinds.sse import SseDuplicateId
from mcpmock.faults.kinds.timing import Delay, Latency, Slicer
from mcpmock.faults.match import Match, Subject
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.receipts import FaultRun
from mcpmock.protocol.messages import Frame, parse
from tests.support import (
    INITIALIZE,
    answers,
    c2s,
    call,
    opens,
    post,
    progress,
    request,
    response,
    s2c,
    says,
    shown,
)
from tests.support.faulty import ANSWER, CALL, engine_of, faulty, receipts


@pytest.mark.parametrize("name", ["slow", None])
def test_a_receipt(name: str | None) -> None:
    """Which fault, how many times so far, on what, with what it drew."""
    wire = faulty(Latency(name=name, latency=0.5, match=Match(tool="x")))
    told = receipts(wire)
    wire.at(0, client=call("a", "x"), to_server=call("a", "x")).at(0, server=response("a"))

    assert [
        {
            **({} if name is None else {"name": name}),
            "kind": "latency",
            "fired": 1,
            "on": "response",
            "method": "tools/call",
            "id": '"a"',
            "drawn": {"seconds": 0.5},
        }
    ] == told
    wire.abandon()


def test_the_summary() -> None:
    """Which fired how often, which never did, and which of those had to."""
    wire = faulty(
        Latency(latency=1, match=Match(nth=2)),
        Latency(name="never", latency=1, must_fire=True, match=Match(tool="x")),
        Latency(name="idle", latency=1, match=Match(tool="x")),
    ).abandon()
    for _ in range(3):
        wire.pipeline.enter([s2c(response(1))], 0)
    run = engine_of(wire).run

    assert [
        "fault latency: fired 1 of 3 times that it matched",
        "fault never (latency): never fired, and it must: nothing matched",
        "fault idle (latency): never fired: nothing matched",
    ] == run.summary()
    assert run.summary()[1:] == run.never_fired()
    assert ["never"] == [fault.title for fault in run.owing()]
    assert [(1, 3), (0, 0), (0, 0)] == [
        (tally["fired"], tally["matched"]) for tally in run.tallies()
    ]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([b'"y"'], "no client called the tool 'x', only y"),
        ([b'"Non"'], "no client called the tool 'x', only Non"),
        ([b'"a\tb"'], "no client called the tool 'x'"),  # not JSON
        ([b"5"], "no client called the tool 'x'"),
        ([b'"%b"' % (b"y" * 300)], "no client called the tool 'x'"),
        ([b'"%d"' % n for n in range(999)], "no client called the tool 'x', only 0, 1, 10, .*"),
        ([b'"%d"' % n for n in range(1000)], "nothing matched"),
    ],
    ids=["other", "like", "tab", "number", "long", "many", "full"],
)
def test_what_was_heard(names: list[bytes], reason: str) -> None:
    """The reason names the tools that were called, and claims nothing where some were not kept."""
    run = FaultRun.of(Plan(faults=(Latency(latency=1, match=Match(tool="x")),)))
    for name in names:
        frame = c2s(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%b}}' % name)
        run.hear(Subject(frame, parse(frame.raw), "tools/call"))

    assert re.fullmatch(f"fault latency: never fired: {reason}", run.summary()[0])


def test_a_long_method_is_not_kept() -> None:
    """What is heard is bounded: no method is as long as this."""
    run = FaultRun.of(Plan())
    for method in ("a" * 256, "b" * 257):
        run.hear(Subject(frame := c2s(request(1, method)), parse(frame.raw), method))

    assert [("a" * 256, None)] == [*run.heard]


LISTED = response(1, {"tools": [{"name": "a"}], "nextCursor": "x"}).replace(b":", b" : ")
WELCOME = response(0, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})
ON_STDIO = [c2s(INITIALIZE), s2c(WELCOME), c2s(call(1, "x")), s2c(progress(1)), s2c(ANSWER)]
UNCHANGED: list[tuple[Fault, str, Sequence[Sequence[Frame]]]] = [
    (Latency(latency=0.0, jitter=0.0), "stdio", [[f] for f in ON_STDIO]),
    (Delay(delay=0), "stdio", [[f] for f in ON_STDIO]),
    (Slicer(size="1MB"), "stdio", [[f] for f in ON_STDIO]),
    (LimitData(bytes="1MB"), "stdio", [[f] for f in ON_STDIO]),
    (Truncate(bytes="1MB"), "stdio", [[f] for f in ON_STDIO]),
    (Replace(text=ANSWER.decode(), match=Match(method="tools/call")), "stdio", [[s2c(ANSWER)]]),
    (VersionMismatch(version="2025-11-25"), "stdio", [[f] for f in ON_STDIO]),
    (CapabilityLie(claims=("tools",)), "stdio", [[f] for f in ON_STDIO]),
    (ToolVanishes(gone="z*"), "stdio", [[c2s(request(1, "tools/list"))], [s2c(LISTED)]]),
    (CursorLoop(cursor="x"), "stdio", [[c2s(request(1, "tools/list"))], [s2c(LISTED)]]),
    (Cancel(i=5), "stdio", [[f] for f in ON_STDIO]),
    (Quota(requests=1), "streamable-http", [post(1, CALL)]),
    (JsonInsteadOfSse(), "streamable-http", [post(1, CALL), answers(1, ANSWER)]),
    (
        WrongContentType(content_type="application/json"),
        "streamable-http",
        [post(1, CALL), answers(1, ANSWER, content_length="9")],
    ),
    (
        SseDuplicateId(id="7"),
        "streamable-http",
        [post(1, CALL), [*opens(1), *says(1, ANSWER, id="7")]],
    ),
]


@pytest.mark.parametrize(
    ("fault", "transport", "batches"), UNCHANGED, ids=[row[0].kind for row in UNCHANGED]
)
def test_a_fault_that_changes_nothing_has_not_fired(
    fault: Fault, transport: str, batches: Sequence[Sequence[Frame]]
) -> None:
    """The messages pass as they came, without a receipt, and `must_fire` is not met."""
    wire = faulty(attrs.evolve(fault, must_fire=True), transport=transport).abandon()
    told, run = receipts(wire), engine_of(wire).run

    assert [*map(shown, batches)] == [
        shown(f for out in wire.pipeline.enter(batch, 0) for f in out) for batch in batches
    ]
    assert ([], [0], [fault.kind]) == (
        told,
        [tally["fired"] for tally in run.tallies()],
        [owing.kind for owing in run.owing()],
    )


def test_each_message_fires_by_itself() -> None:
    """An outage fires while it lasts, a quota above its limit; `times` counts what fired."""
    outage = faulty(Outage(time=2), transport="streamable-http").abandon()
    quota = faulty(Quota(requests=1, match=Match(times=1)), transport="streamable-http").abandon()
    for wire in (outage, quota):
        for at in range(4):
            wire.pipeline.enter(post(at, CALL), at / 2 if wire is quota else at)

    assert [2, 1] == [engine_of(wire).run.tallies()[0]["fired"] for wire in (outage, quota)]
    assert ["fault outage: fired 2 of 4 times that it matched"] == engine_of(outage).run.summary()


def test_a_race_fires_with_its_first_change() -> None:
    """Not with the request that begins it."""
    wire = faulty(CancelRace(cell="cancel_during_work")).abandon()
    told = receipts(wire)
    for frame in [c2s(call(1, "x", token="t")), s2c(progress("t")), s2c(response(1))]:
        wire.pipeline.enter([frame], 0)

    assert [("response", 1)] == [(receipt["on"], receipt["fired"]) for receipt in told]


def test_faults_may_change_while_it_runs() -> None:
    """One that is added acts from then on; one that is removed no more, and is still counted."""
    wire = faulty()
    run = engine_of(wire).run
    wire.at(0, server=response(1), to_client=response(1))
    armed = run.add(Latency(latency=1))
    wire.at(0, server=response(1))
    run.remove(armed)
    wire.at(0.5, server=response(2), to_client=response(2)).at(1, to_client=response(1))
    run.add(Delay(delay=1))
    run.add(Delay(delay=2))
    run.clear()
    wire.at(2, server=response(3), to_client=response(3)).nothing_more()

    fired, *never = run.summary()
    assert "fault latency: fired 1 of 1 times that it matched" == fired
    assert ["fault delay: never fired: nothing matched"] * 2 == never


def test_one_fault_does_not_disturb_the_dice_of_another() -> None:
    """Each has dice of its own, from the seed and its place in the plan."""
    jitter = Latency(latency=1, jitter=1)

    def drawn(*faults: Latency) -> float:
        wire = faulty(*faults)
        told = receipts(wire)
        wire.abandon().pipeline.enter([s2c(response(1))], 0)
        return float(told[0]["drawn"]["seconds"])

    assert drawn(jitter) == drawn(jitter, jitter) == drawn(jitter, Latency(jitter=2))
