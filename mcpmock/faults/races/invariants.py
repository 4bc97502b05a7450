"""The invariants of a session in which something was cancelled, whatever the schedule: each call
ends once, and the session works afterwards. Public as `mcpmock.testing.broken`.

A pure function over what crossed the wire at one place, in order: no fault, no plan and no clock.
`rules` checks the protocol message by message; this checks how calls end.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcpmock.faults.session_calls import SessionCall, SessionCalls
from mcpmock.printable import many
from mcpmock.protocol import messages as m


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
    session = SessionCalls.read((frame, 0) for frame in frames)
    ids = ((one.id or b"null").decode(errors="replace") for one in session.strays)
    wrong = [f"an answer with the id {id_}, which no request has" for id_ in ids]
    for one in session.calls:
        if len(one.answers) > 1:
            wrong.append(f"{_name(one)}: answered {len(one.answers)} times")
        if not (one.answers or one.cancelled or one.closed or session.over):
            wrong.append(f"{_name(one)}: neither answered nor cancelled nor closed")
        if silent and one.late > crossed:
            wrong.append(f"{_name(one)}: {many(one.late, 'message')} behind its cancel")
    cancelled = any(one.cancelled for one in session.calls)
    served = any(_works(one) for one in session.calls[session.last_cancel :])
    if works and cancelled and not (served or session.over):
        wrong.append("no request behind the last cancel was answered")
    return wrong


def _works(one: SessionCall) -> bool:
    return any(answer.error is None for answer in one.answers)


def _name(one: SessionCall) -> str:
    request = one.call.request
    side = "the server" if one.call.direction is m.S2C else "the client"
    return f"{request.method} {m.decode(request.id)!r} of {side}"
