"""What a plan makes of the recorded events of a client before they are played: another order, a
shorter session, and cancels at their places. Pure.

A cancel of a call that the client made is an event like any other: the client then does not wait
for the rest of the call. Other faults act while the session is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs
import msgspec

from mcpmock.cassette.model import Cassette, Event, Take
from mcpmock.faults.event_order import EventOrder
from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.plan import Plan
from mcpmock.playback.plan.steps import bare_take
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED

from .recorded_call import RecordedRequest, requests_of

PROBE_ID = b'"mcpmock-probe"'
"""The id of the request at the end, which shows whether the session still works."""
BEHIND_ID = b'"mcpmock-behind"'
"""The id of the request behind a cancel: once it is answered, the cancel has arrived."""


@attrs.frozen
class Arrangement:
    """The session to play, and the faults that are left to inject."""

    take: Take
    faults: tuple[Fault, ...]


def arrange(cassette: Cassette, plan: Plan, *, probe: bytes | None = None) -> Arrangement:
    """Return the session that `plan.schedule` names, as bare messages in its order. Cancels of
    calls that were recorded become events. `probe` is a request that is sent at the end, and
    directly behind a cancel, where nothing waits for its answer.
    """
    order = plan.schedule or EventOrder()
    take = bare_take(cassette.takes[order.take - 1], one_session=False)
    events = order.arranged([event for event in take.events if event.s == order.session])
    left, cancels = list[Fault](), False
    for fault in plan.faults:
        request = _cancelled_by(fault, requests_of(events))
        if request is None or not isinstance(fault, Cancel):
            left.append(fault)
        else:
            behind = None if probe is None or cancels else edit.with_id(probe, BEHIND_ID)
            events = _with_cancel(events, request, fault, behind)
            cancels = True
    if probe is not None:
        events = _with_probe(events, probe, BEHIND_ID if cancels else None)
    arranged = msgspec.structs.replace(take, events=events, footer=None, sealed=None)
    return Arrangement(arranged, tuple(left))


def _cancelled_by(fault: Fault, requests: Sequence[RecordedRequest]) -> RecordedRequest | None:
    """Return the recorded request that the fault cancels by its id."""
    if not isinstance(fault, Cancel) or fault.target not in ("call", "twice"):
        return None
    if fault.match.id is None:
        return None
    return next((one for one in requests if one.json_id == fault.match.id), None)


def _with_cancel(
    events: Sequence[Event], request: RecordedRequest, fault: Cancel, behind_it: bytes | None
) -> list[Event]:
    """Return the events with the cancel behind the i-th message or question of the request, and
    without what would have followed in it; `behind_it` is a request that follows the cancel.
    """
    counted = "question" if fault.behind == "question" else "progress"
    behind, seen = request.n, 0
    for message in request.messages:
        if seen >= fault.i:
            break
        if counted == "question" and message.word == "progress":
            continue
        if counted == "progress" and message.word == "question":
            continue
        behind, seen = message.n, seen + 1
    # A client that has cancelled a call still answers what it is asked.
    gone = {one.n for one in request.messages if one.n > behind and one.word != "question"}
    params = {} if fault.reason is None else {"reason": fault.reason}
    raw = edit.with_member(
        edit.notification(CANCELLED, params), ["params", "requestId"], request.id
    )
    arranged: list[Event] = []
    for event in events:
        if event.n in gone:
            continue
        arranged.append(event)
        if event.n == behind:
            cancel = Event(n=event.n, t=event.t, s=event.s, d="c2s", m=msgspec.Raw(raw))
            arranged += [cancel] * (2 if fault.target == "twice" else 1)
            if behind_it is not None:
                arranged.append(msgspec.structs.replace(cancel, m=msgspec.Raw(behind_it)))
    return arranged


def _with_probe(events: Sequence[Event], probe: bytes, owed: bytes | None) -> list[Event]:
    """Add a request behind the last message; its answer is awaited, that to `owed` before it."""
    last = max((i for i, e in enumerate(events) if e.end is msgspec.UNSET), default=-1)
    t, s = (events[last].t, events[last].s) if events else (0, 1)
    n = max((event.n for event in events), default=0) + 1
    said: list[tuple[Literal["c2s", "s2c"], bytes]] = [
        ("c2s", probe),
        ("s2c", edit.response(PROBE_ID, {})),
    ]
    if owed is not None:
        said.insert(0, ("s2c", edit.response(owed, {})))
    asked = [
        Event(n=place, t=t, s=s, d=d, m=msgspec.Raw(raw)) for place, (d, raw) in enumerate(said, n)
    ]
    return [*events[: last + 1], *asked, *events[last + 1 :]]
