"""`progress_after_response`: a call reports progress when it is answered already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.match import Subject
from mcpmock.faults.units import Code, Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit


@attrs.frozen(kw_only=True)
class ProgressAfterResponse(Fault):
    """Behind the answer to a call with a progress token comes more progress.

    >>> fault = mcpmock.faults.ProgressAfterResponse(after="10ms", match={"tool": "slow"})
    """

    kind: ClassVar[str] = "progress_after_response"
    acts_on: ClassVar[On] = On.RESPONSE

    after: Seconds = attrs.field(default=0.0, converter=to_seconds)
    progress: Code = 1000

    def fits(self, subject: Subject) -> bool:
        return subject.call is not None and subject.call.token is not None

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        call = seen.subject.call
        assert call is not None
        raw = edit.progress(call.token or b"null", self.progress)
        if not self.after:
            yield Send(seen.followed_by(raw))
            return
        yield Send(seen.followed_by())
        yield Send([seen.message(seen.direction, raw)], self.after)
