"""Plans that are made as they are needed: all of 100,000 events would take ten times as long as
reading them.

A growing plan is always ahead of its sessions by all that could be sent to them, so they play as
from a whole plan. `plan.builder` plans the steps; `plan.plan` asks for more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Episode

from .builder import PlanBuilder, build_plan
from .plan import PlanRest, ReplayPlan
from .steps import EpisodeStep, bare_steps


def begin_plan(episode: Episode, *, strict: bool = False) -> ReplayPlan:
    """Return the plan of an episode, made as it is needed. Of exchanges it is made at once: what
    comes later changes what was planned.
    """
    if any(event.x is not None or event.http is not UNSET for event in episode.events):
        return build_plan(episode, strict=strict)
    builder = PlanBuilder(strict=strict, headed=False)
    plan = ReplayPlan(
        episode,
        builder.messages,
        builder.client_events,
        builder.calls,
        builder.replies,
        builder.cancels,
        request_ranks=builder.requests.ranks,
        sequence=builder.sequence,
        rest=_Rest(builder, bare_steps(episode.events)),
    )
    while not plan.sequence and plan.grow():  # what waits for nothing comes before that
        pass
    return plan


@attrs.define
class _Rest(PlanRest):
    """The steps that are still to be planned."""

    builder: PlanBuilder
    ahead: Iterator[EpisodeStep]
    _place: int = -1

    def plan_more(self, count: int) -> bool:
        before = self._place
        for step in islice(self.ahead, count):
            self._place = step.place
            self.builder.step(step)
        return self._place > before

    def reaches(self, place: int) -> bool:
        return self._place >= place

    def is_settled(self, event: int) -> bool:
        """Return whether the client has sent another message since, and no later message can belong
        to a call of this one: a correlation remembers a bounded number of them.
        """
        sequence = self.builder.sequence
        if not sequence or event >= sequence[-1].index:
            return False
        return not any(map(self.builder.remembers, self.builder.client_events[event].calls))
