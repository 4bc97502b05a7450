"""`Variant`: one schedule of a session: the recorded one, except for another order of events and
for faults.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs

from mcpmock.faults.event_order import EventOrder
from mcpmock.faults.fault import Fault
from mcpmock.faults.plan import Plan
from mcpmock.protocol.messages import encode

from .fault_set import TOWARD_CLIENT, TOWARD_SERVER

HANDSHAKE = ("initialize", "notifications/initialized", "server/discover")
Step = Literal["baseline", "cells", "faults", "orders", "resumes", "pairs"]


@attrs.frozen(kw_only=True)
class VariantChange:
    """One difference from the recorded session: a fault, a move of an event, or the loss of a
    connection.
    """

    kind: str
    """What the row of a report calls it: the name of a cell, the kind of a fault, `order`."""
    at: str
    """Where, for people: `behind message 2 of 4`."""
    text: str
    """The whole change as the end of the sentence `recorded order, except: `."""
    request: Any = None
    """The id of the request that it is about, as JSON."""
    place: str = ""
    """The method and the tool of that request."""
    fault: Fault | None = None
    move: str | None = None
    disconnect: int | None = None
    """The event behind which the connection that carries it is lost, and the stream resumed."""
    reaction: str | None = None
    """How a fake server reacts to a cancel."""
    benign: bool = True
    """Whether a correct peer notices nothing but time: it has to answer everything as recorded."""
    needs: frozenset[int] = frozenset()
    """The events that it is about: a shorter session keeps them."""
    ends: bool = False
    """Whether the change itself ends the session."""
    spoils: bool = False
    """Whether it may leave nothing of its message that a correct peer reads."""
    answers: bool = False
    """Whether it is about an answer of the client to a request of the server."""
    shakes_hands: bool = False
    """Whether it is about a message of the handshake, on which the whole session depends."""


@attrs.frozen(kw_only=True)
class Variant:
    """A set of changes; none is the recorded order itself. `keep` are the events that are left of
    the session, None for all.
    """

    step: Step = "baseline"
    changes: tuple[VariantChange, ...] = ()
    take: int = 1
    session: int = 1
    keep: tuple[int, ...] | None = None
    in_full: bool = False
    """Whether a silence is waited for as long as the hang limit says, however often one was."""

    @property
    def text(self) -> str:
        """In one line."""
        if not self.changes:
            return "recorded order"
        return "recorded order, except: " + "; ".join(change.text for change in self.changes)

    @property
    def benign(self) -> bool:
        return all(change.benign for change in self.changes)

    @property
    def breaks_handshake(self) -> bool:
        """Whether the session may not begin: then an error is the right reaction."""
        return any(one.shakes_hands and not one.benign for one in self.changes)

    @property
    def takes_answers(self) -> bool:
        """Whether the server may wait for an answer of the client that it never gets."""
        return any(one.answers and not one.benign for one in self.changes)

    @property
    def spoils(self) -> bool:
        """Whether a message may come so that no correct peer reads it."""
        return any(one.spoils for one in self.changes)

    @property
    def spoiled(self) -> frozenset[bytes]:
        """The ids of the requests that may not be read, or whose answers may not."""
        return frozenset(encode(one.request) for one in self.changes if one.spoils)

    @property
    def ends(self) -> bool:
        return any(change.ends for change in self.changes)

    def plan(self, seed: int, *, strict: bool = False) -> Plan:
        """Return a plan of faults, with its schedule."""
        moves = tuple(one.move for one in self.changes if one.move is not None)
        lost = tuple(one.disconnect for one in self.changes if one.disconnect is not None)
        order = EventOrder(
            take=self.take,
            session=self.session,
            order=moves,
            disconnect=lost,
            keep=self.keep,
            strict=strict,
        )
        faults = tuple(one.fault for one in self.changes if one.fault is not None)
        return Plan(faults=faults, seed=seed, schedule=order)


def variant_of(plan: Plan) -> Variant:
    """Return the variant that a plan describes."""
    order = plan.schedule or EventOrder()
    moves = [VariantChange(kind="order", at=move, text=move, move=move) for move in order.order]
    lost = [
        VariantChange(
            kind="resume",
            at=f"behind event {n}",
            text=f"the connection lost behind event {n}",
            disconnect=n,
        )
        for n in order.disconnect
    ]
    return Variant(
        changes=(*moves, *lost, *map(_change_of, plan.faults)),
        take=order.take,
        session=order.session,
        keep=order.keep,
    )


def _change_of(fault: Fault) -> VariantChange:
    tried = next((one for one in (*TOWARD_SERVER, *TOWARD_CLIENT) if one.kind == fault.kind), None)
    return VariantChange(
        kind=fault.kind,
        at=fault.title,
        text=fault.title,
        request=fault.match.id,
        fault=fault,
        benign=fault.kind in ("cancel", "cancel_race") or (tried is not None and tried.benign),
        ends=tried is not None and tried.ends,
        spoils=tried is not None and tried.spoils,
        shakes_hands=fault.match.method in HANDSHAKE,
    )
