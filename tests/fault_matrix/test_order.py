"""What waits for what, and for how long: `mcpmock.faults.delay_queue`, with exact times."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.content import Inject
from mcpmock.faults.kinds.mcp import ProgressAfterResponse
from mcpmock.faults.kinds.order import Duplicate, RespondTwice
from mcpmock.faults.kinds.timing import Delay, Hold, Latency
from mcpmock.faults.match import Match
from tests.support import progress

from .conversation import ANSWER, EVEN_ANSWER, EVEN_PROGRESS, LISTED, PONG, PROGRESS
from .hearing import Timed
from .row import for_first
from .running import EVERYWHERE, MODES, with_faults

SLOW = Delay(delay=1.0, match=Match(tool="odd"))
OF_CALL = (PROGRESS, ANSWER)
AT_ONCE = {PROGRESS: 2.25, EVEN_PROGRESS: 2.4375, ANSWER: 2.5, EVEN_ANSWER: 2.6875, LISTED: 3.0}


def heard(transport: str, mode: str, *faults: Fault, more: bytes = b"") -> list[Timed]:
    """What of the two calls and the list reaches the first client, in the order of its times."""
    here = (for_first(fault, transport) for fault in faults)
    ways = with_faults(transport, mode, *here).client[0]
    if transport == "stdio":
        came = ways["stdout"].lines()
    else:
        came = sorted(
            (timed for way in ways.values() for timed in way.messages()), key=lambda one: one[0]
        )
    return [(at, raw) for at, raw in came if raw in AT_ONCE or raw == more]


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_what_has_nothing_to_do_with_it_passes(transport: str, mode: str) -> None:
    """One call is slow, and the other and the list come when they always do."""
    late = {**AT_ONCE, PROGRESS: 3.25, ANSWER: 3.5}

    assert sorted((at, raw) for raw, at in late.items()) == heard(transport, mode, SLOW)


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_a_call_waits_for_itself(transport: str, mode: str) -> None:
    """Where only the progress is slow, the answer comes right behind it, and not before."""
    slow = Delay(delay=1.0, match=Match(tool="odd", nth=1))
    came = heard(transport, mode, slow)

    assert [(3.25, PROGRESS), (3.25, ANSWER)] == [
        one for one in came if one[1] in (PROGRESS, ANSWER)
    ]
    assert len(AT_ONCE) == len(came)


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_what_is_held_on_a_stream_keeps_its_order(transport: str, mode: str) -> None:
    """A shorter delay does not overtake a longer one that came before; on streams of their own
    neither waits for the other.
    """
    short = Delay(delay=0.25, match=Match(tool="even"))
    came = heard(transport, mode, SLOW, short)

    late = {**AT_ONCE, PROGRESS: 3.25, EVEN_PROGRESS: 3.25, ANSWER: 3.5, EVEN_ANSWER: 3.5}
    if transport == "streamable-http":
        late |= {EVEN_PROGRESS: 2.6875, EVEN_ANSWER: 2.9375}
    order = list(AT_ONCE)
    wanted = sorted(
        ((at, raw) for raw, at in late.items()), key=lambda o: (o[0], order.index(o[1]))
    )
    assert wanted == came


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_behind_a_barrier_everything_waits(transport: str, mode: str) -> None:
    """On every stream of the direction, and no longer than it has to."""
    came = heard(transport, mode, Hold(time=0.375, match=Match(tool="odd", nth=1)))

    assert {2.625: 3, 2.6875: 1, 3.0: 1} == {
        at: sum(1 for when, _ in came if when == at) for at, _ in came
    }


@pytest.mark.parametrize(
    "fault",
    [
        RespondTwice(after=1.0, match=Match(tool="odd")),
        Duplicate(after=1.0, match=Match(tool="odd", nth=2)),
        ProgressAfterResponse(after=1.0, match=Match(tool="odd")),
    ],
    ids=lambda fault: fault.kind,
)
@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_what_comes_besides_waits_for_nobody(transport: str, mode: str, fault: Fault) -> None:
    """A second answer is late by its own time, and delays nothing but the end of its stream."""
    more = progress("t", 1000) if isinstance(fault, ProgressAfterResponse) else ANSWER
    came = heard(transport, mode, fault, more=more)

    assert [*sorted((at, raw) for raw, at in AT_ONCE.items()), (3.5, more)] == came


@pytest.mark.parametrize("mode", MODES)
def test_faults_add_up_from_arrival(mode: str) -> None:
    """Two delays of one message are one of both; what a third puts beside it comes with it."""
    run = with_faults(
        "stdio",
        mode,
        Latency(latency=0.25, match=Match(method="ping")),
        Latency(latency=0.5, match=Match(method="ping")),
        Inject(text="beside", match=Match(method="ping"), toward="client"),
    )

    assert [(8.75, b"beside"), (8.75, PONG)] == run.client[0]["stdout"].lines()[-2:]
