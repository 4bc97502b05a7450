"""`wrong_content_type`: a body that is said to be something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.responses import with_type
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import HttpResponse


@attrs.frozen(kw_only=True)
class WrongContentType(Fault):
    """The answer in JSON says that it is of another type.

    >>> fault = mcpmock.faults.WrongContentType(content_type="text/html", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "wrong_content_type"
    acts_on: ClassVar[On] = On.RESPONSE
    only: ClassVar[Toward | None] = "client"
    needs_head: ClassVar[bool] = True
    transports: ClassVar[Sequence[str]] = ("streamable-http",)

    content_type: str = "text/html"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        head, *rest = seen.unit
        assert isinstance(head.fact, HttpResponse)
        if head.fact.media_type == EVENT_STREAM:  # another fault has it wait; its body has events
            yield seen.passed()
            return
        yield Send([with_type(head, self.content_type), *rest])
