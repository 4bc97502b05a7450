"""`malformed_chunk`: the framing of a body breaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, HttpBody, HttpResponse


@attrs.frozen(kw_only=True)
class MalformedChunk(Fault):
    """The request never arrives. The answer begins well, and then comes a chunk whose length is
    none; or its length breaks off (`cut`) and the connection closes.

    >>> fault = mcpmock.faults.MalformedChunk(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "malformed_chunk"
    acts_on: ClassVar[On] = On.REQUEST
    only: ClassVar[Toward | None] = "server"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    cut: bool = False

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        number = seen.exchange
        head = HttpResponse(200, "OK", [("Content-Type", "application/json")])
        broken = b"1" if self.cut else b"mcpmock\r\n{}\r\n"
        # A body that is not whole goes in chunks: first a good one, then what is none.
        yield Send(
            [
                Frame(S2C, fact=head, exchange=number),
                Frame(S2C, b"{", b"", HttpBody(), number),
                Frame(S2C, broken, b"", HttpBody(unframed=True), number),
                Frame(S2C, fact=ExchangeEnd("closed"), exchange=number),
            ]
        )
