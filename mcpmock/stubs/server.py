"""`StubServer`: one session of a hand-written server that needs no recording and no player behind
it, such as the demo server. It refuses what it has no answer for, as real servers do.

Legacy (up to 2025-11-25): a handshake, questions to the client as requests of the server. Modern
(2026-07-28): no handshake, every request carries version and capabilities, a question is an
unfinished result that the client answers by calling again. The first request decides the era.

Nothing here may import a player: the demo server is to start quickly. `stage` puts the same session
in front of a recording.
"""

from __future__ import annotations

import heapq
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from math import inf
from typing import Any

import attrs

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.protocol import edit
from mcpmock.protocol import error_codes as codes
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, LISTEN
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, NAMES, REVISIONS, ROWS, Sender, methods
from mcpmock.protocol.reassembly import Reassembly

from . import script as written
from .announcements import messages_for_listener, timed_messages
from .call import (
    LOG_LEVELS,
    META,
    InputRequired,
    Question,
    Steps,
    StubCall,
    StubError,
    StubExit,
    StubFailure,
    StubSession,
    as_object,
)
from .catalog import HANDSHAKES, LISTS, handshake, with_capabilities, with_listed
from .results import Speaker, failed, result_of, with_revision_members

_REFUSED = {
    modern: {row.name for row in ROWS} - methods(revision, Sender.CLIENT).keys()
    for modern, revision in ((False, LAST_LEGACY), (True, LATEST))
}
"""The methods of the protocol that a client may not call in the era."""


