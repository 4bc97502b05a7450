"""`StubStage`: a `StubServer` that passes everything it has no answer for to the player behind it.

The player does not see the requests that are answered here. The stage adds its entries to the
player's answers to lists and handshakes, and answers those that the player would miss
(`playback.fallback`). Frames are bare messages: over HTTP the transport's rules stand in front.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.pipeline.stage import PASS, Action, Send
from mcpmock.playback.fallback import MAX_BATCH_MESSAGES, too_long
from mcpmock.playback.miss import STUBBED, NearMiss
from mcpmock.playback.player import MisfitAnswer, PlayerNote, Report
from mcpmock.playback.request_key import MatchSubject
from mcpmock.playback.variables import Mismatch
from mcpmock.protocol import edit
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import LISTEN
from mcpmock.protocol.raw_json import elements

from .call import StubCall, StubError
from .catalog import HANDSHAKES, LISTS
from .results import Speaker, with_revision_members
from .script import RouteKind, StubEntry, StubRecorded
from .server import StubServer

MAX_REMEMBERED_CALLS = 10_000
"""How many calls of a session are remembered; beyond that the oldest is forgotten."""


@attrs.define
class StubStage(StubServer):
    """One session of a script's server. `alone`: there is no recording behind it."""

    report: Report = lambda _what: None
    alone: bool = attrs.field(default=False, kw_only=True)
    # The recording behind it has questions as well, mostly with numbers for ids.
    question_id: bytes = attrs.field(default=b'"stub-%d"', kw_only=True)
    _passed: OrderedDict[bytes, tuple[str, bool]] = attrs.field(factory=OrderedDict)
    """The requests that went to the player and whose answers get the entries of the stub: their
    methods, and whether they ask for the first page.
    """
    _recorded_lists: set[str] = attrs.field(factory=set)
    """The list methods that the recording answered: how often, its options say."""
    _own_calls: OrderedDict[bytes, None] = attrs.field(factory=OrderedDict)
    """The ids of the calls that were answered here."""

    @property
    def held_until(self) -> float | None:
        return max((due for due, *_ in self._due), default=None)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is m.S2C:
            return [Send([self._with_additions(frame) for frame in seen])] if self._passed else PASS
        self.session.now = now
        return self._receive(seen)

    def answer(self, frame: m.Frame) -> list[m.Frame] | None:
        """Answer list methods, and without a recording what a server answers by itself. The
        entries of the stub are added on the way out.
        """
        request = frame.content
        if not isinstance(request, m.Request) or request.method in self._recorded_lists:
            return None
        listing = LISTS.get(request.method)
        if not self.alone and not (listing and self.script.offers(listing.kind)):
            return None
        call = self._call(request)
        try:
            result = self._own_result(call)
        except StubError as error:
            return [m.Frame(m.S2C, edit.error(call.id, error.code, error.message, error.data))]
        if result is None:
            return None
        members = with_revision_members(call.method, result, Speaker(call.revision, self._info))
        return [m.Frame(m.S2C, edit.response(call.id, members))]

    def near(self, live: MatchSubject) -> list[NearMiss]:
        """Return the entries that nearly match a request, and why they do not."""
        params = live.params if isinstance(live.params, dict) else {}
        pairs = self.script.entries_for(live.method, params)
        found = [
            NearMiss(STUBBED, _explain_near_miss(entry), tuple(entry.differences(arguments)))
            for entry, arguments in [pair for pair in pairs if pair[0].steps] or pairs
        ]
        named = "uri" if live.method == "resources/read" else "name"
        entries = [e for e in list(self.script.entries) if e.kind is not RouteKind.METHOD]
        names = [entry.name for entry in entries if entry.method == live.method]
        return found or [
            NearMiss(STUBBED, "stubbed", (Mismatch(f"$.{named}", name, params.get(named, UNSET)),))
            for name in dict.fromkeys(names)
        ]

    def _receive(self, seen: Sequence[m.Frame]) -> Iterator[Action]:
        """Take the client's frames in order; each is answered before the next is read."""
        on: list[m.Frame] = []
        for frame in seen:
            passed = self._receive_frame(frame)
            on += passed
            if passed != [frame]:
                yield Send(on)
                on = []
                yield from self._send()
        yield Send(on)
        yield from self._send()

    def _receive_frame(self, frame: m.Frame) -> list[m.Frame]:
        """Return the part of a frame that passes to the player."""
        if isinstance(frame.fact, m.Fragment):
            whole = self._reassembly.add(frame)
            if whole is None:
                return []
            if whole.too_long:
                self.session.outgoing.append(too_long(whole.size).raw)
                return []
            frame = whole.frame
        if isinstance(frame.content, m.Batch):
            return self._receive_batch(frame)
        return [] if self.receive(frame.content) else [frame]

    def _receive_batch(self, frame: m.Frame) -> list[m.Frame]:
        """Take a batch with a stubbed call apart: the rest passes message by message."""
        items = [frame.raw[slice(*span)] for span in elements(frame.raw) or []]
        if len(items) > MAX_BATCH_MESSAGES:
            return [frame]  # the player refuses it
        messages = [m.parse(item) for item in items]
        if not self.alone and not any(map(self._is_own, messages)):
            return [frame]
        frames = [m.Frame(m.C2S, item, frame.eol) for item in items]
        return [passed for item in frames for passed in self._receive_frame(item)]

    def _is_own(self, message: m.Message) -> bool:
        """Return whether a message is for the stub and not for the player."""
        if isinstance(message, m.Response):
            return message.id in self.questions
        if not isinstance(message, m.Request):
            return False
        return self._find_step(self._call(message), take=False) is not None

    def receive(self, message: m.Content) -> bool:
        """Take a message of the client; False if it goes to the player, whose answer may get
        entries added.
        """
        if not isinstance(message, m.Request):
            return super().receive(message)
        call = self._call(message)
        step = self._find_step(call)
        if step is None or isinstance(step.answer, StubRecorded):
            return self._pass(call)
        _remember(self._own_calls, call.id, None)
        call.steps = self._play(call, step)
        self.run(call, partial(next, call.steps))
        return True

    def cancel(self, id_: bytes) -> bool:
        """Send nothing more for this call; False if it was not answered here."""
        return id_ in self._own_calls and super().cancel(id_)

    def _pass(self, call: StubCall) -> bool:
        """Note a request that has no answer in the script; True if it is answered here."""
        self._own_calls.pop(call.id, None)  # some clients use an id again
        if call.method in LISTS or call.method in HANDSHAKES:
            _remember(self._passed, call.id, (call.method, "cursor" not in call.params))
        elif call.method == LISTEN and self.alone:
            _remember(self._own_calls, call.id, None)
            self._listen(call)
            return True
        return False

    def _with_additions(self, frame: m.Frame) -> m.Frame:
        """Return a frame of the player; list and handshake answers get the entries of the stub."""
        message = frame.content
        if not isinstance(message, m.Response) or message.id is None:
            return frame
        method, first = self._passed.pop(message.id, ("", False))
        if not method or message.result is None:
            return frame
        if method in LISTS and not self.alone:
            self._recorded_lists.add(method)
        raw = self._with_offers(frame.raw, method, first=first)
        return frame if raw == frame.raw else m.Frame(m.S2C, raw, frame.eol, None, frame.exchange)

    @property
    def _info(self) -> dict[str, str] | None:
        return self.script.info if self.alone else None

    def _warn(self, method: str, text: str) -> None:
        self.report(MisfitAnswer(method, text))

    def _note(self, method: str, text: str) -> None:
        self.report(PlayerNote(method, text))


def _explain_near_miss(entry: StubEntry) -> str:
    if entry.condition:
        return "stubbed for other arguments, or no more often"
    return "stubbed no more often" if entry.steps else "stubbed without an answer"


def _remember(known: OrderedDict[bytes, Any], id_: bytes, what: Any) -> None:
    known[id_] = what
    if len(known) > MAX_REMEMBERED_CALLS:
        known.popitem(last=False)
