"""The variants of a session, in a fixed order: cells of the cancellation grid, orders of messages
and lost connections in turn, then single faults at each message; then pairs of these, drawn from a
seed.

The cells of a server: what counts for it is how many messages it had sent when the cancel came, so
of the grid of `faults.races.grid` only the diagonal can be told apart from outside. The cells of a
client are whole, times the reactions of the fake server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import attrs

from mcpmock.cassette.model import Event
from mcpmock.faults.fault import Fault, PlanError
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.match import Match
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import REACTIONS, Cell, cells
from mcpmock.faults.registry import KINDS
from mcpmock.faults.segments import On
from mcpmock.protocol import messages as m

from .fault_set import CANCEL_TARGETS, Side, TriedKind
from .recorded_call import RecordedRequest, messages_of_events, requests_of
from .variant import HANDSHAKE, Variant, VariantChange

MAX_ORDERS_OF_A_PAIR = 8
"""Behind how many messages of a call the next one is tried."""
RACE_TIMEOUT_S = 2.0
"""How long a race waits for the client's cancel, which may be a timeout of its own."""
MAX_GRID_MESSAGES = 7
"""Of longer calls only the ends of the grid are tried."""


@attrs.frozen(kw_only=True)
class Space:
    """What is enumerated of one session."""

    side: Side
    events: Sequence[Event]
    kinds: Sequence[TriedKind]
    take: int = 1
    session: int = 1
    only: Any = None
    """The id of the only request that is looked at, as JSON; None for all."""
    cancels: bool = True
    race_timeout: float = RACE_TIMEOUT_S
    resumes: bool = False
    """Whether connections are lost: to a server over Streamable HTTP."""
    requests: list[RecordedRequest] = attrs.field(
        init=False, default=attrs.Factory(lambda self: requests_of(self.events), takes_self=True)
    )

    def variants(self) -> Iterator[Variant]:
        """Yield the variants of steps 1 to 3, each change alone."""
        cells = [self.variant("cells", one) for one in self._cells()] if self.cancels else []
        orders = [self.variant("orders", one) for one in self._orders()]
        resumes = [self.variant("resumes", one) for one in self._resumes()]
        # Before the faults: there are few of them, and they find most within a limited time. Each
        # step has its share of every stretch of runs, however long the recording is.
        yield from _in_turn(cells, orders, resumes)
        for change in self._faults():
            yield self.variant("faults", change)

    def pairs(self, singles: Sequence[Variant], seed: int) -> Iterator[Variant]:
        """Pair of changes, without an end; none where there are fewer than two."""
        changes = [one.changes[0] for one in singles if not one.ends]
        random, seen = Random(seed), set[tuple[int, int]]()
        most = len(changes) * (len(changes) - 1) // 2
        while len(seen) < most:
            first, second = sorted(random.sample(range(len(changes)), 2))
            if (first, second) in seen:
                continue
            seen.add((first, second))
            yield self.variant("pairs", changes[first], changes[second])

    def variant(self, step: Any, *changes: VariantChange) -> Variant:
        return Variant(step=step, changes=changes, take=self.take, session=self.session)

    def _chosen(self) -> Iterator[RecordedRequest]:
        for request in self.requests:
            if self.only is None or request.json_id == self.only:
                yield request

    def untried(self) -> Iterator[tuple[str, str]]:
        """Yield what is never cancelled, and why."""
        if not self.cancels:
            return
        for request in self._chosen():
            why = _never_cancelled(request)
            if why is None and self.side == "client" and not any(self._grid(request)):
                why = "it has one message and overlaps no other request; --request tries it"
            if why is not None:
                yield request.shown, why
        if self.side == "server":
            yield "cells with i < j", "a server cannot see what its client had received: i = j"

    # Cells.

    def _cells(self) -> Iterator[VariantChange]:
        for request in self._chosen():
            if _never_cancelled(request) is None:
                server = self.side == "server"
                yield from self._server_cells(request) if server else self._grid(request)

    def _server_cells(self, request: RecordedRequest) -> Iterator[VariantChange]:
        k = sum(message.word != "question" for message in request.messages)
        for place in _ends_of(k + 1):
            at = f"behind message {place} of {k}" if place else "at once"
            yield self._cancel(request, Cell(place, place, k).name, at, i=place)
        questions = sum(message.word == "question" for message in request.messages)
        for number in range(1, questions + 1):
            at = f"behind question {number} of the server"
            yield self._cancel(request, "cancel_during_question", at, i=number, behind="question")

    def _cancel(self, request: RecordedRequest, kind: str, at: str, **knobs: Any) -> VariantChange:
        match = Match(method=request.method, id=request.json_id)
        text = f"{request.shown} cancelled {at}"
        return _change_at(request, kind, at, text, fault=Cancel(match=match, **knobs))

    def _grid(self, request: RecordedRequest) -> Iterator[VariantChange]:
        k = sum(message.word != "question" for message in request.messages)
        overlaps = any(
            other is not request
            and other.n < request.messages[-1].n
            and other.messages
            and other.messages[-1].n > request.n
            for other in self.requests
        )
        if k < 2 and not overlaps and self.only is None and not _is_call(request):
            return
        match = Match(method=request.method, id=None, nth=self._nth(request))
        for cell in cells(k) if k <= MAX_GRID_MESSAGES else (Cell(0, 0, k), Cell(0, k, k)):
            for reaction in REACTIONS if cell.reacts else ("silent",):
                if reaction == "late_progress" and request.token is None:
                    continue
                yield _change_at(
                    request,
                    cell.name,
                    f"i={cell.i}, j={cell.j} of {k}",
                    f"{request.shown}: {cell.name} (i={cell.i}, j={cell.j}), {reaction}",
                    fault=CancelRace(
                        i=cell.i,
                        j=cell.j,
                        reaction=reaction,
                        at_most=self.race_timeout,
                        match=match,
                    ),
                    reaction=reaction,
                    ends=reaction in ("crash", "close"),
                )

    def _nth(self, request: RecordedRequest) -> int:
        """Return its number among the requests of its method: a live client may use other ids."""
        alike = [one for one in self.requests if one.method == request.method]
        return alike.index(request) + 1

    # Single faults.

    def _faults(self) -> Iterator[VariantChange]:
        if self.side == "server" and self.kinds and self.cancels:
            yield from self._odd_cancels()
        for tried in self.kinds:
            way = m.C2S if self.side == "server" or tried.asked else m.S2C
            for target in self._targets(way):
                if target.on in tried.on and (change := self._fault(tried, target)) is not None:
                    yield change

    def _odd_cancels(self) -> Iterator[VariantChange]:
        """Cancel of something unusual, for the calls of tools."""
        for request in self._chosen():
            if not _is_call(request) or not request.answered:
                continue
            asks = any(message.word == "question" for message in request.messages)
            for target in (*CANCEL_TARGETS, *(("other_direction",) if asks else ())):
                match = Match(method=request.method, id=request.json_id)
                yield _change_at(
                    request,
                    f"cancel:{target}",
                    f"at {request.shown}",
                    f"a cancel ({target}) at {request.shown}",
                    fault=Cancel(target=target, match=match),
                )

    def _targets(self, way: m.Direction) -> Iterator[_Target]:
        by_n = {n: request for request in self.requests for n in request.events}
        seen: dict[tuple[str, On], int] = {}
        asked: dict[bytes, str] = {}
        for event, message in messages_of_events(self.events):
            if isinstance(message, m.Request) and event.d != way.value:
                asked[message.id] = message.method
            if event.d != way.value:
                continue
            request = by_n.get(event.n)
            if self.only is not None and (request is None or request.json_id != self.only):
                continue
            match message:
                case m.Request(method=method):
                    on, shown = On.REQUEST, f"{method} #{message.id.decode()}"
                case m.Notification(method=method):
                    on, shown = On.NOTIFICATION, method
                case m.Response():
                    method = asked.get(message.id or b"", "")
                    on, shown = On.RESPONSE, f"the answer to {method}"
                    if request is not None and self.side == "client":
                        shown = f"the answer to {request.shown}"
                case _:
                    continue
            if not method:
                continue
            seen[method, on] = seen.get((method, on), 0) + 1
            yield _Target(on, method, seen[method, on], shown, request)

    def _fault(self, tried: TriedKind, target: _Target) -> VariantChange | None:
        kind: type[Fault] = KINDS[tried.kind]
        on = target.on
        acts: On = kind.acts_on
        if not on & acts:
            return None
        if self.side == "server" and on is On.REQUEST and target.request is not None:
            match = Match(method=target.method, id=target.request.json_id)
            needs = frozenset({target.request.n})
        else:  # counted: those before it stay
            match = Match(method=target.method, nth=target.nth)
            alike = (one for one in self.requests if len(one.events) > 2)
            needs = frozenset(one.n for one in alike) if target.request else frozenset()
        try:
            toward = None if tried.asked else self.side
            fault = kind(match=match, toward=toward, **tried.knobs)
        except PlanError:
            return None  # the kind says itself that it never acts there
        return VariantChange(
            kind=tried.kind,
            at=f"at {target.shown}",
            text=f"{tried.kind} at {target.shown}",
            request=None if target.request is None else target.request.json_id,
            place=target.method if target.request is None else target.request.place,
            fault=fault,
            needs=needs,
            benign=tried.benign,
            ends=tried.ends,
            spoils=tried.spoils,
            answers=self.side == "server" and on is On.RESPONSE,
            shakes_hands=target.method in HANDSHAKE,
        )

    # Orders.

    def _orders(self) -> Iterator[VariantChange]:
        yield from self._overlaps() if self.side == "server" else self._answer_orders()

    def _overlaps(self) -> Iterator[VariantChange]:
        """Yield the variants in which the next request is sent before an earlier message of the
        server: what was recorded one after the other overlaps, as it does with a client that makes
        several calls at once.
        """
        for first, second in pairwise(self.requests):
            if not self._may_overlap(first, second):
                continue
            behind = [message for message in first.messages if message.n < second.n]
            places = behind[-MAX_ORDERS_OF_A_PAIR:]
            for number, message in enumerate(places):
                word = f"{message.word} {number + 1}" if len(places) > 1 else message.word
                yield VariantChange(
                    kind="order",
                    at=f"{second.n} before {message.n}",
                    text=f"{second.shown} sent before the {word} of {first.shown}",
                    request=second.json_id,
                    place=f"{first.place} and {second.place}",
                    needs=frozenset({first.n, second.n}),
                    move=f"{second.n} before {message.n}",
                )

    def _may_overlap(self, first: RecordedRequest, second: RecordedRequest) -> bool:
        if "initialize" in (first.method, second.method):
            return False
        if self.only is not None and self.only not in (first.json_id, second.json_id):
            return False
        # 2025-11-25 basic/utilities/progress: "Progress tokens ... MUST be unique across all
        # active requests."
        return first.token is None or first.token != second.token

    # Lost connections.

    def _resumes(self) -> Iterator[VariantChange]:
        """Yield the variants in which the connection that carries a call is lost: behind each event
        of its stream but the last; in front of all of them too, where the server begins the stream
        with an event that has only an id. A revision with a handshake is one that can resume.
        """
        if not self.resumes or all(one.method != "initialize" for one in self.requests):
            return
        for request in self._chosen():
            words = [message for message in request.messages if message.word != "response"]
            if not request.answered or request.cancelled or not (words or _is_call(request)):
                continue
            for place in _ends_of(len(words) + 1):
                at = f"behind message {place}" if place else "before its first message"
                yield _change_at(
                    request,
                    "resume",
                    at,
                    f"the connection of {request.shown} lost {at}",
                    disconnect=words[place - 1].n if place else request.n,
                )

    def _answer_orders(self) -> Iterator[VariantChange]:
        """Yield the answers of calls that overlapped, in the other order."""
        answered = [one for one in self.requests if one.answered]
        for first in answered:
            for second in answered:
                end, other = first.messages[-1].n, second.messages[-1].n
                if second.n < end < other and first is not second:
                    yield VariantChange(
                        kind="order",
                        at=f"{other} before {end}",
                        text=f"the answer to {second.shown} before the answer to {first.shown}",
                        request=second.json_id,
                        place=f"{first.place} and {second.place}",
                        move=f"{other} before {end}",
                    )


