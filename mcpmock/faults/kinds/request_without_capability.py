"""`request_without_capability`: the server asks what the client never offered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import attrs

from mcpmock.faults.fault import OWN, Act, Dice, Fault, On, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import encode

_PARAMS: dict[str, dict[str, Any]] = {
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "mcpmock"}}],
        "maxTokens": 1,
    },
    "elicitation/create": {
        "message": "mcpmock",
        "requestedSchema": {"type": "object", "properties": {}},
    },
    "roots/list": {},
}


@attrs.frozen(kw_only=True)
class RequestWithoutCapability(Fault):
    """In front of the answer comes a request of the server, whether the client has declared to
    take such or not. What the client answers does not reach the server.

    >>> fault = mcpmock.faults.RequestWithoutCapability(asks="sampling/createMessage")
    """

    kind: ClassVar[str] = "request_without_capability"
    acts_on: ClassVar[On] = On.RESPONSE
    usually: ClassVar[Toward] = "client"

    asks: Literal["sampling/createMessage", "elicitation/create", "roots/list"] = (
        "sampling/createMessage"
    )

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        number = seen.memory["asked"] = seen.memory.get("asked", 0) + 1
        params = encode(_PARAMS[self.asks])
        id_ = encode(f"{OWN}{number}")
        dice.drawn["id"] = f"{OWN}{number}"
        yield Send(
            seen.preceded_by(
                b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}'
                % (id_, encode(self.asks), params)
            )
        )
