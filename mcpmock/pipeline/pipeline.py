"""`Pipeline`: a row of pure stages that frames pass, and a heap of what is due later.

        client end  <->  stage 0  <->  stage 1  <->  ...  <->  server end
                 C2S ->                                     <- S2C

The direction of a frame decides where it goes, so `Send` and `Hangup` are enough: a recorder sends
the same frames on, a delay sends them later, a drop sends nothing, a duplicate sends twice, an
error fault sends a response *back*, a player stands at the end of the row and only sends back.
Nothing here waits: `now` is an argument, and `next_due` is the time of the next call. `runner`
drives a pipeline; `recording`, `faults`, `playback` and `stubs` provide stages.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct, field

from mcpmock.protocol.messages import C2S, Direction, Frame

from .stage import PASS, Action, Halt, Hangup, Send, Stage, Wake


class Pipeline(Struct, eq=False):
    """Stages in a row, the first next to the client. Give it frames and the time; take what leaves
    at either end.
    """

    stages: Sequence[Stage]
    hung_up: Hangup | None = None
    next_due: float | None = None
    """When `advance` has something to do, on the same clock as `now`; None if never."""
    halted: dict[Direction, float] = field(default_factory=dict)
    """Until when the source of a direction must not be read."""
    _due: list[tuple[float, int, int, Action]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)
    _out: list[Sequence[Frame]] = field(default_factory=list)

    def begin(self, now: float) -> list[Sequence[Frame]]:
        """Begin the session. Call it once, before all other methods."""
        for place, stage in enumerate(self.stages):
            self._act(place, stage.begin(now), now)
        return self._leave()

    def enter(self, frames: Sequence[Frame], now: float) -> list[Sequence[Frame]]:
        """Take frames of one direction in at their end. Gives what leaves now: batches, each
        of one direction, in order.
        """
        self._pass_on(-1 if frames[0].direction is C2S else len(self.stages), frames, now)
        return self._leave()

    def advance(self, now: float) -> list[Sequence[Frame]]:
        """Do everything that is due at `now`. Gives what leaves."""
        if self.hung_up:
            self._due.clear()
        while self._due and self._due[0][0] <= now:
            _, _, place, action = heapq.heappop(self._due)
            match action:
                case Send(frames):
                    self._pass_on(place, frames, now)
                case Wake():
                    self._act(place, self.stages[place].wake(now), now)
                case Hangup():
                    self._hang_up(now, place, action, now)
        self.next_due = self._due[0][0] if self._due else None
        return self._leave()

    @property
    def held_until(self) -> float | None:
        """When the last frame that a stage holds back is due; None if none is held."""
        return self._held_before(len(self.stages))

    def _held_before(self, place: int) -> float | None:
        held = [stage.held_until for stage in self.stages[:place]]
        return max((until for until in held if until is not None), default=None)

    def _pass_on(self, place: int, frames: Sequence[Frame], now: float) -> None:
        """Pass frames on from stage `place` (or from outside) to the next one, or out."""
        # Frames of the batch whose processing ended the session are dropped too.
        if self.hung_up is not None:
            return
        step = 1 if frames[0].direction is C2S else -1
        place += step
        while 0 <= place < len(self.stages):
            actions = self.stages[place].feed(frames, now)
            if actions is not PASS:
                self._act(place, actions, now)
                return
            place += step
        self._out.append(frames)

    def _act(self, place: int, actions: Iterable[Action], now: float) -> None:
        for action in actions:
            # speed: 0.06 us for nearly all actions, 0.22 by the match (python -m timeit)
            if type(action) is Send and action.after <= 0:
                if action.frames:
                    self._pass_on(place, action.frames, now)
                continue
            match action:
                case Send(frames, after):
                    if frames:
                        self._schedule(now + after, place, action)
                case Hangup(after=after):
                    self._hang_up(now + max(after, 0.0), place, action, now)
                case Wake(at):
                    self._schedule(at, place, action)
                case Halt(way, seconds):
                    self.halted[way] = max(now + seconds, self.halted.get(way, now))

    def _hang_up(self, due: float, place: int, action: Hangup, now: float) -> None:
        """Hang up, as soon as stages nearer to the client hold back nothing more: a stage that
        hangs up has sent all its frames, and they leave first.
        """
        held = self._held_before(place)
        due = due if held is None else max(due, held)
        if due <= now and (held is None or not self._is_more_due(now)):
            self.hung_up = self.hung_up or action
        else:
            self._schedule(due, place, action)

    def _is_more_due(self, now: float) -> bool:
        """Return whether an action other than a hangup is due now."""
        return any(due <= now and type(action) is not Hangup for due, _, _, action in self._due)

    def _schedule(self, due: float, place: int, action: Action) -> None:
        heapq.heappush(self._due, (due, next(self._order), place, action))
        self.next_due = self._due[0][0]

    def _leave(self) -> list[Sequence[Frame]]:
        out, self._out = self._out, []
        return out
