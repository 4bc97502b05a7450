"""`Player`: the stage that plays the server of a cassette. What is here holds for one live session
(`session_player`) and for exchanges that belong to none (`stateless_player`).

It is the last stage of a pipeline and sends only towards the client: exchange for exchange where
the live frames carry exchanges, else bare messages. A request that no candidate knows is, in this
order: taken for one of the other era, repeated, equal under a rule of the user, answered in
mcpmock's own name, passed to a real server, answered as the nearest, or a miss.

`matcher` finds, `fallback` has mcpmock's own answers, `sessions` reports.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import ClassVar, Literal

import attrs
from msgspec import Struct

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.protocol import edit
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    ExchangeEnd,
    Frame,
    HttpRequest,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    SseMeta,
    Stderr,
    StreamEnd,
    parse_items,
)
from mcpmock.protocol.revisions import initialized_version

from .candidates import Candidate, CandidateMatch, Candidates
from .fallback import (
    MAX_BATCH_MESSAGES,
    Fallback,
    answer_large_batch,
    answer_lost,
    answer_too_long,
    answer_unrecorded,
    answer_without_result,
    exchange,
)
from .known_answers import KnownAnswers
from .matcher import Matcher, MatchResult
from .miss import Miss, NearMiss, ProposedRule, first_near, hide_secrets, miss_error, unread_message
from .repeats import Repeats
from .request_assembly import ClientMessage, RequestAssembly
from .request_key import MATCH_LEVELS, MatchSubject, named
from .session_selection import PlayerOptions, SessionSelection
from .variables import Bindings

__all__ = ["Player", "PlayerNote", "PlayerOptions", "Report", "SessionSelection"]


class PlayerNote(Struct, frozen=True):
    """A remark: a match that was not exact, or a message that changed nothing."""

    method: str
    text: str

    @property
    def line(self) -> str:
        return f"{self.method}: {self.text}"


class UnaskedAnswer(PlayerNote, frozen=True):
    """An answer to a method that no recorded client ever asked."""


class MisfitAnswer(PlayerNote, frozen=True):
    """An answer of a stub that breaks what its server declares."""


class InexactAnswer(PlayerNote, frozen=True):
    """An answer that may be the wrong one: a rule makes requests with different answers equal, or
    it is that of the nearest request.
    """

    kind: Literal["ambiguous", "nearest"]
    name: str
    """The tool, prompt or resource; empty without."""
    taken: int
    """The number of the event that is answered from."""
    events: tuple[int, ...] = ()
    """All that would do."""
    rules: tuple[ProposedRule, ...] = ()
    """The rules that would allow the difference."""

    @property
    def line(self) -> str:
        return f"{self.method} {self.name}".rstrip() + f": {self.text}"


CLIENT_CLOSED = "the client closed"
Report = Callable[[Miss | PlayerNote], None]


@attrs.define(eq=False, repr=False)
class Player(Stage):
    """What both players do: it takes apart what the client says, gives what nothing recorded
    answers, and sends what is due.

    `mint` makes ids for live sessions, never the same twice; `fallback` is asked for what nothing
    recorded answers.
    """

    in_session: ClassVar[bool]
    """Whether there is a session to which everything belongs."""
    selection: SessionSelection
    report: Report = lambda _what: None
    mint: Callable[[], str] = attrs.field(default=lambda: "mcpmock-session", kw_only=True)
    fallback: Fallback = attrs.field(factory=Fallback, kw_only=True)
    missed: int = 0
    unanswered: list[Frame] = attrs.field(factory=list)
    """What is left to a real server instead of being a miss: `passthrough` takes it away."""
    backed: bool = False
    """That server is running: it answers what mcpmock would answer in its own name."""
    _candidates: Candidates = attrs.field(factory=Candidates)
    _repeats: Repeats = attrs.field(init=False)
    _assembly: RequestAssembly = attrs.field(factory=RequestAssembly)
    _own_answers: list[Frame] = attrs.field(factory=list)
    """Answers in mcpmock's own name that go out with what is due next."""
    _translated_to: str | None = None
    """The revision of the client, where the recording has only the other era."""
    _wake_at: float | None = None
    _closing: str | None = None
    _said: set[tuple[str, str]] = attrs.field(factory=set)
    """The tools of which was said that rules make different requests of them equal."""

    def __attrs_post_init__(self) -> None:
        self._repeats = Repeats(self.selection, self._session_id)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if (lead := self._candidates.lead) is not None:
            lead.note_activity(now)
        for frame in seen:
            live = self._assembly.add(frame)
            if live is not None:
                self._receive(live, now)
        return self._send_due(now)

    def wake(self, now: float) -> Iterable[Action]:
        return self._send_due(now)

    def leading_candidate(self) -> Candidate | None:
        """Return the candidate that speaks."""
        return self._candidates.lead

    @property
    def bindings(self) -> Bindings:
        """The live values of the placeholders of secrets, as far as any candidate knows them."""
        texts = self.selection.texts_wanted_back
        known = (one.matcher.bindings.items() for one in self._candidates.followers)
        return {hole: value for found in known for hole, value in found if hole not in texts}

    def leftovers(self) -> list[str]:
        """Return what the recording still had when all was over, in words; empty if it was used
        up.
        """
        from .unused import leftovers  # nothing is sent any more

        lead = self.leading_candidate()
        return [] if lead is None else leftovers(lead)

    @property
    def _stubs(self) -> bool:
        """Every request is answered by its key alone, as often as it comes."""
        return self.selection.options.order == "any"

    @property
    def _strict(self) -> bool:
        return self.selection.options.order == "strict"

    # What the two players do each in its way.

    @abstractmethod
    def begin(self, now: float) -> Iterable[Action]: ...

    @abstractmethod
    def _session_id(self) -> str:
        """Return the id of the live session."""

    @abstractmethod
    def _answer_recorded(self, live: ClientMessage, now: float) -> bool:
        """Answer a message that wants an answer, as the recorded one that it stands for."""

    @abstractmethod
    def _answer_otherwise(self, live: ClientMessage, now: float) -> bool:
        """Answer a request that stands for no recorded one by what the options allow."""

    @abstractmethod
    def _take_other(self, live: ClientMessage, now: float) -> None:
        """Take a message that wants no JSON-RPC answer."""

    @abstractmethod
    def _accept_found(
        self, found: list[CandidateMatch], live: ClientMessage, now: float, *, keep: bool
    ) -> None:
        """Answer as the first of these, which is near; others stay candidates only if `keep`."""

    @abstractmethod
    def _add_translated(self, added: list[Candidate]) -> None:
        """Add candidates for the recorded sessions in the words of the client."""

    @abstractmethod
    def _is_lost(self, live: ClientMessage) -> bool:
        """Return whether it belongs to a session that is over, or that never was."""

    @property
    @abstractmethod
    def _speakers(self) -> list[Candidate]: ...

    # What the client sends.

    def _receive(self, live: ClientMessage, now: float) -> None:
        match live.content:
            case _ if live.size:
                self._own_answers += answer_too_long(live)
            case Batch() if self._is_too_large(live):
                self._own_answers += answer_large_batch(live)
            case Request() | Batch() if live.is_posted and live.requests:
                answered = self._answer_recorded(live, now)
                answered = answered or (self._translate(live) and self._answer_recorded(live, now))
                if not (answered or self._answer_otherwise(live, now)):
                    self._answer_unknown(live, now)
            case StreamEnd():
                self._receive_end(live, now)
            case ExchangeEnd() if live.exchange is not None:
                self._drop_exchange(live.exchange)
            case Request() | Notification() | Response() | Opaque() | Batch() | HttpRequest():
                self._receive_other(live, now)

    def _receive_end(self, live: ClientMessage, now: float) -> None:
        """Note that the client will send nothing more."""
        self._follow(live, now)
        for candidate in self._speakers:
            candidate.stop_waiting(now)
        self._closing = self._closing or CLIENT_CLOSED

    def _receive_other(self, live: ClientMessage, now: float) -> None:
        """Take what wants no JSON-RPC answer; over HTTP it gets a response all the same."""
        self._take_other(live, now)
        if live.exchange is None or any(one.answers_on(live.exchange) for one in self._speakers):
            return
        self._own_answers += self._without_result(live)

    def _drop_exchange(self, exchange: int) -> None:
        """Send nothing more on an exchange that its client left."""
        self._repeats.drop_exchange(exchange)

    def _translate(self, live: ClientMessage) -> bool:
        """Return whether there are candidates for the first time, since the client speaks a
        revision of the era that was not recorded.
        """
        if self._translated_to is not None:
            return False
        from .translation import revision_asked  # most replays need it not

        alone = not self.in_session and not live.names_session
        revision = revision_asked(live.content, alone=alone)
        if revision is None or not self.selection.lacks(revision):
            return False
        self._translated_to = revision
        stateless = not self.in_session
        added = self.selection.translations(revision, self._session_id, stateless=stateless)
        if added:
            self._add_translated(added)
            self.report(PlayerNote(live.name, f"translated: {self._revisions}"))
        return bool(added)

    @property
    def _revisions(self) -> str | None:
        """The revision of the recording and that of the client, where their eras differ."""
        if self._translated_to is None:
            return None
        recorded = ", ".join(sorted(self.selection.revisions))
        return f"recorded with revision {recorded}, asked with {self._translated_to}"

    def _follow(self, live: ClientMessage, now: float) -> None:
        """Take a message that only lets happen what waited for it."""
        alone = isinstance(live.frame.fact, HttpRequest)
        known = self._candidates.accept_any(live, now)
        blank = live.head is None and not live.frame.raw.strip()  # an empty line says nothing
        if isinstance(live.content, Opaque) and live.is_posted and not blank:
            if not (known or self.backed or (self._stubs and self._is_recorded(live))):
                self.missed += 1
                rules = self.selection.options.redaction
                self.report(unread_message(live, self.bindings, rules))
            return
        if known or self.leading_candidate() is None or isinstance(live.frame.fact, StreamEnd):
            return
        if self._strict and not alone:
            self._miss(live, MatchSubject(live.name, None))
        else:
            self.report(PlayerNote(live.name, "not in the recording; nothing waited for it"))

    def _repeat(self, live: ClientMessage, now: float) -> bool:
        """Answer once more with an answer that was given before, where the options say so."""
        if not self._repeats.allowed(live):
            return False
        candidates = self._candidates.all
        if live.subject is not None and live.subject.handshake is not None:
            candidates = sorted(candidates, key=lambda one: self._distance(one, live))
        return any(self._repeats.add(candidate, live, None, now) for candidate in candidates)

    @staticmethod
    def _distance(
        candidate: Candidate, live: ClientMessage, level: int | None = None
    ) -> tuple[int, int]:
        """Return how far the nearest equal request of a candidate is from this one, used or not."""
        again = candidate.matcher.repeats(live, level)
        return again[0].distance if again else (0, 0)

    # Requests that are not recorded so, but equal under the rules of the user, or near.

    def _answer_loosened(self, live: ClientMessage, now: float) -> bool:
        """Answer as the nearest recorded request that is equal under the rules."""
        if not self.selection.options.rules:
            return False
        found = self._accept_loosely(self._candidates.find_loosened, live, now)
        if found is None and self._repeats.allowed(live):
            found = self._repeat_nearest(
                live, now, lambda matcher: matcher.find_loosened(live, used=True)
            )
        if found is None:
            return False
        self._report_level(live, found.match.level)
        self._report_rules(live, found)
        return True

    def _accept_loosely(
        self,
        find: Callable[[ClientMessage], list[CandidateMatch]],
        live: ClientMessage,
        now: float,
        *,
        keep: bool = False,
    ) -> CandidateMatch | None:
        found = [] if self._stubs else find(live)
        if found:
            self._accept_found(found, live, now, keep=keep)
        return found[0] if found else None

    def _repeat_nearest(
        self,
        live: ClientMessage,
        now: float,
        find: Callable[[Matcher], Iterable[MatchResult]],
    ) -> CandidateMatch | None:
        """Answer once more as the nearest of these requests, of all candidates."""
        found = [
            one
            for candidate in self._candidates.all
            for one in CandidateMatch.first(candidate, find(candidate.matcher))
        ]
        if not found:
            return None
        nearest = min(found, key=lambda one: (one.match.level, one.match.distance))
        near = nearest.equally_near
        alike = [match for match in near if match.distance == nearest.match.distance]
        taken = self._repeats.play(nearest.candidate, live, alike, now)
        # Stubs use nothing up, so each of the others would do as well.
        others = [one for one in near if self._stubs and one is not taken]
        return CandidateMatch(nearest.candidate, taken, others)

    def _answer_nearest(self, live: ClientMessage, now: float) -> bool:
        """Answer as the nearest request of the same tool, prompt or resource, and say so."""
        subject = live.subject
        assert subject is not None
        found = self._accept_loosely(self._candidates.find_nearest, live, now, keep=True)
        if found is None and not self._strict:
            found = self._repeat_nearest(live, now, lambda matcher: matcher.nearest(live))
        if found is None:
            return False
        matcher = found.candidate.matcher
        measured = matcher.measure(found.match.event, subject)
        near = matcher.near_miss(measured, subject, may_repeat=True)
        (near,), _ = self._hide_secrets([near], live)
        name = named(subject.method, subject.params)
        text = f"not in the recording; event {near.n} answers it, the nearest{near.describe()}"
        self.report(
            InexactAnswer(subject.method, text, "nearest", name, near.n, (near.n,), near.rules)
        )
        return True

    def _report_rules(self, live: ClientMessage, found: CandidateMatch) -> None:
        """Report what the rules made equal, and once for each tool that it may be the wrong one."""
        assert live.subject is not None
        method, name = live.subject.method, named(live.subject.method, live.subject.params)
        n = found.number(found.match)
        if self.selection.options.notes:
            allowed = map(found.candidate.matcher.with_texts, found.match.allowed)
            (near,), _ = self._hide_secrets([NearMiss(n, "", tuple(allowed))], live)
            self.report(PlayerNote(method, f"event {n} answers it by a rule{near.describe()}"))
        if (method, name) in self._said:
            return
        answers = found.candidate.plan.answers
        known = [(found.number(match), answers(match.event)) for match in found.equally_near]
        if len({answer for _, answer in known}) > 1:
            alike = sorted(number for number, _ in known)
            self._said.add((method, name))
            events = f"{', '.join(map(str, alike[:-1]))} and {alike[-1]}"
            text = (
                f"a rule makes events {events} equal although their answers differ: event {n} is "
                "taken, the nearest"
            )
            self.report(InexactAnswer(method, text, "ambiguous", name, n, tuple(alike)))

    # What nothing recorded answers.

    def _answer_unknown(self, live: ClientMessage, now: float) -> None:
        assert live.subject is not None, "it has requests"
        if self._is_lost(live) and not self.backed:
            self._own_answers += answer_lost(live)
            return
        answer = self.fallback.answer(live.frame)
        answer = answer_unrecorded(live) if answer is None else answer
        answer = self._answer_unasked(live) if answer is None else answer
        if answer is not None and not self.backed:
            self._own_answers += self._placed(answer)
        elif self.selection.options.on_miss == "live":
            self.unanswered.append(live.frame)
            note = "not in the recording; the real server is asked"
            self.report(PlayerNote(live.subject.method, note))
        elif self.selection.options.on_miss != "nearest" or not self._answer_nearest(live, now):
            miss = self._miss(live, live.subject)
            if self.selection.options.on_miss in ("error", "nearest"):
                error = miss_error(live.ids, miss, isinstance(live.content, Batch))
                self._own_answers += self._placed(exchange(live.exchange, message=error))

    def _placed(self, answer: list[Frame]) -> list[Frame]:
        """Place it where the client waits for it: over HTTP+SSE on the event stream."""
        streams = (candidate.ids.stream for candidate in self._speakers)
        stream = next((one for one in streams if one in self._assembly.open), None)
        if stream is None:
            return answer
        said = [
            one
            for frame in answer
            if frame.fact is None
            for one in (
                Frame(S2C, fact=SseMeta(event="message"), exchange=stream),
                Frame(S2C, frame.raw, exchange=stream),
            )
        ]
        return [*exchange(answer[0].exchange, HTTPStatus.ACCEPTED), *said]

    def _answer_unasked(self, live: ClientMessage) -> list[Frame] | None:
        """Answer a list that no recorded client asked for, and say so once."""
        options, request = self.selection.options, live.content
        if options.exact or self._strict or options.on_miss == "live":
            return None  # a real server has the list
        from .unasked import EMPTY_RESULTS  # most replays need it not

        if not isinstance(request, Request) or request.method not in EMPTY_RESULTS:
            return None
        unasked = self.selection.unasked
        result = unasked.result_of(request)
        if result is None:
            return None
        if request.method not in unasked.told:
            unasked.told.add(request.method)
            how = "an empty list" if request.method.endswith("/list") else "an empty result"
            text = f"no recorded client asked this; answered with {how}"
            self.report(UnaskedAnswer(request.method, text))
        message = Frame(S2C, edit.response(request.id, result))
        return exchange(live.exchange, message=message)

    def _hide_secrets(
        self, near: Sequence[NearMiss], live: ClientMessage
    ) -> tuple[list[NearMiss], str]:
        return hide_secrets(near, live, self.bindings, self.selection.options.redaction)

    def _miss(self, live: ClientMessage, subject: MatchSubject) -> Miss:
        self.missed += 1
        candidates = self._candidates.all
        may_repeat = self._repeats.allowed(live)
        near = [
            near
            for candidate in candidates
            for near in candidate.matcher.near(subject, may_repeat=may_repeat)
        ]
        near += [*self.selection.near_elsewhere(subject, candidates), *self.fallback.near(subject)]
        told, asked = self._hide_secrets(first_near(near), live)
        rules_in = self.selection.options.rules_in
        miss = Miss(subject.method, tuple(told), self._revisions, asked, rules_in=rules_in)
        self.report(miss)
        if self.selection.options.on_miss == "close":
            self._closing = f"nothing recorded for {subject.method}"
        return miss

    def _report_level(self, live: ClientMessage, level: int) -> None:
        if level:
            method = live.name if live.subject is None else live.subject.method
            self.report(PlayerNote(method, f"matched in spite of {MATCH_LEVELS[level]}"))
        if live.name == "initialize":
            self._report_version(live)

    def _report_version(self, live: ClientMessage) -> None:
        asked = {initialized_version(request.params) for request in live.requests}
        for versions in (candidate.ids.versions for candidate in self._speakers):
            if versions is not None and versions[1] in asked:
                text = f"recorded with revision {versions[0]}, answered with {versions[1]} as asked"
                self.report(PlayerNote(live.name, text))
                return

    def _without_result(self, live: ClientMessage) -> list[Frame]:
        """Return the response to a message for which the recording has none."""
        if self._is_lost(live):
            return answer_lost(live)
        paths = self.selection.paths | self._assembly.paths
        is_path = live.head is not None and live.head.path in paths
        return answer_without_result(live, is_path=is_path, in_session=self.in_session)

    def _is_too_large(self, batch: ClientMessage) -> bool:
        items = parse_items(batch.frame.raw)
        return len(items) > MAX_BATCH_MESSAGES and not self._is_recorded(batch)

    def _is_recorded(self, live: ClientMessage) -> bool:
        """Return whether any candidate has an equal message, used or not."""
        return any(candidate.matcher.repeats(live) for candidate in self._candidates.all)

    # What goes out.

    @property
    def _senders(self) -> Sequence[Candidate | KnownAnswers]:
        """What has something to send: the speakers, or what answers before there are any."""
        return self._speakers

    def _send_due(self, now: float) -> Iterable[Action]:
        """Send what is due and say when to come again."""
        frames: list[Frame] = []
        senders = self._senders
        for one in senders:
            frames += one.send_due(now)
        if self._repeats.playing:
            self._repeats.drop_finished()
        frames += self._own_answers  # behind what answers earlier requests of the same read
        self._own_answers = []
        if self.selection.options.mute:
            frames = [frame for frame in frames if not isinstance(frame.fact, Stderr)]
        crashed = any(type(frame.fact) is ProcessExit for frame in frames)
        if crashed:  # what answers a repeat or a miss of the same read goes before it
            frames.sort(key=_is_end_of_server)
        actions: list[Action] = [Send(self._assembly.sendable(frames))]
        due = None
        for one in senders:  # a loop, not `min`: this runs for every read
            at = one.next_due
            if at is not None and (due is None or at < due):
                due = at
        if crashed:
            actions.append(Hangup("the recorded server ended here"))
        elif self._closing and due is None:
            actions.append(Hangup(self._closing))
        elif due is not None and (
            self._wake_at is None or due < self._wake_at or self._wake_at <= now
        ):
            self._wake_at = due
            actions.append(Wake(due))
        return actions


def _is_end_of_server(frame: Frame) -> bool:
    return frame.exchange is None and isinstance(frame.fact, StreamEnd | ProcessExit)
