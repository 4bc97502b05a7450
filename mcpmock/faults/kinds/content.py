"""Content: messages that are changed, replaced, or made up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.match import Subject
from mcpmock.faults.segments import On
from mcpmock.options.units import Ordinal, Size, to_bytes
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response, decode, encode

UNREACHED_ID = 1_000_000_000
"""No client counts up to it: a smaller number may be the id of a later request."""
_JSON_RPC = On.REQUEST | On.NOTIFICATION | On.RESPONSE


def _response_id(matched: MatchedMessage) -> bytes:
    answer = matched.subject.message
    assert isinstance(answer, Response)
    return answer.id or b"null"


@frozen(kw_only=True)
class Corrupt(Fault, usually="client", aliases={"bytes": "count"}):
    """One bit flips in each of `count` bytes of the message.

    The message has no line break more or less than before.

    >>> fault = mcpmock.faults.Corrupt(count=2, match={"tool": "get_*", "probability": 0.1})
    """

    count: Ordinal = 1

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        data = bytearray(matched.frame.raw)
        for number in range(min(self.count, len(data))):
            at = dice.below(f"at{number}", len(data))
            bit = next(b for b in (1, 2, 4, 8) if data[at] ^ b not in b"\r\n")
            data[at] ^= bit
        yield Send(matched.with_raw(bytes(data)))


@frozen(kw_only=True)
class Truncate(Fault, usually="client", aliases={"keep": "bytes"}):
    """Only the first `bytes` bytes of the message arrive, as if that were all.

    Without `bytes` the length is drawn. The line or event ends as usual.

    >>> fault = mcpmock.faults.Truncate(bytes="10B", match={"tool": "get_*"})
    """

    bytes: Size | None = attrs.field(default=None, converter=attrs.converters.optional(to_bytes))

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raw = matched.frame.raw
        keep = dice.below("bytes", len(raw), 1) if self.bytes is None else self.bytes
        yield Send(matched.with_raw(raw[:keep]))


@frozen(kw_only=True)
class InvalidJson(Fault, usually="client"):
    """The message is invalid JSON: two commas are added in front of its last bracket.

    >>> fault = mcpmock.faults.InvalidJson(match={"tool": "get_*"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raw = matched.frame.raw.rstrip()
        yield Send(matched.with_raw(raw[:-1] + b",," + raw[-1:]))


@frozen(kw_only=True)
class InvalidUtf8(Fault, usually="client"):
    """The last string of the message has a byte that is invalid in UTF-8.

    >>> fault = mcpmock.faults.InvalidUtf8(match={"tool": "get_*"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raw = matched.frame.raw
        at = max(raw.rfind(b'"'), 0)
        yield Send(matched.with_raw(raw[:at] + b"\xff" + raw[at:]))


@frozen(kw_only=True)
class Huge(Fault, usually="client", acts_on=_JSON_RPC):
    """The message is `size` bytes longer: a long string is added to its result or params.

    >>> fault = mcpmock.faults.Huge(size="8MiB", match={"tool": "get_*"})
    """

    size: Size = attrs.field(default=8 << 20, converter=to_bytes)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raw = edit.enlarged(matched.frame.raw, b'"%b"' % (b"x" * self.size))
        yield Send(matched.with_raw(raw))


@frozen(kw_only=True)
class Deep(Fault, usually="client", acts_on=_JSON_RPC):
    """The message is deeply nested: `depth` arrays, each in the other, in its result or params.

    >>> fault = mcpmock.faults.Deep(depth=1000, match={"tool": "get_*"})
    """

    depth: Ordinal = 10_000

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        nested = b"[" * self.depth + b"]" * self.depth
        yield Send(matched.with_raw(edit.enlarged(matched.frame.raw, nested)))


@frozen(kw_only=True)
class Replace(Fault, usually="client"):
    """The message is replaced by `text`, byte for byte, or the result of a response by `result`.

    >>> fault = mcpmock.faults.Replace(result={"content": []}, match={"tool": "get_*"})
    """

    text: str | None = None
    result: Any = attrs.field(default=None, hash=False)

    def contradictions(self) -> Iterable[str]:
        if (self.text is None) is (self.result is None):
            yield "text: say either text or result"

    def fits(self, subject: Subject) -> bool:
        return self.text is not None or isinstance(subject.message, Response)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        if self.text is not None:
            raw = self.text.encode()
        else:
            raw = edit.response(_response_id(matched), self.result)
        yield Send(matched.with_raw(raw))


@frozen(kw_only=True)
class Inject(Fault, usually="client"):
    """A message with this `text`, byte for byte, is added in front of each that matches.

    With `behind` it is added behind it.

    >>> fault = mcpmock.faults.Inject(text="Server ready", match={"method": "tools/call"})
    """

    text: str = ""
    behind: bool = False

    def contradictions(self) -> Iterable[str]:
        if not self.text:
            yield "text: missing; it is what comes"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raw = self.text.encode()
        yield Send(matched.followed_by(raw) if self.behind else matched.preceded_by(raw))


@frozen(kw_only=True)
class UnsolicitedResponse(Fault, usually="client"):
    """A response with the unknown id `id` is added in front of the message.

    >>> fault = mcpmock.faults.UnsolicitedResponse(match={"method": "tools/call"})
    """

    id: int | str = UNREACHED_ID

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(matched.preceded_by(edit.response(encode(self.id), {})))


@frozen(kw_only=True)
class Empty(Fault, acts_on=On.RESPONSE):
    """The response has an empty result.

    >>> fault = mcpmock.faults.Empty(match={"method": "tools/list"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(matched.with_raw(edit.response(_response_id(matched), {})))


@frozen(kw_only=True)
class WrongId(Fault, acts_on=On.RESPONSE):
    """The response has another id: `id`, or one that no request has.

    Without `id`, a number becomes larger by 1,000,000,000, and a text gets `-wrong` appended.

    >>> fault = mcpmock.faults.WrongId(match={"tool": "get_*"})
    """

    id: int | str | None = None

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        right = decode(_response_id(matched))
        wrong = right + UNREACHED_ID if isinstance(right, int) else f"{right}-wrong"
        id_ = encode(wrong if self.id is None else self.id)
        yield Send(matched.with_raw(edit.with_id(matched.frame.raw, id_)))


@frozen(kw_only=True)
class IdTypeFlip(Fault, acts_on=On.RESPONSE):
    """The id of the response has another type: `"1"` for `1`, and `1` for `"1"`.

    For an id that is not a number in either spelling it is 0.

    >>> fault = mcpmock.faults.IdTypeFlip(match={"method": "tools/call"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        id_ = _response_id(matched)
        inside = id_.strip(b'"')
        flipped = encode(id_.decode()) if id_ == inside else inside if inside.isdigit() else b"0"
        yield Send(matched.with_raw(edit.with_id(matched.frame.raw, flipped)))
