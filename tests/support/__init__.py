"""The tests' vocabulary: messages as raw bytes, frames, cassettes from compact lines, and scripts.

Nothing here decides anything: every check is in a test. Times are seconds, as in `now`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, ClassVar

from mcpmock.cassette.model import Cassette, Episode, event_line
from mcpmock.cassette.parser import read
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.plan import ReplayPlan
from mcpmock.playback.player import Player, PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Fact,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    ProcessExit,
    SseMeta,
    Stderr,
    StopSignal,
    StreamEnd,
)

HEADER = (
    b'{"mcpmock":1,"recorded_at":"2026-11-20T10:00:00.000Z","tool":"tests","transport":"stdio"}\n'
)
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
WELCOME = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'

LOG = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'

Seen = tuple[Direction, bytes, bytes, Fact | None]


def dump(value: Any) -> bytes:
    """Compact JSON, as the SDKs write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def request(id_: Any, method: str, params: Any = None, *, token: Any = None) -> bytes:
    """A request; `id_` and `token` given as bytes are spelled exactly so."""
    if token is not None:
        params = {**(params or {}), "_meta": {"progressToken": "\0token"}}
    tail = b"" if params is None else b',"params":' + dump(params)
    raw = b'{"jsonrpc":"2.0","id":%b,"method":%b%b}' % (_spelled(id_), dump(method), tail)
    return raw.replace(dump("\0token"), _spelled(token)) if token is not None else raw


def notification(method: str, params: Any = None) -> bytes:
    tail = b"" if params is None else b',"params":' + dump(params)
    return b'{"jsonrpc":"2.0","method":%b%b}' % (dump(method), tail)


def response(id_: Any, result: Any = None) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_spelled(id_), dump(result or {}))


def error(id_: Any, code: int = -32602, message: str = "no") -> bytes:
    told = dump({"code": code, "message": message})
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_spelled(id_), told)


def progress(token: Any, amount: int = 1) -> bytes:
    return (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%b,"progress":%d}}'
        % (
            _spelled(token),
            amount,
        )
    )


def cancelled(id_: Any) -> bytes:
    return (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%b}}'
        % _spelled(id_)
    )


def batch(*raws: bytes) -> bytes:
    return b"[" + b",".join(raws) + b"]"


def c2s(raw: bytes, eol: bytes = b"\n") -> Frame:
    return Frame(C2S, raw, eol)


def s2c(raw: bytes, eol: bytes = b"\n") -> Frame:
    return Frame(S2C, raw, eol)


def hangs_up(direction: Direction, how: str = "eof") -> Frame:
    return Frame(direction, b"", b"", StreamEnd(how))


def exits(code: int) -> Frame:
    return Frame(S2C, b"", b"", ProcessExit(code))


def logs(text: str) -> Frame:
    return Frame(S2C, text.encode(), b"", Stderr())


def seen(frame: Frame) -> Seen:
    """What can be seen of a frame on the wire: all but whether somebody has decoded it already."""
    return (frame.direction, frame.raw, frame.eol, frame.fact)


# HTTP: the frames of exchange `x`. A request or a response is a list of frames.

JSON_HEADER = HEADER.replace(b"stdio", b"streamable-http")
STREAM = "text/event-stream"


def post(
    x: int, body: bytes, *, session: str | None = None, to: str = "/mcp", **more: Any
) -> list[Frame]:
    """A POST of a message. `more` are header fields, with `_` for `-`; None leaves one out."""
    fields = {"content_type": "application/json", "accept": f"application/json, {STREAM}", **more}
    return [_asks(x, "POST", to, session, fields), Frame(C2S, body, exchange=x)]


def bodiless(
    x: int, method: str, *, session: str | None = None, to: str = "/mcp", **more: Any
) -> list[Frame]:
    """A GET, a DELETE or another request without a body."""
    return [_asks(x, method, to, session, more)]


def get(x: int, *, session: str | None = None, to: str = "/mcp", **more: Any) -> list[Frame]:
    """A GET of an event stream."""
    return bodiless(x, "GET", session=session, to=to, accept=STREAM, **more)


def replies(x: int, status: int, media: str | None = None, **fields: str) -> Frame:
    """The head of a response."""
    headers = [] if media is None else [("content-type", media)]
    headers += [(name.replace("_", "-"), value) for name, value in fields.items()]
    return Frame(S2C, fact=HttpResponse(status, "", headers), exchange=x)


def says(x: int, raw: bytes, eol: bytes = b"\n", **meta: Any) -> list[Frame]:
    """A message in a response; `meta` is what its server-sent event has besides."""
    metas = [Frame(S2C, fact=SseMeta(**meta), exchange=x)] if meta else []
    return [*metas, Frame(S2C, raw, eol, exchange=x)]


def ends(x: int, how: str = "eof", direction: Direction = S2C) -> Frame:
    return Frame(direction, fact=ExchangeEnd(how), exchange=x)


def answers(x: int, raw: bytes, status: int = 200, **fields: str) -> list[Frame]:
    """A whole response with a message in JSON."""
    return [replies(x, status, "application/json", **fields), *says(x, raw), ends(x)]


