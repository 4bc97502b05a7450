"""`session_expired`: the server has forgotten the session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.match import Subject
from mcpmock.faults.responses import refusal
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class SessionExpired(Fault):
    """The request never arrives, and is answered with 404: initialize again. With `match.after` it
    is so from some request on.

    >>> fault = mcpmock.faults.SessionExpired(match={"method": "tools/call", "nth": 2})
    """

    kind: ClassVar[str] = "session_expired"
    acts_on: ClassVar[On] = On.ASKED | On.RESPONSE
    only: ClassVar[Toward | None] = "server"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    def fits(self, subject: Subject) -> bool:
        return subject.method != "initialize"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(refusal(seen.exchange, 404))
