"""`replace`: another message comes in its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.match import Subject
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response


@attrs.frozen(kw_only=True)
class Replace(Fault):
    """`text` comes in place of the message, byte for byte; or the same answer with another
    `result`.

    >>> fault = mcpmock.faults.Replace(result={"content": []}, match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "replace"
    usually: ClassVar[Toward] = "client"

    text: str | None = None
    result: Any = attrs.field(default=None, hash=False)

    def contradictions(self) -> Iterable[str]:
        if (self.text is None) is (self.result is None):
            yield "text: say either text or result"

    def fits(self, subject: Subject) -> bool:
        return self.text is not None or isinstance(subject.message, Response)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        if self.text is not None:
            yield Send(seen.with_raw(self.text.encode()))
            return
        answer = seen.subject.message
        assert isinstance(answer, Response)
        yield Send(seen.with_raw(edit.response(answer.id or b"null", self.result)))
