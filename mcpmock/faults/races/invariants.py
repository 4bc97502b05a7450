"""The invariants of a session in which something was cancelled, whatever the schedule: each call
ends once, and the session works afterwards. Public as `mcpmock.testing.broken`.

A pure function over what crossed the wire at one place, in order: no fault, no plan and no clock.
`rules` checks the protocol message by message; this checks how calls end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import attrs

from mcpmock.printable import many
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, Correlation, PendingCall

_Key = tuple[m.Direction, int]


@attrs.define
class _Ledger:
    """The state of each call so far."""

    session: Correlation = attrs.field(factory=Correlation)
    messages: int = 0
    """The number of messages so far."""
    asked: dict[_Key, PendingCall] = attrs.field(factory=dict)
    answers: Counter[_Key] = attrs.field(factory=Counter)
    late: Counter[_Key] = attrs.field(factory=Counter)
    """The messages of a call that came behind its cancellation."""
    cancelled: set[_Key] = attrs.field(factory=set)
    cancelled_at: int = 0
    """The number of messages before the last cancellation."""
    exchanges: dict[int, list[_Key]] = attrs.field(factory=dict)
    ended: set[_Key] = attrs.field(factory=set)
    """The calls whose HTTP exchange is over."""
    over: bool = False
    served: bool = False
    """Whether a request sent after the last cancellation was answered."""


def broken(
    frames: Iterable[m.Frame], *, crossed: int = 0, silent: bool = False, works: bool = True
) -> list[str]:
    """Return the invariants that the frames of a session violate, in words; empty if all hold.

    `crossed` messages of a call that were under way may still follow its cancellation, and no more
    than these if its responder has to be `silent`. `works`: a request behind the last cancellation
    has to be answered, unless the session is over.

    >>> from mcpmock.protocol.messages import C2S, S2C, Frame
    >>> ping = Frame(C2S, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    >>> pong = Frame(S2C, b'{"jsonrpc": "2.0", "id": 1, "result": {}}')
    >>> mcpmock.testing.broken([ping, pong, pong])
    ['ping 1 of the client: answered 2 times']
    """
    ledger = _Ledger()
    wrong = [line for frame in frames for line in _note_frame(ledger, frame)]
    wrong += _list_open_calls(ledger)
    if silent:
        late = {key: count for key, count in ledger.late.items() if count > crossed}
        wrong += [
            f"{_name(ledger, key)}: {many(n, 'message')} behind its cancel"
            for key, n in late.items()
        ]
    if works and ledger.cancelled and not (ledger.served or ledger.over):
        wrong.append("no request behind the last cancel was answered")
    return wrong


def _note_frame(ledger: _Ledger, frame: m.Frame) -> Iterator[str]:
    match frame.fact:
        case None:
            for message in m.parse_items(frame.raw):
                yield from _note_message(ledger, frame, message)
        case m.StreamEnd() | m.ProcessExit():
            ledger.over |= frame.direction is m.S2C
        case m.ExchangeEnd() if frame.exchange is not None:
            ledger.ended |= set(ledger.exchanges.get(frame.exchange, ()))
        case _:
            pass


def _note_message(ledger: _Ledger, frame: m.Frame, message: object) -> Iterator[str]:
    if not isinstance(message, m.Request | m.Response | m.Notification):
        return
    ledger.messages += 1
    note = ledger.session.note(frame.direction, message, ledger.messages)
    key = None if note.call is None else (note.call.direction, note.call.index)
    if isinstance(message, m.Request) and note.call is not None and key is not None:
        ledger.asked[key] = note.call
        if frame.exchange is not None:
            ledger.exchanges.setdefault(frame.exchange, []).append(key)
    elif isinstance(message, m.Response):
        yield from _note_response(ledger, message, key)
    elif isinstance(message, m.Notification) and key is not None:
        if message.method == CANCELLED and note.call is not None:
            if frame.direction is note.call.direction and not ledger.answers[key]:
                ledger.cancelled.add(key)
                ledger.cancelled_at, ledger.served = ledger.messages, False
        elif message.method == PROGRESS and key in ledger.cancelled:
            ledger.late[key] += 1


def _note_response(ledger: _Ledger, message: m.Response, key: _Key | None) -> Iterator[str]:
    if key is None:
        id_ = (message.id or b"null").decode(errors="replace")
        yield f"an answer with the id {id_}, which no request has"
        return
    ledger.answers[key] += 1
    if ledger.answers[key] > 1:
        yield f"{_name(ledger, key)}: answered {ledger.answers[key]} times"
    if key in ledger.cancelled:
        ledger.late[key] += 1
    elif key[1] > ledger.cancelled_at:
        ledger.served |= message.error is None


def _list_open_calls(ledger: _Ledger) -> Iterator[str]:
    """Yield the calls that were neither answered nor cancelled nor closed."""
    for key in ledger.asked:
        done = ledger.answers[key] or key in ledger.cancelled or key in ledger.ended
        if not (done or ledger.over):
            yield f"{_name(ledger, key)}: neither answered nor cancelled nor closed"


def _name(ledger: _Ledger, key: _Key) -> str:
    call = ledger.asked[key]
    id_ = m.decode(call.request.id)
    return f"{call.request.method} {id_!r} of {'the server' if key[0] is m.S2C else 'the client'}"
