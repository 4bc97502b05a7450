"""`StubStage`: a stage that sends hand-written answers and passes everything else to the player
behind it.

The player does not see the requests that are answered here. The stage adds its entries to the
player's answers to lists and handshakes, and answers those that the player would miss
(`playback.fallback`). Frames are bare messages: over HTTP the transport's rules stand in front.
`script` holds the entries, `results` and `catalog` their form in the protocol.
"""

from __future__ import annotations

import heapq
import traceback
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.pipeline.stage import PASS, Action, Send, Stage, Wake
from mcpmock.playback.fallback import MAX_BATCH_MESSAGES, too_long
from mcpmock.playback.miss import STUBBED, NearMiss
from mcpmock.playback.player import PlayerNote, Report
from mcpmock.playback.request_key import MatchSubject
from mcpmock.playback.variables import Mismatch
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, TOKEN_PATH
from mcpmock.protocol.error_codes import INTERNAL_ERROR
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Batch,
    Fragment,
    Frame,
    Notification,
    Request,
    Response,
    decode,
    member,
    parse,
)
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.raw_json import elements
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.protocol.revisions import version_of

from .announcements import LISTEN, TimedMessage, messages_for_listener, timed_messages
from .catalog import HANDSHAKES, LISTS, empty_list, handshake, sends, with_capabilities, with_listed
from .results import Speaker, failed, result_of
from .script import (
    CALLED_BY,
    RouteKind,
    StubEntry,
    StubRecorded,
    StubRefusal,
    StubReply,
    StubScript,
    StubSilence,
    StubStep,
)

MAX_REMEMBERED_CALLS = 10_000
"""How many calls of a session are remembered; beyond that the oldest is forgotten."""


@attrs.frozen
class _PassedRequest:
    """A request that goes to the player and whose answer gets the entries of the stub. `page` is
    the cursor as the client wrote it, None for the first page.
    """

    method: str
    page: bytes | None


