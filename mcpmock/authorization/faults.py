"""`FaultsOfLogin`: the faults of the theme `auth`, which make the fake authorization server wrong.

Unlike other faults they act on nothing that passes in a session, but on what the server is about to
say. `server` asks for each of them at its place.
"""

from __future__ import annotations

from typing import Any

import attrs

from mcpmock.faults.fault import MatchedMessage
from mcpmock.faults.match import Subject
from mcpmock.faults.receipts import FaultRun, Receipt
from mcpmock.faults.segments import On
from mcpmock.protocol.messages import C2S, Frame, HttpRequest
from mcpmock.protocol.transport_facts import NO_SESSION


@attrs.define
class FaultsOfLogin:
    """Those of `run`, for one authorization server."""

    run: FaultRun | None
    registration_is_withdrawn: bool = False
    _began: float | None = None

    def fire(self, kind: str, head: HttpRequest, now: float) -> Any:
        """Return the fault of this kind whose turn it is, with its receipt kept; None if there is
        none.
        """
        if self._began is None:
            self._began = now
        for armed in () if self.run is None else self.run.armed:
            drawn: dict[str, Any] = {}
            if armed.fault.kind != kind or armed.fault.match.probability == 0:
                continue
            if not armed.turn.comes(now - self._began, armed.random, drawn):
                continue
            frame = Frame(C2S, fact=head)
            subject = Subject(frame, None, f"{head.method} {head.path}")
            matched = MatchedMessage(unit=[frame], subject=subject, now=now, on=On.EXCHANGE)
            armed.turn.fired += 1
            assert self.run is not None
            self.run.note(Receipt(armed.fault, armed.turn.fired, matched, drawn), NO_SESSION)
            self.registration_is_withdrawn |= kind == "auth_no_registration"
            return armed.fault
        return None