def accepts(x: int, status: int = 202, **fields: str) -> list[Frame]:
    """A whole response without a body."""
    return [replies(x, status, **fields), ends(x)]


def opens(x: int, **fields: str) -> list[Frame]:
    """A response that is an event stream, up to its first event."""
    return [replies(x, 200, STREAM, **fields)]


Stretch = tuple[int, Sequence[list[Frame]]]


def in_session(number: int, *steps: Frame | list[Frame]) -> Stretch:
    """What happened in one session; each step a second after the one before."""
    return number, [step if isinstance(step, list) else [step] for step in steps]


def over_http(*stretches: Stretch, header: bytes = JSON_HEADER) -> Cassette:
    """A loaded cassette of one take over HTTP."""
    lines, n, t = [header], 0, 0
    for session, steps in stretches:
        for step in steps:
            t += 1_000_000
            for frame in step:
                n += 1
                lines.append(event_line(n, t, frame, session=session))
    loaded = read("test.jsonl", b"".join(lines))
    assert [] == loaded.damage
    return loaded


def shown(frames: Iterable[Frame]) -> list[str]:
    """Frames of exchanges as one line each, as short as can be."""
    return [_shown(frame) for frame in frames]


def _shown(frame: Frame) -> str:
    match frame.fact:
        case None:
            said = frame.raw.decode()
        case HttpResponse() as head:
            session = head.header("mcp-session-id")
            parts = [str(head.status), head.media_type, session and f"session={session}"]
            said = " ".join(part for part in parts if part)
        case HttpRequest(method, target):
            said = f"{method} {target}"
        case SseMeta() as meta:
            parts = [
                f"{k}={v}" for k in meta.__struct_fields__ if (v := getattr(meta, k)) is not None
            ]
            said = " ".join(["sse", *(part for part in parts if part)])
        case HttpBody():
            said = f"body {frame.raw.decode()}"
        case ExchangeEnd(how):
            said = how
        case other:
            said = repr(other)
    return f"{frame.exchange} {said}"


def _asks(
    x: int, method: str, target: str, session: str | None, fields: dict[str, str | None]
) -> Frame:
    headers = [("Host", "127.0.0.1:8000")]
    headers += [(k.replace("_", "-"), v) for k, v in fields.items() if v is not None]
    headers += [("Mcp-Session-Id", session)] if session is not None else []
    return Frame(C2S, fact=HttpRequest(method, target, headers), exchange=x)


# One event: (what, value), a second after the last, or (seconds, what, value). `what` is "c2s",
# "s2c", "stderr", "end", or "take" for a new take.
Line = tuple[Any, ...]


def cassette(*events: Line, header: bytes = HEADER) -> Cassette:
    """A loaded cassette of the events given."""
    loaded = read("test.jsonl", cassette_bytes(*events, header=header))
    assert [] == loaded.damage
    return loaded


def cassette_bytes(*events: Line, header: bytes = HEADER) -> bytes:
    lines = [header]
    n, seconds = 0, 0.0
    for event in events:
        seconds, what, value = event if len(event) == 3 else (seconds + 1, *event)
        if what == "take":
            lines.append(header)
            n, seconds = 0, 0.0
            continue
        n += 1
        lines.append(event_line(n, round(seconds * 1_000_000), _frame_of(what, value)))
    return b"".join(lines)


def plan_of(*events: Line, strict: bool = False) -> ReplayPlan:
    """The plan of a cassette's first session."""
    return build_plan(episode(*events), strict=strict)


def episode(*events: Line) -> Episode:
    return cassette(*events).episodes()[0]


def c(raw: bytes) -> Line:
    return ("c2s", raw)


def s(raw: bytes) -> Line:
    return ("s2c", raw)


def call(id_: Any, tool: str, **arguments: Any) -> bytes:
    return request(id_, "tools/call", {"name": tool, "arguments": arguments})


def errors(raws: list[bytes]) -> list[tuple[Any, int | None]]:
    """(id, error code) of each message, None for what is no error."""
    values = [json.loads(raw) for raw in raws]
    return [(value.get("id"), value.get("error", {}).get("code")) for value in values]


OPENING = (c(INITIALIZE), s(WELCOME), c(INITIALIZED))