@attrs.define
class StubStage(Stage):
    """One session of a script's server. `alone`: there is no recording behind it. `breath` is the
    least time between the last progress of a call and its answer, in seconds.
    """

    script: StubScript
    report: Report = lambda _what: None
    alone: bool = attrs.field(default=False, kw_only=True)
    breath: float = attrs.field(default=0.002, kw_only=True)
    _revision: str = LAST_LEGACY
    _turns: Counter[StubEntry] = attrs.field(factory=Counter)
    """How often each entry was called."""
    _passed: OrderedDict[bytes, _PassedRequest] = attrs.field(factory=OrderedDict)
    _recorded_lists: set[str] = attrs.field(factory=set)
    """The list methods that the recording answered: how often, its options say."""
    _own_calls: OrderedDict[bytes, None] = attrs.field(factory=OrderedDict)
    """The ids of the calls that were answered here."""
    _due: list[tuple[float, int, bytes | None, bytes]] = attrs.field(factory=list)
    """A heap of messages to send: due time, rank, id of the call, bytes."""
    _order: count[int] = attrs.field(factory=count)
    _reassembly: Reassembly = attrs.field(factory=Reassembly)

    @property
    def held_until(self) -> float | None:
        return max((due for due, *_ in self._due), default=None)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is S2C:
            return [Send([self._with_offers(frame) for frame in seen])] if self._passed else PASS
        return self._receive(seen, now)

    def wake(self, now: float) -> Iterable[Action]:
        return self._send_due(now)

    def answer(self, frame: Frame) -> list[Frame] | None:
        """Answers list methods, and without a recording the handshake. The entries of the stub are
        added on the way out.
        """
        request = frame.content
        if not isinstance(request, Request):
            return None
        method = request.method
        if method in self._recorded_lists:
            return None
        if method in LISTS and (self.alone or self.script.offers(LISTS[method].kind)):
            result: Any = empty_list(method, self._speaker(request))
        elif not self.alone:
            return None
        elif method in HANDSHAKES:
            result = handshake(self.script, method, _params(request))
        elif method == "logging/setLevel" and sends(self.script, "notifications/message"):
            result = {}
        else:
            return None
        return None if result is None else [Frame(S2C, edit.response(request.id, result))]

    def near(self, live: MatchSubject) -> list[NearMiss]:
        """The entries that nearly match a request, and why they do not."""
        params = live.params if isinstance(live.params, dict) else {}
        pairs = self.script.entries_for(live.method, params)
        found = [
            NearMiss(STUBBED, _explain_near_miss(entry), tuple(entry.differences(arguments)))
            for entry, arguments in [pair for pair in pairs if pair[0].steps] or pairs
        ]
        named = "uri" if live.method == "resources/read" else "name"
        entries = list(self.script.entries)
        names = [e.name for e in entries if live.method == CALLED_BY.get(e.kind)]
        return found or [
            NearMiss(STUBBED, "stubbed", (Mismatch(f"$.{named}", name, params.get(named, UNSET)),))
            for name in dict.fromkeys(names)
        ]

    def _receive(self, seen: Sequence[Frame], now: float) -> Iterator[Action]:
        """Takes the client's frames in order; each is answered before the next is read."""
        on: list[Frame] = []
        for frame in seen:
            passed = self._receive_frame(frame, now)
            on += passed
            if passed != [frame]:
                yield Send(on)
                on = []
                yield from self._send_due(now)
        yield Send(on)
        yield from self._send_due(now)

    def _receive_frame(self, frame: Frame, now: float) -> list[Frame]:
        """The part of a frame that passes to the player."""
        if isinstance(frame.fact, Fragment):
            whole = self._reassembly.add(frame)
            if whole is None:
                return []
            if whole.too_long:
                self._queue(now, None, too_long(whole.size).raw)
                return []
            frame = whole.frame
        match frame.content:
            case Request() as request:
                return [] if self._answer_here(request, now) else [frame]
            case Notification(method, params) if method == CANCELLED:
                return [] if self._cancel(member(params, "requestId")) else [frame]
            case Notification("notifications/initialized"):
                self._queue_all(timed_messages(list(self.script.announcements)), None, now)
                return [frame]
            case Batch():
                return self._receive_batch(frame, now)
            case _:
                return [frame]

    def _receive_batch(self, frame: Frame, now: float) -> list[Frame]:
        """A batch with a stubbed call is taken apart: the rest passes message by message."""
        items = [frame.raw[slice(*span)] for span in elements(frame.raw) or []]
        if len(items) > MAX_BATCH_MESSAGES:
            return [frame]  # the player refuses it
        calls = [call for item in items if isinstance(call := parse(item), Request)]
        if not self.alone and not any(self._find_step(call)[0] for call in calls):
            return [frame]
        frames = [Frame(C2S, item, frame.eol) for item in items]
        return [passed for item in frames for passed in self._receive_frame(item, now)]

    def _answer_here(self, request: Request, now: float) -> bool:
        """Answers a request; False if it goes to the player, whose answer may get entries added."""
        entry, step = self._find_step(request)
        if entry is not None:
            self._turns[entry] += 1
        if entry is None or step is None or isinstance(step.answer, StubRecorded):
            return self._pass(request, now)
        _remember(self._own_calls, request.id, None)
        self._schedule(request, entry, step, now)
        return True

    def _pass(self, request: Request, now: float) -> bool:
        """Notes a request that has no answer in the script; True if it is answered here."""
        self._own_calls.pop(request.id, None)  # some clients use an id again
        if request.method in LISTS or request.method in HANDSHAKES:
            page = member(request.params, "cursor")
            _remember(self._passed, request.id, _PassedRequest(request.method, page))
        elif request.method == LISTEN and self.alone:
            _remember(self._own_calls, request.id, None)
            messages = messages_for_listener(
                list(self.script.announcements), request.id, _params(request)
            )
            self._queue_all(messages, request.id, now)
            return True
        return False

    def _find_step(self, request: Request) -> tuple[StubEntry | None, StubStep | None]:
        """The first entry with an answer for this call, and that answer."""
        for entry, arguments in self.script.entries_for(request.method, _params(request)):
            if not entry.differences(arguments):
                step = entry.step(self._turns[entry])
                if step is not None:
                    return entry, step
        return None, None

    def _schedule(self, request: Request, entry: StubEntry, step: StubStep, now: float) -> None:
        """Each message after its pause; progress only where the client gave a token."""
        token = member(request.params, *TOKEN_PATH)
        at, last_progress = now, float("-inf")
        for message in step.messages:
            at += message.after
            if message.method is not None:
                self._queue(at, request.id, edit.notification(message.method, message.params))
            elif token is not None:
                last_progress = at
                self._queue(at, request.id, _progress(token, message.params or {}))
        if not isinstance(step.answer, StubSilence):
            at = max(at + step.after, last_progress + self.breath)
            self._queue(at, request.id, self._answer(request, entry, step.answer))

    def _answer(
        self, request: Request, entry: StubEntry, answer: StubReply | StubRefusal | StubRecorded
    ) -> bytes:
        if isinstance(answer, StubRefusal):
            return edit.error(request.id, answer.code, answer.message, answer.data)
        assert isinstance(answer, StubReply)
        params = _params(request)
        speaker = self._speaker(request)
        listed = self.script.listed.get((entry.kind, entry.name), {})
        uri = str(params.get("uri"))
        try:
            value = answer.value
            if callable(value):
                value = value(entry.arguments_of(request.method, params))
            result = result_of(entry, listed, value, uri, speaker)
            return edit.response(request.id, result)
        except Exception as error:  # noqa: BLE001 (the user's own function)
            text = f"mcpmock: the stub of {entry.name} raised {error!r}{_locate_failure(error)}"
            self.report(PlayerNote(request.method, text))
            if entry.kind is not RouteKind.TOOL:
                return edit.error(request.id, INTERNAL_ERROR, text)
            result = result_of(entry, listed, failed(text), uri, speaker)
            return edit.response(request.id, result)

    def _speaker(self, request: Request) -> Speaker:
        revision = version_of(request) or self._revision
        return Speaker(revision, self.script.info if self.alone else None)

    def _cancel(self, id_: bytes | None) -> bool:
        """Drops the messages of a cancelled call; False if the call was not answered here."""
        if id_ is None or id_ not in self._own_calls:
            return False
        self._due = [due for due in self._due if due[2] != id_]
        heapq.heapify(self._due)
        return True

    def _queue_all(self, timed: Sequence[TimedMessage], call: bytes | None, now: float) -> None:
        for after, raw in timed:
            self._queue(now + after, call, raw)

    def _queue(self, at: float, call: bytes | None, raw: bytes) -> None:
        heapq.heappush(self._due, (at, next(self._order), call, raw))

    def _send_due(self, now: float) -> Iterator[Action]:
        """Sends what is due, and says when to wake."""
        frames = []
        while self._due and self._due[0][0] <= now:
            frames.append(Frame(S2C, heapq.heappop(self._due)[3]))
        yield Send(frames)
        if self._due:
            yield Wake(self._due[0][0])

    def _with_offers(self, frame: Frame) -> Frame:
        """A frame of the player; list and handshake answers get the entries of the stub."""
        message = frame.content
        if not isinstance(message, Response) or message.id is None:
            return frame
        passed_request = self._passed.pop(message.id, None)
        if passed_request is None or message.result is None:
            return frame
        raw = frame.raw
        if passed_request.method in LISTS:
            if not self.alone:
                self._recorded_lists.add(passed_request.method)
            raw = with_listed(
                raw, passed_request.method, self.script, first=passed_request.page is None
            )
        else:
            version = decode(member(message.result, "protocolVersion") or b"null")
            known = version in REVISIONS
            self._revision = version if known else self._revision
            raw = with_capabilities(raw, self.script, version if known else LATEST)
        return frame if raw == frame.raw else Frame(S2C, raw, frame.eol, None, frame.exchange)


def _params(request: Request) -> dict[str, Any]:
    params = None if request.params is None else decode(request.params)
    return params if isinstance(params, dict) else {}


def _progress(token: bytes, more: Any) -> bytes:
    """A progress notification with the token as the client wrote it."""
    raw = edit.notification(PROGRESS, {"progressToken": None, **more})
    return edit.with_member(raw, ["params", "progressToken"], token)


def _locate_failure(error: Exception) -> str:
    """The line of the user's code in which it failed."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f" ({place.filename.rpartition('/')[2]}:{place.lineno})"


def _explain_near_miss(entry: StubEntry) -> str:
    if entry.condition:
        return "stubbed for other arguments, or no more often"
    return "stubbed no more often" if entry.steps else "stubbed without an answer"


def _remember(known: OrderedDict[bytes, Any], id_: bytes, what: Any) -> None:
    known[id_] = what
    if len(known) > MAX_REMEMBERED_CALLS:
        known.popitem(last=False)
