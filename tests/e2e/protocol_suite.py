"""A test-suite of the MCP transports, to be run against any URL: what does a server say to this?

Each test holds one small conversation, through a client of bytes, in a session of its own, and
gives a transcript: status, headers, JSON bodies and events, with whatever differs from run to run
(session ids, event ids, ports, dates) masked.  It does not judge.  A server that has been put in
the place of another, or behind something, has to give the same transcripts.

    for test in all_tests("streamable-http").values():
        transcript = run(test, url)

The tools are those of the workshop servers (servers/workshop.py).  The tests themselves are in
protocol_legacy.py, protocol_streams.py, protocol_modern.py and protocol_sse.py; those for
servers/oddities.py are in protocol_odd.py.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from tests.support.raw_http import (
    Connection,
    Exchange,
    Headers,
    NoAnswerError,
    ServerEvent,
    request_bytes,
)

Test = Callable[["Talk"], None]
Transcript = list[dict[str, Any]]
ACCEPT = "application/json, text/event-stream"
REVISION = "2025-11-25"
_UNTOLD = frozenset(
    ("connection", "content-length", "date", "etag", "keep-alive", "transfer-encoding")
)
"""Headers of one connection or one run, which are not the server's word."""
_LONGEST = 3000
_VARIES = [
    (re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}"), "UUID"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), "HOST:PORT"),
    (re.compile(r'("requestState": ?)"[^"]*"'), r'\1"STATE"'),
]
_ALL: dict[str, dict[str, Test]] = {}


def suite(transport: str) -> Callable[[Test], Test]:
    """Decorate a test of this transport; its name is the function's, of which there is one."""

    def add(test: Test) -> Test:
        mine = _ALL.setdefault(transport, {})
        assert test.__name__ not in mine
        mine[test.__name__] = test
        return test

    return add


def all_tests(transport: str) -> dict[str, Test]:
    """All tests of a transport by name."""
    # Importing a module of tests is what enters them into _ALL; each of them imports this one.
    from . import (  # noqa: F401
        protocol_legacy,
        protocol_modern,
        protocol_odd,
        protocol_sse,
        protocol_streams,
    )

    return _ALL[transport]


def run(test: Test, url: str) -> Transcript:
    """The transcript of a test against the server at a URL."""
    with Talk(test.__name__, url) as talk:
        test(talk)
    return talk.told()


def request(id_: object, method: str, params: object = None) -> dict[str, Any]:
    """A request, or with the id None a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id_ is not None:
        message["id"] = id_
    if params is not None:
        message["params"] = params
    return message


def call(id_: object, tool: str, *, progress: bool = False, **arguments: object) -> dict[str, Any]:
    """A call of a tool; the progress token is the request's id."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if progress:
        params["_meta"] = {"progressToken": id_}
    return request(id_, "tools/call", params)