@attrs.define
class StubServer(Stage):
    """One session with one client. `breath` is the least time between the last progress of a call
    and its answer, in seconds.
    """

    script: written.StubScript
    breath: float = attrs.field(default=0.0, kw_only=True)
    question_id: bytes = attrs.field(default=b"%d", kw_only=True)
    """The ids of questions to the client, with a place for a number."""
    session: StubSession = attrs.field(factory=StubSession)
    running: dict[bytes, StubCall] = attrs.field(factory=dict)
    """The calls that wait, by id."""
    questions: dict[bytes, StubCall] = attrs.field(factory=dict)
    """The calls that asked the client, by the id of the question."""
    _turns: Counter[written.StubEntry] = attrs.field(factory=Counter)
    """How often each entry was called."""
    _due: list[tuple[float, int, bytes | None, bytes | StubCall]] = attrs.field(factory=list)
    """A heap of messages to send and calls to resume: due time, rank, id of the call, what."""
    _order: count[int] = attrs.field(factory=count)
    _waits: count[int] = attrs.field(factory=lambda: count(1))
    _reassembly: Reassembly = attrs.field(factory=Reassembly)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:
        self.session.now = now
        for message in (one for frame in seen for one in self._messages_in(frame)):
            if self.session.exit_status is None:
                self.receive(message)
        yield from self._send()
        if isinstance(seen[-1].fact, m.StreamEnd):
            yield Hangup("the client ended its input")

    def wake(self, now: float) -> Iterable[Action]:
        self.session.now = now
        while self._due and self._due[0][0] <= now and self.session.exit_status is None:
            what = heapq.heappop(self._due)[3]
            if isinstance(what, bytes):
                self.session.outgoing.append(what)
            elif self.running.get(what.id) is what:
                self.run(what, partial(next, what.steps))
        return self._send()

    def receive(self, message: m.Content) -> bool:
        """Take a message of the client; False if it means nothing here."""
        match message:
            case m.Request():
                call = self._call(message)
                call.steps = self._serve(call)
                self.run(call, partial(next, call.steps))
                return True
            case m.Response():
                return self.resume(message)
            case m.Notification(method, params) if method == CANCELLED:
                return self.cancel(m.member(params, "requestId") or b"")
            case m.Notification("notifications/initialized"):
                for after, raw in timed_messages(list(self.script.announcements)):
                    self._queue(self.session.now + after, None, raw)
        return False

    def run(self, call: StubCall, work: Callable[[], float | Question]) -> None:
        """Run a call until it ends or has to wait: for a time, or for an answer of the client."""
        self.running.pop(call.id, None)
        outcome = self._outcome(call, work)
        if isinstance(outcome, bytes):
            at = max(self.session.now, call.progressed_at + self.breath)
            self._queue(at, call.id, outcome)
        elif outcome != inf:
            self.running[call.id] = call
            self.wait_for(call, outcome)

    def wait_for(self, call: StubCall, step: float | Question) -> None:
        """Resume a call after a time, or with the answer to a question, which is sent."""
        number = next(self._waits)
        if isinstance(step, Question):
            id_ = self.question_id % number
            self.questions[id_] = call
            self.session.outgoing.append(edit.request(id_, *step))
        else:
            self._queue(self.session.now + step, call.id, call)

    def resume(self, answer: m.Response) -> bool:
        """Go on with the client's answer to a question; False if none was asked. The call may have
        been cancelled meanwhile.
        """
        call = self.questions.pop(answer.id or b"", None)
        if call is None:
            return False
        if self.running.get(call.id) is not call:
            return True
        if answer.error is None:
            self.run(call, partial(call.steps.send, as_object(m.decode(answer.result or b"null"))))
        else:
            message = as_object(m.decode(answer.error)).get("message", "")
            error = StubFailure(f"the client refused to answer: {message}")
            self.run(call, partial(call.steps.throw, error))
        return True

    def cancel(self, id_: bytes) -> bool:
        """Send nothing more for this call. A cancellation of an unknown or finished one is ignored,
        as the specification asks (Cancellation, Behavior Requirements).
        """
        self.running.pop(id_, None)
        self.session.listening.pop(id_, None)
        self._due = [due for due in self._due if due[2] != id_]
        heapq.heapify(self._due)
        return True

    def _messages_in(self, frame: m.Frame) -> Iterator[m.Content]:
        if isinstance(frame.fact, m.Fragment):
            whole = self._reassembly.add(frame)
            if whole is None:
                return
            frame = whole.frame
        if isinstance(frame.content, m.Batch):
            yield from m.parse_items(frame.raw)
        else:
            yield frame.content

    def _call(self, request: m.Request) -> StubCall:
        call = StubCall(self.session, request)
        if request.method == "initialize":
            self.session.capabilities = as_object(call.params.get("capabilities"))
        return call

    def _serve(self, call: StubCall) -> Steps:
        """Work on a call. Raises StubError for one that is refused."""
        self._settle_era(call)
        step = self._find_step(call)
        if step is not None:
            return (yield from self._play(call, step))
        if call.method == LISTEN:
            self._listen(call)
            yield inf
        result = self._own_result(call)
        if result is None:
            raise _unanswered(call)
        return result

    def _settle_era(self, call: StubCall) -> None:
        """Settle on the era of the first request. Raises StubError for a request of the other."""
        version = call.meta.get(META + "protocolVersion")
        modern = self.session.modern
        if modern is None:
            modern = version is not None or call.method == "server/discover"
        if modern:
            _check_meta(call)
        self.session.modern = call.modern = modern
        call.revision = LATEST if modern else self.session.revision
        if call.method in _REFUSED[modern]:
            raise _unanswered(call)

    def _find_step(self, call: StubCall, *, take: bool = True) -> written.StubStep | None:
        """Find the first entry that has an answer for this call; `take`: its turn is over."""
        for entry, arguments in self.script.entries_for(call.method, call.params):
            if not entry.differences(arguments):
                step = entry.step(self._turns[entry])
                if step is not None:
                    self._turns[entry] += take
                    call.entry, call.arguments = entry, arguments
                    return step
        return None

    def _play(self, call: StubCall, step: written.StubStep) -> Steps:
        """Send each message after its delay, and give the answer after its own."""
        value = None
        if isinstance(step.answer, written.StubReply):
            value = step.answer.value
            value = value(call.arguments) if callable(value) else value
        for message in step.messages:
            if message.after:
                yield message.after
            if message.method is None:
                sent = message.params or {}
                call.progress(sent["progress"], sent.get("total"), sent.get("message"))
            else:
                call.notify(message.method, message.params)
        if step.after:
            yield step.after
        match step.answer:
            case written.StubRefusal(code, text, data):
                raise StubError(code, text, data)
            case written.StubSilence() | written.StubRecorded():
                yield inf
            case written.StubRun(function):
                value = function(call)
                if isinstance(value, Generator):
                    value = yield from value
        return value

    def _own_result(self, call: StubCall) -> written.Arguments | None:
        """Answer what needs no entry; give None for all else. Raises StubError for bad params."""
        script = self.script
        match call.method:
            case method if method in LISTS:
                return {LISTS[method].member: []}
            case method if method in HANDSHAKES:
                return handshake(script, method, call.params)
            case "ping":
                return {}
            case "logging/setLevel" if script.takes_log_levels:
                level = call.text("level")
                if level not in LOG_LEVELS:
                    raise StubError(codes.INVALID_PARAMS, f"Unknown level: {level}")
                self.session.log_level = level
                return {}
            case "resources/subscribe" | "resources/unsubscribe" if script.takes_subscriptions:
                adds = call.method == "resources/subscribe"
                change = self.session.subscribed.add if adds else self.session.subscribed.discard
                change(call.text("uri"))
                return {}
        return None

    def _listen(self, call: StubCall) -> None:
        """Acknowledge a subscription, which stays open until the client cancels it."""
        uris, messages = messages_for_listener(self.script, call.id, call.params)
        self.session.listening[call.id] = uris
        for after, raw in messages:
            self._queue(self.session.now + after, call.id, raw)

    def _outcome(
        self, call: StubCall, work: Callable[[], float | Question]
    ) -> float | Question | bytes:
        """Go on with a call to what it waits for, or to its answer as a message. `inf`: neither."""
        try:
            try:
                return work()
            except StopIteration as done:
                return self._response(call, done.value)
            except InputRequired as question:
                return self._response(call, question.result)
        except StubError as error:
            return edit.error(call.id, error.code, error.message, error.data)
        except StubExit as ending:
            self.session.exit_status = ending.status
            return inf
        except StubFailure as error:
            return self._failure(call, str(error))
        except Exception as error:
            if call.entry is None:
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            text = f"mcpmock: the stub of {call.entry.name} raised {error!r} ({where})"
            self._note(call.method, text)
            return self._failure(call, text)

    def _response(self, call: StubCall, value: Any) -> bytes:
        speaker = Speaker(call.revision, self._info)
        if call.entry is None:
            raw = edit.response(call.id, with_revision_members(call.method, value, speaker))
            return self._with_offers(raw, call.method, first=True)
        listed = self.script.listed.get((call.entry.kind, call.entry.name), {})
        uri = str(call.params.get("uri"))
        raw = edit.response(call.id, result_of(call.entry, listed, value, uri, speaker))
        self._check_own(call, call.entry, m.member(raw, "result") or b"")
        return raw

    def _check_own(self, call: StubCall, entry: written.StubEntry, result: bytes) -> None:
        """Warn of an answer that breaks what the server declares, once for each name."""
        key = entry.kind, entry.name
        if key in self.script.warned or call.revision not in REVISIONS:
            return
        from .own_schema import misfit_of

        tool = entry.kind is written.RouteKind.TOOL
        listed = self.script.listed.get((entry.kind, entry.name), {}) if tool else {}
        wrong = misfit_of(call.method, listed, result, call.revision)
        if wrong is not None:
            self.script.warned.add(key)
            self._warn(call.method, f"the answer of {entry.name}: {wrong}")

    def _failure(self, call: StubCall, text: str) -> bytes:
        if call.entry is None or call.entry.kind is not written.RouteKind.TOOL:
            return edit.error(call.id, codes.INTERNAL_ERROR, text)
        return self._response(call, failed(text))

    def _with_offers(self, raw: bytes, method: str, *, first: bool) -> bytes:
        """Add what the script offers to the answer to a list method or a handshake."""
        if method in LISTS:
            return with_listed(raw, method, self.script, first=first)
        if method not in HANDSHAKES:
            return raw
        version = m.decode(m.member(raw, "result", "protocolVersion") or b"null")
        known = version in REVISIONS
        self.session.revision = version if known else self.session.revision
        return with_capabilities(raw, self.script, version if known else LATEST)

    @property
    def _info(self) -> dict[str, str] | None:
        """The `serverInfo` in results; None where a recording has it already."""
        return self.script.info

    def _warn(self, method: str, text: str) -> None:
        """Warn of an answer, where a session hears it."""

    def _note(self, method: str, text: str) -> None:
        """Report a mistake in a function; a server alone has the answer only."""

    def _queue(self, at: float, id_: bytes | None, what: bytes | StubCall) -> None:
        if isinstance(what, bytes) and at <= self.session.now:
            self.session.outgoing.append(what)
        else:
            heapq.heappush(self._due, (at, next(self._order), id_, what))

    def _send(self) -> Iterator[Action]:
        """Send what there is to send, and say when to wake."""
        session = self.session
        yield Send([m.Frame(m.S2C, raw) for raw in session.outgoing])
        session.outgoing.clear()
        if session.exit_status is not None:
            yield Send([m.Frame(m.S2C, b"", b"", m.ProcessExit(session.exit_status))])
            yield Hangup("the server ended itself")
        elif self._due:
            yield Wake(self._due[0][0])


def _check_meta(call: StubCall) -> None:
    """Check what every modern request must carry. Raises StubError if it is missing."""
    version = call.meta.get(META + "protocolVersion")
    if version is None or not isinstance(call.meta.get(META + "clientCapabilities"), dict):
        wanted = f"{META}protocolVersion and {META}clientCapabilities"
        raise StubError(codes.INVALID_PARAMS, f"params._meta must carry {wanted}")
    if version != LATEST:
        known = {"supported": [LATEST], "requested": version}
        raise StubError(codes.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", known)


def _unanswered(call: StubCall) -> StubError:
    """Make the error for a request that nothing answers. Raises StubError if it names nothing."""
    for kind, method in written.CALLED_BY.items():
        if call.method == method:
            name = call.text(NAMES[method])
            resource = kind is written.RouteKind.RESOURCE
            code = (
                codes.RESOURCE_NOT_FOUND if resource and not call.modern else codes.INVALID_PARAMS
            )
            return StubError(
                code, f"Unknown {kind.value}: {name}", {"uri": name} if resource else None
            )
    return StubError(codes.METHOD_NOT_FOUND, "Method not found", {"method": call.method})
