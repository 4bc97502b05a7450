"""`huge`: a message is much longer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.units import Size, to_bytes
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit


@attrs.frozen(kw_only=True)
class Huge(Fault):
    """The message has `size` more bytes: one more member, a long text, in its result or params.

    >>> fault = mcpmock.faults.Huge(size="8MiB", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "huge"
    usually: ClassVar[Toward] = "client"
    acts_on: ClassVar[On] = On.REQUEST | On.NOTIFICATION | On.RESPONSE

    size: Size = attrs.field(default=8 << 20, converter=to_bytes)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw = edit.enlarged(seen.frame.raw, b'"%b"' % (b"x" * self.size))
        yield Send(seen.with_raw(raw))