@dataclass
class Talk:
    """One test's conversation: its vocabulary, and what has been said.

    All connections are closed when the block of its `with` is over.
    """

    name: str
    url: str
    said: Transcript = field(default_factory=list)
    session: str | None = None
    revision: str = REVISION
    _open: list[Connection] = field(default_factory=list)

    def __enter__(self) -> Talk:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection in self._open:
            connection.close()

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 80

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    # What goes out

    def send(
        self,
        method: str,
        body: bytes | Iterable[bytes] | None = None,
        *,
        target: str | None = None,
        on: Connection | None = None,
        **headers: str | None,
    ) -> Exchange:
        """Send a request and get the answer's head; a header that is None is left out."""
        connection = on or Connection(self.address)
        self._open.append(connection)
        lines = [("Host", "{}:{}".format(*self.address)), *self._headers(method, body, headers)]
        wire = request_bytes(method, target or self.path, lines, body)
        return Exchange(connection, wire, head_only=method == "HEAD")

    def post(self, message: object, **options: Any) -> Exchange:
        """Send a message, or the bytes that stand for one."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return self.send("POST", text.encode(), **options)

    def _headers(self, method: str, body: object, given: dict[str, str | None]) -> Headers:
        usual: dict[str, str | None] = {"accept": ACCEPT}
        if body is not None:
            usual["content_type"] = "application/json"
        if self.session:
            usual |= {"mcp_session_id": self.session, "mcp_protocol_version": self.revision}
        both = {**usual, **given}
        return [
            (name.replace("_", "-"), value) for name, value in both.items() if value is not None
        ]

    def initialize(self, revision: str = REVISION) -> Exchange:
        """The first request of a session; the client is named after the test."""
        params = {
            "protocolVersion": revision,
            "capabilities": {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}},
            "clientInfo": {"name": self.name, "version": "1"},
        }
        return self.post(request("init", "initialize", params))

    def begin(self, revision: str = REVISION) -> None:
        """Open a session; it is not told again by every test how."""
        exchange = self.initialize(revision)
        exchange.rest()
        self.session, self.revision = exchange.header("mcp-session-id"), revision
        self.post(request(None, "notifications/initialized")).rest()

    # What is told

    def hear(
        self, exchange: Exchange, *, upto: int | None = None, kept: bool = True
    ) -> list[ServerEvent]:
        """Tell an answer to its end, or to so many of its events; they are returned.

        The body is told as `unkept` where a recorder does not keep it: it is none of MCP's.
        """
        entry = self.head(exchange)
        if not entry["type"].startswith("text/event-stream"):
            body = _value(exchange.rest().decode("utf-8", "replace"))
            entry["body" if kept else "unkept"] = body
            return []
        return self.events(exchange, entry, upto=upto)

    def head(self, exchange: Exchange) -> dict[str, Any]:
        """Tell the head of an answer."""
        told = sorted((name, value) for name, value in exchange.headers if name not in _UNTOLD)
        entry = {
            "status": exchange.status,
            "type": exchange.header("content-type") or "",
            "headers": [f"{name}: {_header(name, value)}" for name, value in told],
        }
        self.said.append(entry)
        return entry

    def events(
        self, exchange: Exchange, entry: dict[str, Any], *, upto: int | None = None
    ) -> list[ServerEvent]:
        """Tell events, to the end or so many."""
        heard: list[ServerEvent] = []
        while upto is None or len(heard) < upto:
            event = exchange.event()
            if event is None:
                break
            heard.append(event)
        entry.setdefault("events", []).extend(_told_event(event) for event in heard)
        if upto is None or len(heard) < upto:
            entry["end"] = True
        return heard

    def until(self, exchange: Exchange, entry: dict[str, Any], id_: object) -> ServerEvent:
        """Tell events up to the answer to a request, or to a question of the server."""
        while heard := self.events(exchange, entry, upto=1):
            message = json.loads(heard[0].data or "{}")
            if "id" in message and ("method" in message or message["id"] == id_):
                return heard[0]
        raise NoAnswerError(f"the stream ended before an answer to {id_!r}")

    def note(self, **what: object) -> None:
        """Tell something else."""
        self.said.append(what)

    def told(self) -> Transcript:
        """The transcript, masked."""
        text = json.dumps(self.said, ensure_ascii=False, indent=1)
        for pattern, instead in _VARIES:
            text = pattern.sub(instead, text)
        transcript: Transcript = json.loads(text)
        _number_event_ids(transcript)
        return transcript


def _header(name: str, value: str) -> str:
    """A header's value; Starlette has the methods of `Allow` in no certain order."""
    return ", ".join(sorted(value.split(", "))) if name == "allow" else value


def _told_event(event: ServerEvent) -> dict[str, Any]:
    told: dict[str, Any] = {name: value for name, value in event.fields if name != "data"}
    if any(name == "data" for name, _ in event.fields):
        told["data"] = _value(event.data)
    return {"fields": [name for name, _ in event.fields], "eol": event.eol, **told}


def _value(text: str) -> Any:
    """JSON as it is, everything else as text; long texts by digest."""
    try:
        return _folded(json.loads(text))
    except ValueError:
        return _folded(text)


def _folded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _folded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_folded(item) for item in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        digest = hashlib.sha256(value.encode()).hexdigest()
        return f"<{len(value)} characters, sha256 {digest}>"
    return value


def _number_event_ids(transcript: Transcript) -> None:
    """Event ids by order of first appearance: which are the same is told, not what they are."""
    seen: dict[str, str] = {}
    for entry in transcript:
        for event in entry.get("events", []):
            if "id" in event:
                event["id"] = seen.setdefault(event["id"], f"EVENT {len(seen) + 1}")
