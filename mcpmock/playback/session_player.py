"""`SessionPlayer`: plays the server to one live session. Its states:

    known answers --(something is not spelled as recorded)--> candidates --> closing
          |                                                        ^
          +--(no table for it: pauses, rules, strict)--------------+

* Known answers need no plan (`known_answers`). When the candidates take over, they continue from
  what has happened.
* Which recorded session a live one is, stays open as long as possible: it begins with all that
  could be meant as candidates, and each request keeps those that know it (`candidates`). The
  selection learns first which one leads (`lead`), then that it is this one alone (`episode`), so
  that other sessions take others first.

`player` has what both players do, `session_selection` deals the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

import attrs

from mcpmock.cassette.model import Episode
from mcpmock.pipeline.stage import Action
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import Frame, HttpRequest, HttpResponse, Notification, Response

from .candidates import Accept, Candidate, CandidateMatch
from .fallback import PROBE
from .header_verdicts import MIN_ERROR_STATUS
from .known_answers import KnownAnswers
from .player import CLIENT_CLOSED, Player, PlayerNote
from .request_assembly import ClientMessage
from .request_key import MatchSubject


@attrs.define(eq=False, repr=False)
class SessionPlayer(Player):
    """Plays the server to one live session."""

    in_session: ClassVar[bool] = True
    _session: str | None = None
    _began: float = 0.0
    _streams: dict[int | None, ClientMessage] = attrs.field(factory=dict)
    """The requests without a message, by exchange, that came before any that was answered."""
    _known: KnownAnswers | None = None
    """It answers, and nothing else here has begun."""
    _reported: Literal["nothing", "lead", "episode"] = "nothing"
    """What the selection knows of this session: nothing; the episode that gave the first answer; or
    that it is one episode and no other.
    """
    _over: bool = False
    """The client ended the session."""

    def begin(self, now: float) -> Iterable[Action]:
        self._began = now
        self._known = self.selection.known_answers(now, self._assembly, self._session_id)
        if self._known is None:
            self._candidates.all = self.selection.candidates(self._session_id)
            if not self._stubs:
                self._candidates.begin(now)
        return self._send_due(now)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if self._known is not None:
            seen = self._known.take(seen, now)
            self._note_known(self._known)
            if not seen:
                return self._send_due(now)
            self._take_over(now)
        return super().feed(seen, now)

    def leading_candidate(self) -> Candidate | None:
        if self._known is not None:
            self._take_over(math.inf)  # the session is over
        return super().leading_candidate()

    def _take_over(self, now: float) -> None:
        """Continue for the known answers."""
        known, self._known = self._known, None
        assert known is not None
        self._candidates.all = self.selection.resumed(known, self._session_id, now)
        self._end_session(known.deleted_on, now)
        self._wake_at = None

    def _session_id(self) -> str:
        if self._session is None:
            self._session = self.mint()
        return self._session

    # What the client sends.

    def _answer_recorded(self, live: ClientMessage, now: float) -> bool:
        if self._stubs:
            return False
        level = self._candidates.accept_request(live, now, keep=live.name == PROBE)
        if level is None:
            return False
        self._report_level(live, level)
        self._note_lead()
        return True

    def _answer_otherwise(self, live: ClientMessage, now: float) -> bool:
        if self._over:
            return False
        if not self._repeat(live, now):
            return self._answer_loosened(live, now)
        if not self._stubs:
            self.report(PlayerNote(live.name, "asked again; a recorded answer is repeated"))
        return True

    def _accept_found(
        self, found: list[CandidateMatch], live: ClientMessage, now: float, *, keep: bool
    ) -> None:
        self._candidates.accept(found, live, now, keep=keep)
        self._note_lead()

    def _add_translated(self, added: list[Candidate]) -> None:
        for candidate in added:
            candidate.begin(self._began, speaks=False)
            for opened in self._streams.values():
                match = candidate.matcher.find(opened)
                if match is not None:
                    candidate.accept(match, opened, self._began)
        # The lead is what is judged at the end: it becomes one that knows the request.
        self._candidates.all = [*self._candidates.all, *added]

    def _receive_end(self, live: ClientMessage, now: float) -> None:
        super()._receive_end(live, now)
        self._note_over()

    def _receive_other(self, live: ClientMessage, now: float) -> None:
        super()._receive_other(live, now)
        if live.ends_session:
            self._end_session(live.exchange, now)

    def _take_other(self, live: ClientMessage, now: float) -> None:
        content = live.content
        if live.exchange is not None and self._stubs and self._repeat(live, now):
            pass
        elif isinstance(content, Response):
            self._follow_id(Candidate.accept_reply, live, now)
        elif isinstance(content, Notification) and content.method == CANCELLED:
            self._follow_id(Candidate.accept_cancel, live, now)
        else:
            self._follow(live, now)

    def _follow_id(
        self,
        accept: Accept,
        live: ClientMessage,
        now: float,
    ) -> None:
        """Follow a cancel or an answer by its id. One without a request is as good as noise."""
        lead = self._candidates.lead
        expected = lead.matcher.next_in_order() if lead and self._strict else None
        accepted = self._candidates.accept_by_id(accept, live, now)
        if not any([accepted, *(accept(one, live, now) for one in self._repeats.playing)]):
            self._follow(live, now)
        elif lead is not None and expected is not None and expected not in lead.matcher.happened:
            self._miss(live, MatchSubject(live.name, None))

    def _follow(self, live: ClientMessage, now: float) -> None:
        if isinstance(live.frame.fact, HttpRequest) and self._reported == "nothing":
            self._streams[live.exchange] = live
        super()._follow(live, now)

    def _drop_exchange(self, exchange: int) -> None:
        super()._drop_exchange(exchange)
        self._streams.pop(exchange, None)

    def _is_lost(self, live: ClientMessage) -> bool:  # noqa: ARG002
        return self._over

    def _end_session(self, live: int | None, now: float) -> None:
        """End it as the client does on this exchange, unless the recorded server refused."""
        if live is not None and not self._refuses(live):
            self._over = True
            self._note_over()
            for candidate in self._candidates.followers:
                candidate.end_session(live, now)

    def _refuses(self, live: int) -> bool:
        statuses = [candidate.status_on(live) for candidate in self._speakers]
        heads = (frame for frame in self._own_answers if frame.exchange == live)
        statuses += [frame.fact.status for frame in heads if isinstance(frame.fact, HttpResponse)]
        return any(status is not None and status >= MIN_ERROR_STATUS for status in statuses)

    # What the selection learns.

    def _note_known(self, known: KnownAnswers) -> None:
        """Note what the known answers found out about this session."""
        alone = len(known.cursors) == 1
        if known.asked:
            self._note_selected(known.episode, alone=alone)
        if known.is_over and known.answered:
            self._note_selected(known.episode, alone=True)
        if known.ended:
            self._closing = self._closing or CLIENT_CLOSED

    def _note_lead(self) -> None:
        lead = self._candidates.all[0]
        self._note_selected(lead.plan.episode, alone=len(self._candidates.all) == 1)

    def _note_over(self) -> None:
        """Note that the session was the one that led when the client ended it."""
        lead = self._candidates.lead
        if lead is not None and lead.answered:
            self._note_selected(lead.plan.episode, alone=True)

    def _note_selected(self, episode: Episode, *, alone: bool) -> None:
        """Let the selection know what this session is: others take other episodes first."""
        if alone:
            self.selection.mark_played(episode)
            self._reported = "episode"
        elif self._reported == "nothing":
            self.selection.mark_led(episode)
            self._reported = "lead"

    # What goes out.

    @property
    def _speakers(self) -> list[Candidate]:
        known = self._candidates
        return [*known.all[:1], *known.owing, *self._repeats.playing]

    @property
    def _senders(self) -> Sequence[Candidate | KnownAnswers]:
        return self._speakers if self._known is None else [self._known]
