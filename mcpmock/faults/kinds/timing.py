"""Timing: messages that arrive late, slowly, in pieces, or all at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

import attrs
from attrs.converters import optional

from mcpmock.faults.chunking import cut_message, wire_bytes
from mcpmock.faults.distributions import Distribution
from mcpmock.faults.fault import (
    Act,
    Dice,
    Fault,
    FaultLevel,
    Load,
    MatchedMessage,
    PlanError,
    frozen,
)
from mcpmock.faults.match import Match, MatchPlace, fits
from mcpmock.faults.segments import On
from mcpmock.faults.session_calls import answered_calls
from mcpmock.faults.session_state import Effect
from mcpmock.options.units import Ordinal, Rate, Seconds, Size, to_bytes, to_rate, to_seconds
from mcpmock.pipeline.stage import Halt, Send


@frozen(kw_only=True)
class Latency(Fault, usually="client", aliases={"delay": "latency"}):
    """Each message arrives `latency` later.

    With a `jitter` the delay is drawn for each message: `distribution` is `fixed` (the default),
    `uniform` (the default with a jitter), `normal`, `lognormal`, or `empirical`: drawn from the
    latencies in the recording `cassette`, of the calls that `match` names, plus `latency`. In
    Python the latencies may be given as `samples` instead. Other messages are not delayed, except
    those of the same call and those that are held back as well.

    >>> fault = mcpmock.faults.Latency(latency="250ms", jitter="50ms", distribution="lognormal")
    """

    latency: Seconds | None = attrs.field(default=None, converter=optional(to_seconds))
    jitter: Seconds = attrs.field(default=0.0, converter=to_seconds)
    distribution: Distribution | None = None
    cassette: str | None = None
    samples: tuple[Seconds, ...] = ()

    def contradictions(self) -> Iterable[str]:
        if self.latency is None and not self.jitter and self.distribution != "empirical":
            yield 'latency: missing; say how much later, as "250ms"'
        if self.distribution == "empirical" and not self.samples and self.cassette is None:
            yield "distribution: empirical needs a cassette to draw from"
        for name, given in (("cassette", self.cassette), ("samples", self.samples)):
            if given and self.distribution != "empirical":
                yield f'{name}: only with distribution = "empirical"'
        if self.jitter and self.distribution in ("fixed", "empirical"):
            yield f'jitter: not with distribution = "{self.distribution}", which ignores it'
        if not self.jitter and self.distribution in ("uniform", "normal", "lognormal"):
            yield f"jitter: missing; without it {self.distribution} draws nothing"
        if self.distribution == "lognormal" and not self.latency:
            yield "latency: missing; lognormal draws nothing around 0"

    def with_samples(self, load: Load) -> Self:
        if self.cassette is None:
            return self
        called = Match(method=self.match.method, tool=self.match.tool)
        samples = tuple(
            one.seconds
            for one in answered_calls(load(self.cassette))
            if fits(called, one.subject, MatchPlace()) and one.seconds is not None
        )
        if not samples:
            raise PlanError([f"{self.title}: {self.cassette} has no answered call that matches"])
        return attrs.evolve(self, samples=samples)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        distribution = self.distribution or ("uniform" if self.jitter else "fixed")
        yield Send(
            matched.unit, dice.seconds(self.latency or 0.0, self.jitter, distribution, self.samples)
        )


@frozen(kw_only=True)
class Delay(Fault, usually="client", aliases={"latency": "delay"}):
    """Each message arrives later by the fixed time `delay`.

    Messages of the same call wait with it.

    >>> fault = mcpmock.faults.Delay(delay="2s", match={"tool": "get_*"})
    """

    delay: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(matched.unit, self.delay)


@frozen(kw_only=True)
class Hold(Fault, usually="client", blocks=True, aliases={"delay": "time"}):
    """The message and everything behind it in its direction are held for `time`.

    >>> fault = mcpmock.faults.Hold(time="500ms", match={"method": "notifications/*"})
    """

    time: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(matched.unit, self.time)


@frozen(kw_only=True)
class Pause(Fault, usually="server", blocks=True):
    """Nothing passes in either direction for `time`, from the message on.

    The server seems to be stopped (SIGSTOP) and continued.

    >>> fault = mcpmock.faults.Pause(time="5s", match={"method": "tools/call"})
    """

    time: Seconds = attrs.field(default=5.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        way = matched.direction.back
        yield Effect(lambda session, now: session.queue.block(way, now + self.time))
        yield Send(matched.unit, self.time)


@frozen(kw_only=True)
class Bandwidth(Fault, usually="client", blocks=True, level=FaultLevel.PIECES):
    """The message arrives at `rate`, in a piece every tenth of a second.

    Everything behind it in its direction waits.

    >>> fault = mcpmock.faults.Bandwidth(rate="1KiB/s", match={"tool": "get_*"})
    """

    rate: Rate = attrs.field(default=1000, converter=to_rate)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        size = max(1, self.rate // 10)
        data = wire_bytes(matched)
        cuts = range(size, len(data), size)
        # Each piece comes when its last byte would have, so the last one when all of them have.
        for frames, cut in zip(cut_message(matched, cuts), [*cuts, len(data)], strict=True):
            yield Send(frames, cut / self.rate)


@frozen(kw_only=True)
class Slicer(Fault, usually="client", blocks=True, level=FaultLevel.PIECES):
    """The message arrives in pieces of `size` bytes, `delay` apart.

    The size of each piece varies by up to `vary` bytes. Everything behind the message in its
    direction waits.

    >>> fault = mcpmock.faults.Slicer(size="16B", delay="5ms", match={"tool": "get_*"})
    """

    size: Size = attrs.field(default=64, converter=to_bytes)
    vary: Size = attrs.field(default=0, converter=to_bytes)
    delay: Seconds = attrs.field(default=0.01, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        cuts, at, end = list[int](), 0, len(wire_bytes(matched))
        while (at := at + self._step(dice)) < end:
            cuts.append(at)
        if not cuts:
            yield matched.passed()
            return
        dice.drawn["cuts"] = cuts[:20]
        for number, frames in enumerate(cut_message(matched, cuts)):
            yield Send(frames, number * self.delay)

    def _step(self, dice: Dice) -> int:
        vary = dice.random.randint(-self.vary, self.vary) if self.vary else 0
        return max(1, self.size + vary)


@frozen(kw_only=True)
class Dribble(Fault, usually="client", blocks=True, level=FaultLevel.PIECES):
    """The message arrives in `parts` pieces of equal length, spread over `time`.

    The last piece arrives after `time`. Everything behind the message in its direction waits.

    >>> fault = mcpmock.faults.Dribble(parts=5, time="1s", match={"tool": "get_*"})
    """

    parts: Ordinal = 10
    time: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        size = len(wire_bytes(matched))
        cuts = sorted({size * part // self.parts for part in range(1, self.parts)} - {0})
        sliced = cut_message(matched, cuts)
        for number, frames in enumerate(sliced, 1):
            yield Send(frames, self.time * number / len(sliced))


@frozen(kw_only=True)
class Coalesce(Fault, usually="client", blocks=True):
    """Messages are collected for `time` and arrive together, in one read.

    The time counts from the first message.

    >>> fault = mcpmock.faults.Coalesce(time="50ms")
    """

    time: Seconds = attrs.field(default=0.1, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        if matched.now < matched.memory.get("until", 0.0):
            # The shortest delay there is: it waits behind the first, to the same instant.
            yield Send(matched.unit, math.ulp(matched.now))
            return
        matched.memory["until"] = matched.now + self.time
        yield Send(matched.unit, self.time)


@frozen(kw_only=True)
class Backpressure(Fault, usually="server", transports=("stdio",)):
    """The receiver stops reading for `time`, behind the message.

    The sender has to wait once the pipe is full.

    >>> fault = mcpmock.faults.Backpressure(time="2s", match={"method": "tools/call"})
    """

    time: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield matched.passed()
        yield Halt(matched.direction, self.time)


@frozen(kw_only=True)
class SlowClose(Fault, usually="client", acts_on=On.CLOSE | On.HANGUP):
    """The end of the server's output, or of an HTTP exchange, comes `delay` later.

    >>> fault = mcpmock.faults.SlowClose(delay="2s")
    """

    delay: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        if matched.on is On.CLOSE:
            yield Send(matched.unit, self.delay)
            return
        yield Effect(lambda session, now: session.stay_open(now + self.delay))
