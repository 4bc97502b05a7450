"""`SessionSelection`: which recorded sessions a live one may be, for all sessions that are played
from one cassette.

A `Player` takes its candidates from here and reports which of them it answered from; later sessions
get the others first. Exchanges without a session are played from one plan of all such exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
from msgspec import UNSET, Struct, field, structs

from mcpmock.cassette.model import Cassette, Episode, Event, EventLines, Take, has_exchanges
from mcpmock.options.replay import MissAction, Order, Repeats, ReplayOptions, SessionUse
from mcpmock.playback.plan.plan import ReplayPlan
from mcpmock.playback.plan.steps import is_message, merged, resumed
from mcpmock.protocol.messages import (
    HttpRequest,
    Request,
    Response,
    decode,
    member,
    parse_items,
)
from mcpmock.protocol.revisions import is_modern
from mcpmock.protocol.transport_facts import NO_SESSION

from .answer_index import AnswerIndex, index_answers
from .candidates import Candidate
from .known_answers import EpisodeCursor, KnownAnswers
from .matcher import Matcher, RequestIndex
from .miss import ANY_SESSION, ELSEWHERE, NearMiss
from .request_key import MATCH_LEVELS, MatchSubject
from .timing import Pace, Timing

if TYPE_CHECKING:
    from mcpmock.matching.match_rule import MatchRules
    from mcpmock.redaction.redaction_rules import RedactionRules

    from .echo import Variables
    from .request_assembly import RequestAssembly
    from .unasked import UnaskedMethods

SessionId = Callable[[], str]
"""Gives the id of a live session."""


class PlayerOptions(Struct, frozen=True, kw_only=True):
    """How a cassette is played, as a player reads it."""

    order: Order = "causal"
    pace: Pace = field(default_factory=Pace)
    repeats: Repeats = "auto"
    sessions: SessionUse = "reuse"
    exact: bool = False
    on_miss: MissAction = "error"
    mute: bool = False
    notes: bool = True
    """Whether each match by a rule is reported: half a millisecond, to hide secrets in it."""
    no_rules: bool = False
    """Whether the rules beside the cassette do not count."""
    rules: MatchRules | None = None
    """What may differ between a recorded request and a live one."""
    hash_of: Callable[[bytes], int] | None = None
    """Gives the number of a secret, where placeholders are hashes and their key is known."""
    rules_in: str = ""
    """The cassette that a miss proposes to put its rules into; empty: it proposes options."""
    redaction: RedactionRules | None = None
    """What is hidden in the report of a miss besides what the built-in rules find."""

    @classmethod
    def of(cls, options: ReplayOptions, *, mute: bool = False, notes: bool = True) -> PlayerOptions:
        """Read the words of a user. Raises McpMockError for a timing that there is not, and for a
        text that is not a rule.
        """
        pace = Pace(Timing.parse(options.timing), overlap_grace=options.overlap_grace / 1000)
        return cls(
            order=options.order,
            pace=pace,
            repeats=options.repeats,
            sessions=options.sessions,
            exact=options.match == "exact",
            on_miss=options.on_miss,
            mute=mute,
            notes=notes,
            no_rules=options.no_rules,
            rules=_rules_of(options),
        )

    def paced(self, **how: Any) -> PlayerOptions:
        """Return the same with these fields of its pace changed."""
        return structs.replace(self, pace=structs.replace(self.pace, **how))

    def with_rules(self, rules: MatchRules | None) -> PlayerOptions:
        """Return the same with these rules besides."""
        if rules is None:
            return self
        return structs.replace(self, rules=rules if self.rules is None else self.rules + rules)


def _rules_of(options: ReplayOptions) -> MatchRules | None:
    if not (options.ignore or options.like or options.echo or options.match == "tool"):
        return None

    # 15 ms, which a replay without rules does not pay.
    from mcpmock.matching.match_rule import TOOL_ALONE, MatchRules, RuleError

    ignore = [*options.ignore, *(TOOL_ALONE if options.match == "tool" else ())]
    try:
        return MatchRules.parse(ignore, options.like, options.echo)
    except ValueError as error:
        raise RuleError(str(error)) from error


def _lists_files(take: Take) -> bool:
    """Return whether it may have entries of skills, whose digests have to fit what is sent."""
    events, name = take.events, b'"digest"'
    if isinstance(events, EventLines) and not events.may_hold(name):
        return False
    return any(event.m is not UNSET and name in bytes(event.m) for event in events)


class PlayedSessions(Struct, eq=False):
    """Which episodes of a cassette live sessions were played from, by name."""

    played: set[tuple[int, int]] = field(default_factory=set)
    led: dict[tuple[int, int], int] = field(default_factory=dict)
    """The turn in which a session last answered from an episode first."""
    turns: count[int] = field(default_factory=lambda: count(1))


@attrs.define(eq=False, repr=False, slots=False)
class SessionSelection:
    """The episodes of a cassette, shared by all sessions that are played from it."""

    cassette: Cassette
    options: PlayerOptions
    past: PlayedSessions = attrs.field(factory=PlayedSessions)
    """Shared by all selections of the cassette: those of other transports."""
    _variables: Variables | None = attrs.field(init=False)
    """The texts that the user wants back."""
    _episodes: list[Episode] = attrs.field(init=False)
    """The episodes for live sessions: all of stdio; over HTTP those with a session."""
    _alone: list[Episode] = attrs.field(init=False)
    """The episodes for exchanges without a session."""
    _indexes: dict[int, RequestIndex] = attrs.field(factory=dict)
    """The plans made so far, by the number of their episode, each with its index."""
    _answers: dict[int, AnswerIndex | None] = attrs.field(factory=dict)
    """What answers without a plan, by the number of the episode; None where nothing does."""
    _translated: dict[str, dict[int, RequestIndex]] = attrs.field(factory=dict)
    """The plans for clients of a revision that was not recorded, by the revision and the number of
    the episode.
    """

    def __attrs_post_init__(self) -> None:
        self._variables = None
        if self.options.rules is not None and self.options.rules.echo:
            from .echo import with_variables

            self.cassette, self._variables = with_variables(self.cassette, self.options.rules)
        if self.options.hash_of is not None:
            from .echo import Variables

            self._variables = self._variables or Variables()
            self._variables.hash_of = self.options.hash_of
        if any(map(_lists_files, self.cassette.takes)):
            from mcpmock.redaction.skill_files import with_true_digests

            self.cassette = with_true_digests(self.cassette)
        own: list[Episode] = []
        self._alone = []
        for place, take in enumerate(self.cassette.takes):
            on_http = take.transport != "stdio"
            for episode in msgspec.structs.replace(take, events=resumed(take.events)).episodes():
                session = episode.events[0].s
                episode.name = place, session
                own += [episode] if not on_http or session != NO_SESSION else []
                self._alone += [episode] if not on_http or session == NO_SESSION else []
        self._episodes = own or self._alone

    @property
    def texts_wanted_back(self) -> Mapping[str, str]:
        """The recorded texts that are no secrets although placeholders stand for them."""
        return {} if self._variables is None else self._variables.recorded

    def on_a_real_clock(self) -> SessionSelection:
        """Return the same selection where pauses take real time; both share what was played."""
        selection = copy(self)
        selection.options = self.options.paced(timing=self.options.pace.timing.on_a_real_clock())
        return selection

    def choice(self) -> list[int]:
        """Return the numbers of the episodes that may be played: those not played yet first, in
        recorded order, and of these first the ones that no session answers from.
        """
        played, led = self.past.played, self.past.led
        fresh: list[int] = []
        again: list[int] = []
        for number, episode in enumerate(self._episodes):
            (again if episode.name in played else fresh).append(number)
        fresh.sort(key=lambda number: led.get(self._episodes[number].name, 0))
        return [*fresh, *again] if self.options.sessions == "reuse" else fresh

    def known_answers(
        self, now: float, assembly: RequestAssembly, session: SessionId
    ) -> KnownAnswers | None:
        """Return what answers in front of the player; None where only a plan will do."""
        options, choice = self.options, self.choice()
        plain = options.order == "causal" and options.pace.timing.kind == "none"
        if not plain or options.rules or self._variables is not None or not choice:
            return None
        cursors = []
        for number in choice:
            index = self._answer_index(number)
            if index is None:
                return None
            cursors.append(EpisodeCursor(number, index))
        return KnownAnswers(cursors, options.pace, now, assembly, session)

    def _answer_index(self, number: int) -> AnswerIndex | None:
        if number not in self._answers:
            episode = self._episodes[number]
            if has_exchanges(episode.events):
                from .exchange_reader import index_exchanges  # replays over pipes need it not

                self._answers[number] = index_exchanges(episode)
            else:
                self._answers[number] = index_answers(episode)
        return self._answers[number]

    def candidates(self, session: SessionId) -> list[Candidate]:
        """Return a candidate for each episode that may be played."""
        return [self.candidate(self.index(number), session) for number in self.choice()]

    def resumed(self, known: KnownAnswers, session: SessionId, now: float) -> list[Candidate]:
        """Return a candidate for each episode of known answers, which continues for them."""
        found = []
        for cursor in known.cursors:
            found.append(self.candidate(self.index(cursor.number), session))
            found[-1].resume(known, cursor, now)
        return found

    def stateless(self, session: SessionId) -> Candidate:
        """Return the candidate for exchanges that belong to no session: all recorded ones,
        merged.
        """
        return self.candidate(self._merged, session)

    @cached_property
    def _merged(self) -> RequestIndex:
        fresh_first = sorted(self._alone, key=lambda episode: episode.name in self.past.played)
        return self._indexed(self._plan(merged(fresh_first)), stateless=True)

    def _plan(self, episode: Episode) -> ReplayPlan:
        from .plan.builder import build_plan  # most replays need none, or that of a table

        return build_plan(episode, strict=self._strict)

    def _indexed(
        self, plan: ReplayPlan, *, stateless: bool = False, answers: AnswerIndex | None = None
    ) -> RequestIndex:
        return RequestIndex(
            plan,
            stateless,
            self._strict,
            0 if self.options.exact else len(MATCH_LEVELS) - 1,
            self.options.rules,
            self._variables,
            answers,
        )

    def candidate(self, index: RequestIndex, session: SessionId) -> Candidate:
        """Return a candidate at the beginning of a plan."""
        return Candidate(Matcher(index), self.options.pace, session)

    @cached_property
    def read_only_tools(self) -> frozenset[str]:
        """The tools that every recorded list with annotations calls read-only."""
        tools = [tool for take in self.cassette.takes for tool in _listed_tools(take.events)]
        return frozenset(
            {name for name, _ in tools} - {name for name, read_only in tools if not read_only}
        )

    def may_be_asked_again(self, request: Request) -> bool:
        """Return whether `--repeats auto` gives the last answer to this request once more: it
        changes nothing.
        """
        method = request.method
        if method == "tools/call":
            tool = decode(member(request.params, "name") or b"null")
            return isinstance(tool, str) and tool in self.read_only_tools
        return method.endswith("/list") or method in ("server/discover", "ping")

    @cached_property
    def unasked(self) -> UnaskedMethods:
        """What no recorded client asked for."""
        from .unasked import UnaskedMethods  # most replays need it not

        return UnaskedMethods.of(self.cassette.takes)

    @cached_property
    def revisions(self) -> frozenset[str]:
        """The revisions in which the recorded server answered."""
        from .translation import revisions_spoken  # most replays need it not

        takes = self.cassette.takes
        return frozenset(version for take in takes for version in revisions_spoken(take.events))

    def lacks(self, revision: str) -> bool:
        """Return whether everything was recorded in the other era than that of this revision."""
        eras = {is_modern(one) for one in self.revisions}
        return bool(eras) and is_modern(revision) not in eras

    def translations(
        self, revision: str, session: SessionId, *, stateless: bool
    ) -> list[Candidate]:
        """Return the recorded sessions in the words of this revision, which nothing was recorded
        in.
        """
        if self.options.exact or self.options.on_miss == "live":
            return []  # a real server answers in the era of the client
        from .translation import translate

        if revision not in self._translated:
            episodes = [translate(episode, revision) for episode in self._episodes]
            found = {number: one for number, one in enumerate(episodes) if one.events}
            if stateless and found:
                found = {0: merged([*found.values()])}
            self._translated[revision] = {
                number: self._indexed(self._plan(one), stateless=stateless)
                for number, one in found.items()
            }
        indexes = self._translated[revision]
        numbers = indexes if stateless else filter(indexes.__contains__, self.choice())
        return [self.candidate(indexes[number], session) for number in numbers]

    def index(self, number: int) -> RequestIndex:
        """Return the plan of an episode with its index: made once, shared by all live sessions."""
        if number not in self._indexes:
            from .plan.ordinary import plan_of  # not before the first that is not known

            answers = None if self._strict else self._answer_index(number)
            if answers is not None and answers.exchanges is not None:
                answers = None  # only the builder plans exchanges
            plan = plan_of(answers) if answers else self._plan(self._episodes[number])
            self._indexes[number] = self._indexed(plan, answers=answers)
        return self._indexes[number]

    @property
    def _strict(self) -> bool:
        return self.options.order == "strict"

    @cached_property
    def paths(self) -> set[str]:
        """The paths on which messages were recorded."""
        return {path for take in self.cassette.takes for path in _paths_of(take.events)}

    def near_elsewhere(self, live: MatchSubject, candidates: Sequence[Candidate]) -> list[NearMiss]:
        """Return the near misses in episodes that are not candidates of the session."""
        mine = {id(candidate.plan) for candidate in candidates}
        played = map(self.index, sorted({*self._answers, *self._indexes}))
        others = (index for index in played if id(index.plan) not in mine)
        found = (near for index in others for near in Matcher(index).near(live))
        if candidates:  # the session is another one: no rule changes that
            return [attrs.evolve(near, why=ELSEWHERE, rules=(), options=()) for near in found]
        return [
            attrs.evolve(near, why=ELSEWHERE, options=(*near.options, ANY_SESSION))
            for near in found
        ]

    def mark_played(self, episode: Episode) -> None:
        """Note that an answer was taken from this episode alone."""
        self.past.played.add(episode.name)

    def mark_led(self, episode: Episode) -> None:
        """Note that an answer was taken from this episode, though the session might still be
        another one.
        """
        self.past.led[episode.name] = next(self.past.turns)


def _listed_tools(events: Sequence[Event]) -> Iterator[tuple[str, bool]]:
    """Yield each tool in recorded lists, and whether its annotations say read-only."""
    for event in events:
        if event.d != "s2c" or event.payload is None or b'"tools"' not in event.payload:
            continue
        for message in parse_items(event.payload):
            found = message.result if isinstance(message, Response) else None
            tools = decode(member(found, "tools") or b"null")
            for tool in tools if isinstance(tools, list) else ():
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    annotations = tool.get("annotations")
                    hints = annotations if isinstance(annotations, dict) else {}
                    yield tool["name"], hints.get("readOnlyHint") is True


def _paths_of(events: Sequence[Event]) -> set[str]:
    heads: dict[int, str] = {}
    found = set()
    for event in events:
        if event.x is None:
            continue
        if event.http is not UNSET and "method" in event.http:
            heads[event.x] = HttpRequest(**event.http).path
        elif event.x in heads and (event.sse is not UNSET or is_message(event)):
            found.add(heads[event.x])
    return found
