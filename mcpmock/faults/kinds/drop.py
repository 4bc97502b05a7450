"""`drop`: a message is lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Drop(Fault):
    """The message never arrives. Whoever sent it hears nothing of that: a POST that has
    no answer of its own is accepted.

    >>> fault = mcpmock.faults.Drop(match={"method": "tools/call", "nth": 2})
    """

    kind: ClassVar[str] = "drop"
    usually: ClassVar[Toward] = "client"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        if (seen.on in On.NOTIFICATION | On.RESPONSE or seen.stream is not None) and (
            accepted := seen.accepted()
        ):
            yield Send(accepted)