@attrs.frozen
class _Target:
    """A message that faults are tried at: the `nth` of its method and kind."""

    on: On
    method: str
    nth: int
    shown: str
    request: RecordedRequest | None


def _change_at(
    request: RecordedRequest, kind: str, at: str, text: str, **values: Any
) -> VariantChange:
    return VariantChange(
        kind=kind,
        at=at,
        text=text,
        request=request.json_id,
        place=request.place,
        needs=frozenset({request.n}),
        **values,
    )


def _never_cancelled(request: RecordedRequest) -> str | None:
    """Return why a request is not cancelled; None for one that is."""
    if request.method == "initialize":  # basic/utilities/cancellation
        return "the specification: The initialize request MUST NOT be cancelled"
    if not request.answered:
        return "the recording has no answer to it"
    return "it is cancelled in the recording" if request.cancelled else None


def _is_call(request: RecordedRequest) -> bool:
    return request.method == "tools/call"


def _in_turn(*steps: Sequence[Variant]) -> list[Variant]:
    """Return all of them, each list spread evenly over the whole."""
    spread = [
        (place / len(step), number, place)
        for number, step in enumerate(steps)
        for place in range(len(step))
    ]
    return [steps[number][place] for _, number, place in sorted(spread)]


def _ends_of(count: int) -> Iterable[int]:
    """Return all places, or of many the first three and the last three."""
    if count <= MAX_GRID_MESSAGES:
        return range(count)
    return (0, 1, 2, count - 3, count - 2, count - 1)
