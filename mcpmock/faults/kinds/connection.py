"""Connection: streams that break off, close half, or do not end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

from mcpmock.faults.chunking import (
    break_off_stream,
    close_stream,
    cut_in_chunk,
    has_chunks,
    wire_bytes,
)
from mcpmock.faults.fault import HTTP, Act, Dice, Fault, FaultLevel, MatchedMessage, frozen
from mcpmock.faults.segments import On
from mcpmock.faults.session_state import Effect
from mcpmock.options.units import Seconds, Size, to_bytes, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame, StreamEnd

Inside = Literal["frame", "character", "line_end", "field", "chunk_header"]


@frozen(kw_only=True)
class LimitData(Fault, usually="client", level=FaultLevel.END):
    """The stream ends after `bytes` bytes of what matches, mostly in the middle of a message.

    Or `inside` a part of the first message that matches: the `frame`; one of its characters of
    several bytes (`character`); the line end (`line_end`), between CR and LF; over HTTP also the
    name of a field of its event (`field`), or the length of the chunk that carries it
    (`chunk_header`). Where there is no such part, the stream ends somewhere in the frame.

    >>> fault = mcpmock.faults.LimitData(inside="character", match={"tool": "get_*"})
    """

    bytes: Size | None = attrs.field(default=None, converter=attrs.converters.optional(to_bytes))
    inside: Inside | None = None

    def contradictions(self) -> Iterable[str]:
        if (self.bytes is None) is (self.inside is None):
            yield "bytes: say either bytes or inside"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        if self.inside == "chunk_header" and has_chunks(matched):
            yield from cut_in_chunk(matched)
            return
        data = wire_bytes(matched)
        if self.inside == "line_end":
            data = data.rstrip(b"\r\n") + b"\r\n"
        passed = matched.memory.get("passed", 0)
        matched.memory["passed"] = passed + len(data)
        if self.bytes is not None and passed + len(data) <= self.bytes:
            yield matched.passed()
            return
        at = _cut_place(self.inside, data, dice) if self.bytes is None else self.bytes - passed
        dice.drawn["at"] = at
        yield from break_off_stream(matched, data[:at])


def _cut_place(inside: Inside | None, data: bytes, dice: Dice) -> int:
    if inside == "line_end":
        return len(data) - 1
    field = data.find(b"data:") if inside == "field" else -1
    if field >= 0:
        return field + 2
    # Behind the first byte of a character, where a byte that continues one stands.
    wide = [at for at, byte in enumerate(data) if 0x80 <= byte < 0xC0]
    if inside == "character" and wide:
        return wide[0]
    return dice.below("at", len(data), 1)


@frozen(kw_only=True)
class ResetPeer(Fault, usually="client", level=FaultLevel.END):
    """The connection is reset in place of the message, `after` a time; on stdio the session ends.

    >>> fault = mcpmock.faults.ResetPeer(after="100ms", match={"method": "tools/call"})
    """

    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield from break_off_stream(matched, b"", how="reset", after=self.after)


@frozen(kw_only=True)
class HalfClose(Fault, only="client", level=FaultLevel.END, transports=("stdio",)):
    """The server's output ends behind the message; its input stays open.

    >>> fault = mcpmock.faults.HalfClose(match={"method": "tools/call"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        unit = matched.unit
        yield Send([*unit, Frame(S2C, b"", b"", StreamEnd())])
        yield Effect(lambda session, _: session.lose_rest(unit))


@frozen(kw_only=True)
class GarbageThenClose(Fault, usually="client", level=FaultLevel.END):
    """In place of the message come `size` random bytes, and the stream ends.

    >>> fault = mcpmock.faults.GarbageThenClose(size="1KiB", match={"nth": 4})
    """

    size: Size = attrs.field(default=64, converter=to_bytes)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield from break_off_stream(matched, dice.bytes("noise", self.size))


@frozen(kw_only=True)
class CloseBeforeResponse(
    Fault, usually="client", level=FaultLevel.END, acts_on=On.RESPONSE, transports=HTTP
):
    """The connection closes in place of the response; the server has received the request.

    >>> fault = mcpmock.faults.CloseBeforeResponse(match={"method": "tools/call"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield from close_stream(matched, "closed")


@frozen(kw_only=True)
class IgnoreEof(Fault, acts_on=On.END, transports=("stdio",)):
    """The server does not notice the end of its input, and goes on until a signal ends it.

    `drive` and `verify` stop it as they stop a real server that goes on.

    >>> fault = mcpmock.faults.IgnoreEof()
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        return ()
