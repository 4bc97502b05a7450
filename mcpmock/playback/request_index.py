"""`RequestIndex`: the client events of one plan as matching sees them, by key.

It holds what depends on the plan alone, so all sessions that are played from a cassette share it.
What one session has used up is `matcher`'s.
"""

from __future__ import annotations

from functools import cached_property

import attrs

from mcpmock.playback.plan.plan import ClientEvent, ReplayPlan
from mcpmock.protocol.messages import Frame, HttpRequest
from mcpmock.redaction.redactor import PLACEHOLDER

from .header_profile import LAST_EVENT, SESSION_PARAMETER, session_parameter
from .header_verdicts import HeaderVerdicts
from .request_key import Key, MatchSubject, match_subject


@attrs.define(slots=False)
class RequestIndex:
    """Looks up client events. `stateless`: the exchanges of the plan belong to no session."""

    plan: ReplayPlan
    stateless: bool = False
    _subjects: dict[int, MatchSubject | None] = attrs.field(factory=dict)
    _tables: dict[tuple[int, bool], dict[Key, list[int]]] = attrs.field(factory=dict)

    def subject(self, event: ClientEvent) -> MatchSubject | None:
        """What a client event asks; None for what is matched by its bytes."""
        if event.index not in self._subjects:
            self._subjects[event.index] = self.subject_of(event.frame, event.head)
        return self._subjects[event.index]

    def subject_of(self, frame: Frame, head: HttpRequest | None) -> MatchSubject | None:
        """What a client frame asks, recorded or live."""
        subject = match_subject(frame, head)
        return subject if subject is None or head is None else self.placed(subject, head)

    def placed(self, subject: MatchSubject, head: HttpRequest) -> MatchSubject:
        """What is asked, with the recorded names of streams and sessions in the place of live ones.

        Of a request that resumes a stream, the stream counts: at which event the connection was
        lost was chance. A request outside any session that names one names a wrong one, and servers
        tell those apart.
        """
        if subject.http is None:
            return subject
        places = {}
        if LAST_EVENT in subject.http:
            stream = self.plan.streams.get(head.header(LAST_EVENT) or "", "unknown")
            places[LAST_EVENT] = str(stream)
        if self.stateless and SESSION_PARAMETER in subject.http:
            places[SESSION_PARAMETER] = session_parameter(head) or ""
        return attrs.evolve(subject, http={**subject.http, **places}) if places else subject

    def by_key(self, level: int, *, bare: bool) -> dict[Key, list[int]]:
        """The client events by key; with `bare` by the key of their message alone."""
        if (level, bare) not in self._tables:
            table: dict[Key, list[int]] = {}
            for index, event in self.plan.client_events.items():
                recorded = self.subject(event)
                if recorded is not None:
                    table.setdefault(recorded.key(level, bare=bare), []).append(index)
            self._tables[level, bare] = table
        return self._tables[level, bare]

    @cached_property
    def with_placeholders(self) -> list[int]:
        """The client events that hold placeholders: no key finds those."""
        events = self.plan.client_events.items()
        return [index for index, event in events if self._has_placeholder(event)]

    @cached_property
    def header_verdicts(self) -> HeaderVerdicts:
        """Which heads the recorded server refused."""
        events = self.plan.client_events.values()
        subjects = ((self.subject(event), event.status) for event in events)
        return HeaderVerdicts.of((asked, status) for asked, status in subjects if asked is not None)

    def _has_placeholder(self, event: ClientEvent) -> bool:
        if PLACEHOLDER in event.frame.raw:
            return True
        asked = None if event.head is None else self.subject(event)
        fields = {} if asked is None or asked.http is None else asked.http
        return any(PLACEHOLDER.decode() in value for value in fields.values())
