"""Loss: messages that never arrive."""

from __future__ import annotations

from collections.abc import Iterable

from mcpmock.faults.fault import HTTP, Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.segments import On
from mcpmock.faults.session_state import Effect
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import HttpResponse


@frozen(kw_only=True)
class Drop(Fault, usually="client"):
    """The message never arrives.

    The sender does not notice: over HTTP, a POST that expects no answer of its own is accepted
    (202).

    >>> fault = mcpmock.faults.Drop(match={"method": "tools/call", "nth": 2})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        if (matched.on in On.NOTIFICATION | On.RESPONSE or matched.stream is not None) and (
            accepted := matched.accepted()
        ):
            yield Send(accepted)


@frozen(kw_only=True)
class NoInitialized(
    Drop, usually="server", acts_on=On.NOTIFICATION, about=("notifications/initialized",)
):
    """`notifications/initialized` never arrives: the handshake is not finished.

    >>> fault = mcpmock.faults.NoInitialized()
    """


@frozen(kw_only=True)
class NeverAnswerServerRequest(Drop, usually="server", acts_on=On.RESPONSE):
    """The client's response to a request of the server never arrives.

    >>> fault = mcpmock.faults.NeverAnswerServerRequest()
    """


@frozen(kw_only=True)
class SseGap(Drop, only="client", transports=HTTP):
    """The SSE event of the message is lost, and its id with it; the stream goes on.

    >>> fault = mcpmock.faults.SseGap(match={"method": "tools/call"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        heads = [frame for frame in matched.followed_by() if isinstance(frame.fact, HttpResponse)]
        if heads:
            yield Send(heads)


@frozen(kw_only=True)
class NeverRespond(Fault, acts_on=On.RESPONSE):
    """The response is lost, and the stream that would have carried it stays open.

    >>> fault = mcpmock.faults.NeverRespond(match={"tool": "slow"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        exchange = matched.exchange
        yield Effect(lambda session, _: session.mute(exchange))


@frozen(kw_only=True)
class BlackHole(Fault, usually="client"):
    """The message and everything behind it in its direction is lost, without an error.

    Over HTTP, everything behind it on the same exchange. The connection stays open.

    >>> fault = mcpmock.faults.BlackHole(match={"method": "tools/call", "nth": 2})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        unit = matched.unit
        yield Effect(lambda session, _: session.lose_rest(unit))
