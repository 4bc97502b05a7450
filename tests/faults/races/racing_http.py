"""The vocabulary of the races' tests over HTTP: a replay behind the rules of a transport, and what
its client is to get, line for line.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import Cell, Reaction
from mcpmock.faults.receipts import FaultRun
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.player import Player, PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.playback.timing import Pace
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.transports.http_sse import SseServer
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    OPENING,
    Script,
    c,
    cassette,
    ends,
    error,
    get,
    post,
    progress,
    request,
    response,
    s,
    script,
)
from tests.support.faulty import Tape

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN}
CALL = request(1, "tools/call", {"name": "slow"}, token="t")
MODERN_CALL = request(1, "tools/call", {"name": "slow", "_meta": {"progressToken": "t", **META}})
ANSWER = response(1, {"content": []})
FAILED = error(1, -32800, "Request cancelled")
PING, PONG = request(9, "ping"), response(9)
ENDPOINT = "/messages?sessionId=s1"
X = 3
"""The exchange of the call."""
STREAM, JSON = "3 200 text/event-stream session=s1", "3 200 application/json session=s1"
PRIMED = [STREAM, "3 sse id=3-0", "3 "]


def messages(k: int) -> list[bytes]:
    """What the server says: progress, and the answer last."""
    return [*(progress("t", n) for n in range(1, k)), *([ANSWER] if k else [])]


@cache
def recorded(k: int) -> Cassette:
    return cassette(*OPENING, c(CALL), *map(s, messages(k)))


def _racing(transport: str, rules: Sequence[Stage], fault: CancelRace, player: Player) -> Script:
    run = FaultRun.of(Plan(faults=(attrs.evolve(fault, match=Match(tool="slow")),)))
    return script(Tape(), FaultEngine(run, transport=transport), *rules, player)


def _player(k: int) -> Player:
    return SessionPlayer(
        SessionSelection(recorded(k), PlayerOptions(pace=Pace(after_progress=0))), mint=lambda: "s1"
    )


def streaming(fault: CancelRace, k: int) -> Script:
    """A replay over Streamable HTTP, past its handshake: session s1, exchanges 1 and 2."""
    rules = [Resumption(), StreamableHttpServer("/mcp", lambda: "s1", stateless=False)]
    wire = _racing("streamable-http", rules, fault, _player(k))
    wire.hears(0, post(1, INITIALIZE))
    wire.hears(0, in_session(2, INITIALIZED))
    return wire


def on_one_stream(fault: CancelRace, k: int) -> Script:
    """A replay over HTTP+SSE, past its handshake: the stream is exchange 1."""
    wire = _racing("sse", [SseServer("/sse", "/messages", lambda: "s1")], fault, _player(k))
    wire.hears(0, get(1, to="/sse"))
    wire.hears(0, post(11, INITIALIZE, to=ENDPOINT))
    wire.hears(0, post(12, INITIALIZED, to=ENDPOINT))
    return wire


def modern(fault: CancelRace, k: int) -> Script:
    """A replay of exchanges that belong to no session."""
    rules = [Resumption(), StreamableHttpServer("/mcp", lambda: "s1", stateless=True)]
    said = cassette(c(MODERN_CALL), *map(s, messages(k)))
    casting = SessionSelection(said, PlayerOptions(pace=Pace(after_progress=0)))
    player = StatelessPlayer(casting)
    return _racing("streamable-http", rules, fault, player)


def in_session(x: int, raw: bytes) -> list[Frame]:
    """A POST in the session."""
    return post(x, raw, session="s1")


def takes_up(x: int, event: str) -> list[Frame]:
    """A GET that wants to have what came behind this event."""
    return get(x, session="s1", last_event_id=event)


def leaves(x: int) -> list[Frame]:
    """The client closes the connection of an exchange."""
    return [ends(x, "closed", direction=C2S)]


def modern_post(x: int, raw: bytes) -> list[Frame]:
    return post(x, raw, mcp_protocol_version=MODERN, mcp_method="tools/call", mcp_name="slow")


def told(raws: Sequence[bytes], first: int = 1, x: int = X, of: int = X) -> list[str]:
    """Messages as the events of a stream: `first` is the number of the first one there."""
    lines = []
    for n, raw in enumerate(raws, first):
        lines += [f"{x} sse id={of}-{n} event=message", f"{x} {raw.decode()}"]
    return lines


def pushed(raws: Sequence[bytes]) -> list[str]:
    """Messages on the stream of HTTP+SSE."""
    return [line for raw in raws for line in ("1 sse event=message", f"1 {raw.decode()}")]


def before_the_cancel(cell: Cell) -> list[str]:
    """What the client gets of its call, over Streamable HTTP."""
    said = messages(cell.k)[: cell.i]
    if cell.k == 1:
        return [JSON, *(f"3 {raw.decode()}" for raw in said), "3 eof"] if said else []
    if cell.k == 0:
        return []
    return [*PRIMED, *told(said), *(["3 eof"] if cell.i == cell.k else [])]


def after_the_cancel(cell: Cell, reaction: Reaction) -> list[str]:
    """What it gets then."""
    said = messages(cell.k)
    if cell.i == cell.k:
        return []
    if cell.k == 1:
        return _in_json(cell, reaction)
    crossed, left = told(said[cell.i : cell.j], cell.i + 1), said[cell.j :]
    if not left:
        return [*crossed, "3 eof"]
    last = f"3 sse id=3-{cell.k} event=message"
    failed, answer = f"3 {FAILED.decode()}", f"3 {ANSWER.decode()}"
    found: dict[Reaction, list[str]] = {
        "silent": ["3 eof"],
        "late_result": [last, answer, "3 eof"],
        "late_error": [last, failed, "3 eof"],
        "late_progress": [*(told(left[:-1], cell.j + 1) or [_more(cell)]), "3 eof"],
        "error_then_result": [failed, last, answer, "3 eof"],
        "crash": ["3 reset"],
        "close": ["3 closed"],
    }
    return [*crossed, *found[reaction]]


def _in_json(cell: Cell, reaction: Reaction) -> list[str]:
    failed, answer = f"3 {FAILED.decode()}", f"3 {ANSWER.decode()}"
    if cell.j:
        return [JSON, answer, "3 eof"]
    found: dict[Reaction, list[str]] = {
        "silent": [STREAM, "3 eof"],
        "late_result": [JSON, answer, "3 eof"],
        "late_error": [JSON, failed, "3 eof"],
        "late_progress": [STREAM, _more(cell), "3 eof"],
        "error_then_result": [STREAM, failed, answer, "3 eof"],
        "crash": ["3 reset"],
        "close": ["3 closed"],
    }
    return found[reaction]


def _more(cell: Cell) -> str:
    """The progress that is made up where none is left."""
    return f"3 {progress('t', cell.k + 1).decode()}"
