"""`TakeHead`: what the page shows of a take before its events: who spoke to whom, when, and
by which revision. `report` stands above.
"""

from __future__ import annotations

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Event, Take, names_endpoint
from mcpmock.printable import duration, shell_command
from mcpmock.protocol.messages import Request, Response, encode, member, parse_items
from mcpmock.protocol.revisions import initialized_version, version_of

from .summary import brief, event_summary, text_member
from .timeline import PROBE

_MAX_HANDSHAKE_EVENTS = 1000
_MAX_NAME = 80
_MINUTE = len("2026-11-20T10:00")


@attrs.define
class TakeHead:
    """The description of a take, which may grow: its events are read once."""

    take: Take
    transport: str = ""
    revision: str | None = None
    """What the first answered `initialize` agreed on, or what a request names."""
    _asked: set[bytes] = attrs.field(factory=set)
    _probed: dict[bytes, str | None] = attrs.field(factory=dict)
    """What a client asked whether the server speaks it, by the id of the request."""
    _client: str | None = None
    server: str | None = None
    """The name and version of each side."""
    _start: int | None = None
    _last: int = 0
    _exit: Event | None = None
    """How the process of the server ended."""
    _read: int = 0

    def subject(self) -> list[str]:
        """Return what this is, in words: who spoke to whom, the command or URL, when, for how long,
        and how it ended.
        """
        sides = [self._client or "a client", self.server or "a server"]
        recorded = self.take.header.recorded_at or ""
        when = recorded[:_MINUTE].replace("T", " ") + (" UTC" if recorded.endswith("Z") else "")
        ended = None if self._exit is None else event_summary(self._exit)
        known = self._client is not None or self.server is not None
        parts = [" → ".join(sides) if known else None, self.target, when]
        parts += [duration(self._last - (self._start or 0)) if self._last else None, ended]
        return [brief(part) for part in parts if part]

    @property
    def target(self) -> str | None:
        """The command or the URL of the server."""
        target = self.take.header.target
        return target if isinstance(target, str | None) else shell_command(target)

    def facts(self, number: int) -> list[tuple[str, str]]:
        """Return names and values, those that are known."""
        take, header = self.take, self.take.header
        last = take.events[-1] if take.events else None
        end = None if last is None or last.end is UNSET else event_summary(last)
        state = "complete" if take.footer is not None else "incomplete: no clean close"
        edited = "edited since" if take.sealed is False else None
        converted = header.converted
        found = {
            "take": str(number),
            "recorded": header.recorded_at,
            "transport": self.transport,
            "target": self.target,
            "revision": self.revision,
            "outcome": ", ".join(filter(None, [end, state, edited])),
            "recorder": header.tool,
            "test": header.test,
            "converted from": None if converted is None else encode(converted).decode(),
        }
        return [(name, value) for name, value in found.items() if value]

    def read_on(self) -> None:
        """Take in the events that are new."""
        events = self.take.events[self._read :]
        if not self.transport or any(map(names_endpoint, events)):
            self.transport = self.take.transport
        for event in events[: max(0, _MAX_HANDSHAKE_EVENTS - self._read)]:
            if self.revision is None:
                self.revision = self._revision_in(event.payload)
            if self._client is None or self.server is None:
                self._read_names(event.payload or b"")
        for event in events:
            self._start = event.t if self._start is None else self._start
            self._last = event.t
            if event.d != "c2s" and isinstance(event.end, dict):
                self._exit = event
        self._read += len(events)

    def _read_names(self, payload: bytes) -> None:
        if b"Info" not in payload:
            return
        for message in parse_items(payload):
            match message:
                case Request(params=params):
                    self._client = self._client or _implementation(params, "clientInfo")
                case Response(result=result):
                    self.server = self.server or _implementation(result, "serverInfo")

    def _revision_in(self, payload: bytes | None) -> str | None:
        for message in () if payload is None else parse_items(payload):
            match message:
                case Request(method="initialize", id=id_):
                    self._asked.add(id_)
                case Request(method=method, id=id_) if method == PROBE:
                    self._probed[id_] = version_of(message)
                case Response(id=id_, result=result) if id_ in self._probed:
                    if result is not None:
                        return self._probed[id_]
                case Response(id=id_, result=result) if id_ in self._asked and result is not None:
                    return initialized_version(result)
                case Request() if (version := version_of(message)) is not None:
                    return version
        return None


def _implementation(raw: bytes | None, member_name: str) -> str | None:
    """Return the name and version of a side, in the params or result where it gives them."""
    for path in ((member_name,), ("_meta", f"io.modelcontextprotocol/{member_name}")):
        if (found := member(raw, *path)) is not None:
            return (
                brief(
                    " ".join(
                        filter(None, (text_member(found, "name"), text_member(found, "version")))
                    ),
                    _MAX_NAME,
                )
                or None
            )
    return None
