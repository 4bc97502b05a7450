"""Why a server did not get as far as its first call: `verify` says this in place of a comparison,
because then every recorded call differs and none of the differences is the cause.

Reads the recording of the run; `cli.verify` stands above.
"""

from __future__ import annotations

import signal

import attrs

from mcpmock.cassette.model import Cassette, Take
from mcpmock.playback.request_key import BY_METHOD_ALONE
from mcpmock.printable import printable
from mcpmock.protocol import messages as m

_FIRST_REDIRECT = 300
_MESSAGES = ("application/json", "text/event-stream")
_MAX_LINES = 10


@attrs.frozen
class FailedStart:
    """How a server failed before it answered its first call."""

    sentence: str
    output: tuple[str, ...] = ()
    """The first lines of what it printed instead of messages."""

    @property
    def lines(self) -> list[str]:
        """The sentence, and what the server printed."""
        return [self.sentence, *(f"it printed: {printable(line)}" for line in self.output)]


def failed_start(live: Cassette, recorded: Cassette | None = None) -> FailedStart | None:
    """Return why the server never answered a call; None if it did, if nothing was asked, or if the
    recorded server did not answer either.
    """
    if recorded is not None and failed_start(recorded) is not None:
        return None
    found = None
    for take in live.takes:
        for failure in _sessions(take):
            if failure is None:
                return None
            found = found or failure
    return found


def _sessions(take: Take) -> list[FailedStart | None]:
    sessions: dict[int, _StartReader] = {}
    for event in take.events:
        if event.frame is not None:
            sessions.setdefault(event.s, _StartReader()).read(event.frame, event.x)
    ended = next((one.end for one in sessions.values() if one.end is not None), None)
    return [one.result(ended) for one in sessions.values() if one.asked]


@attrs.define
class _StartReader:
    """Reads one session up to its first answered call."""

    asked: list[tuple[bytes, str, int | None]] = attrs.field(factory=list)
    """The requests: the id, what is asked, the HTTP exchange."""
    handshakes: set[bytes] = attrs.field(factory=set)
    answered: set[bytes] = attrs.field(factory=set)
    heads: dict[int | None, m.HttpResponse] = attrs.field(factory=dict)
    """The first refusing response of each exchange."""
    output: list[str] = attrs.field(factory=list)
    end: m.ProcessExit | None = None
    closed_by: m.Direction | None = None
    """Who ended its side first."""

    def read(self, frame: m.Frame, exchange: int | None) -> None:
        if isinstance(frame.fact, m.ProcessExit):
            self.end = frame.fact
        elif isinstance(frame.fact, m.StreamEnd):
            self.closed_by = self.closed_by or frame.direction
        elif isinstance(frame.fact, m.HttpResponse):
            self.heads.setdefault(exchange, frame.fact)
        elif frame.fact is None:
            for message in m.parse_items(frame.raw):
                self._read_message(frame, message, exchange)

    def _read_message(self, frame: m.Frame, message: m.Message, exchange: int | None) -> None:
        if isinstance(message, m.Request) and frame.direction is m.C2S:
            self.asked.append((message.id, message.method, exchange))
            if message.method in BY_METHOD_ALONE:
                self.handshakes.add(message.id)
        elif isinstance(message, m.Response) and frame.direction is m.S2C:
            if message.id is not None:
                self.answered.add(message.id)
        elif isinstance(message, m.Opaque) and frame.direction is m.S2C:
            self.output.append(frame.raw.decode("utf-8", "backslashreplace").rstrip())

    def result(self, end: m.ProcessExit | None) -> FailedStart | None:
        if self.answered - self.handshakes:
            return None
        waiting = next((one for one in self.asked if one[0] not in self.answered), None)
        if waiting is None:
            return None
        _, method, exchange = waiting
        head = self.heads.get(exchange)
        if head is not None and (how := _refusal(head)):
            return FailedStart(f"the server answered {method} with {how}")
        if end is None:
            return None
        output = tuple(self.output[:_MAX_LINES])
        if self.closed_by is m.C2S and not end.failed:
            return FailedStart(f"the server did not answer {method}", output)
        how = f"ended with status {end.code}"
        if end.signal is not None:
            how = f"was ended by signal {end.signal} ({_signal_name(end.signal)})"
        return FailedStart(f"the server {how} before it answered {method}", output)


def _refusal(head: m.HttpResponse) -> str:
    """Return what a response is that holds no message; empty for one that may hold some."""
    if head.status >= _FIRST_REDIRECT:
        place = head.header("location")
        where = f" to {printable(place.partition('?')[0])}" if place else ""
        return f"HTTP {head.status}{where}"
    kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
    return "" if kind in _MESSAGES else f"{printable(kind) or 'no content'}, not with a message"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