class Script:
    """A pipeline and the sequence diagram it is held against. Every step names its time; nothing
    may come between, and nothing behind the last one (`tests/conftest.py` asks at the end of the
    test).
    """

    running: ClassVar[list[Script]] = []

    def __init__(self, stages: Sequence[Stage], now: float = 0.0) -> None:
        self.pipeline = Pipeline(stages)
        self._out: list[Frame] = []
        self._now = now
        self._take(self.pipeline.begin(now))
        Script.running.append(self)

    def at(
        self,
        now: float,
        *,
        client: bytes | Frame | Sequence[bytes] | None = None,
        server: bytes | Frame | None = None,
        to_client: bytes | Frame | Sequence[bytes | Frame] | None = None,
        to_server: bytes | Frame | Sequence[bytes | Frame] | None = None,
    ) -> Script:
        """At `now` exactly this goes in, and exactly this comes out (both ways, in order)."""
        self._pass_time(now)
        if client is not None:
            given = [client] if isinstance(client, bytes | Frame) else list(client)
            self._take(self.pipeline.enter([_as_frame(C2S, one) for one in given], now))
        if server is not None:
            self._take(self.pipeline.enter([_as_frame(S2C, server)], now))
        expected = [seen(_as_frame(S2C, one)) for one in _listed(to_client)]
        expected += [seen(_as_frame(C2S, one)) for one in _listed(to_server)]
        out, self._out = self._out, []

        assert expected == [seen(frame) for frame in out], f"at {now}"
        return self

    def nothing_more(self) -> Script:
        """Whatever time passes, nothing more comes, and nothing has come that no step expected."""
        self._pass_time(float("inf"))
        assert [] == [(self._now, *seen(frame)) for frame in self._out]
        return self

    def abandon(self) -> Script:
        """What comes behind the last step is the subject of another test."""
        Script.running.remove(self)
        return self

    def hung_up(self) -> Script:
        assert self.pipeline.hung_up is not None
        return self

    def still_there(self) -> Script:
        assert self.pipeline.hung_up is None
        return self

    def heard(self, client: bytes | Frame, now: float = 0.0) -> list[bytes]:
        """What comes of this, now and later: for tests that are not about time."""
        self._take(self.pipeline.enter([_as_frame(C2S, client)], now))
        self._pass_time(float("inf"))
        out, self._out = self._out, []
        return [frame.raw for frame in out]

    def hears(self, now: float, *requests: list[Frame]) -> list[str]:
        """What comes at once of these frames, as lines (`shown`)."""
        self._pass_time(now)
        for frames in requests:
            self._take(self.pipeline.enter(frames, now))
        out, self._out = self._out, []
        return shown(out)

    def later(self, now: float) -> list[str]:
        """What comes by then."""
        for _ in range(10_000):
            due = self.pipeline.next_due
            if due is None or due > now:
                break
            self._take(self.pipeline.advance(due))
        out, self._out = self._out, []
        self._now = now
        return shown(out)

    def _pass_time(self, until: float) -> None:
        """To `until`, stopping wherever something is due; what comes before `until` must not come
        at all.
        """
        for _ in range(10_000):
            due = self.pipeline.next_due
            if due is None or due > until:
                break
            self._now = due
            self._take(self.pipeline.advance(due))
            if due < until != float("inf"):
                assert [] == [(due, *seen(frame)) for frame in self._out]
        else:
            raise AssertionError("the pipeline wakes for ever")
        self._now = until

    def _take(self, batches: Sequence[Sequence[Frame]]) -> None:
        self._out += [frame for frames in batches for frame in frames]


def script(*stages: Stage, now: float = 0.0) -> Script:
    return Script(stages, now)


def replay(recorded: Cassette | SessionSelection, **playing: Any) -> Script:
    """A player of this cassette, as a script; the player itself is `script.pipeline.stages[0]`."""
    casting = (
        recorded
        if isinstance(recorded, SessionSelection)
        else SessionSelection(recorded, PlayerOptions(**playing))
    )
    return Script([SessionPlayer(casting)])


def replay_http(
    recorded: Cassette | SessionSelection, *, stateless: bool = False, **playing: Any
) -> Script:
    """A player of this cassette that speaks exchanges. It mints `live-1`, `live-2`, ..."""
    casting = (
        recorded
        if isinstance(recorded, SessionSelection)
        else SessionSelection(recorded, PlayerOptions(**playing))
    )
    numbers = count(1)
    mint = lambda: f"live-{next(numbers)}"  # noqa: E731
    return Script([(StatelessPlayer if stateless else SessionPlayer)(casting, mint=mint)])


def play(*events: Line, **playing: Any) -> Script:
    return replay(cassette(*events), **playing)


def player_of(played: Script) -> Player:
    stage = played.pipeline.stages[-1]
    assert isinstance(stage, Player)
    return stage


def _spelled(value: Any) -> bytes:
    return value if isinstance(value, bytes) else dump(value)


def _frame_of(what: str, value: Any) -> Frame:
    match what:
        case "c2s" | "s2c":
            return _as_frame(Direction(what), value)
        case "stderr":
            return logs(value)
        case "end" if "d" in value and "signal" in value:
            return Frame(C2S, b"", b"", StopSignal(value["signal"]))
        case "end" if "exit" in value or "signal" in value:
            return Frame(S2C, b"", b"", ProcessExit(value.get("exit"), value.get("signal")))
        case "end":
            return hangs_up(Direction(value["d"]), value.get("how", "eof"))
        case _:
            raise AssertionError(f"no such event: {what}")


def _as_frame(direction: Direction, given: bytes | Frame) -> Frame:
    return given if isinstance(given, Frame) else Frame(direction, given)


def _listed(given: bytes | Frame | Sequence[bytes | Frame] | None) -> list[bytes | Frame]:
    if given is None:
        return []
    return [given] if isinstance(given, bytes | Frame) else list(given)
