"""A server that is replaced behind a live client: what each of the two gets, and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, Stderr, StopSignal
from mcpmock.protocol.transport_facts import RestartStep
from mcpmock.transports.server_restart import HANDSHAKE_TIMEOUT_S, ServerRestart
from tests.support import (
    INITIALIZED,
    LOG,
    c2s,
    cancelled,
    error,
    exits,
    hangs_up,
    notification,
    progress,
    request,
    response,
    s2c,
)

GRACE = 5.0
INITIALIZE = request(0, "initialize", {"protocolVersion": "2025-11-25"})
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"listChanged": True}}
WELCOME = response(0, {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES})
OWN_INITIALIZE = request("mcpmock-handshake", "initialize", {"protocolVersion": "2025-11-25"})
OWN_WELCOME = response("mcpmock-handshake", {"protocolVersion": "2025-11-25", "capabilities": {}})
CALL = request(7, "tools/call", {"name": "a"})
RESTARTED = "mcpmock: the server was restarted before it answered (a.py changed)"
NOTE = "mcpmock: a.py changed; the server was restarted\n"
TOOLS = "notifications/tools/list_changed"
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
DISCOVER = request(0, "server/discover", {"_meta": MODERN})
OWN_DISCOVER = request("mcpmock-handshake", "server/discover", {"_meta": MODERN})


def step(name: Any, text: str = "") -> Frame:
    return Frame(S2C, b"", b"", RestartStep(name, text))


def failure(id_: Any, message: str) -> bytes:
    return error(id_, -31998, message)


class Session:
    """A client and its servers, as the test plays them. `heard` and `got` are what the client and
    the server were given since they were asked for last.
    """

    def __init__(self, *opening: bytes, grace: float = GRACE) -> None:
        self.stage = ServerRestart(grace)
        self.pipeline = Pipeline([self.stage])
        self.now = 0.0
        self._heard: list[Any] = []
        self._got: list[Any] = []
        for raw in opening or (INITIALIZE, WELCOME, INITIALIZED):
            (self.hears if b"result" in raw else self.says)(raw)
        self.heard, self.got  # noqa: B018 (read)

    def says(self, *raws: bytes | Frame) -> None:
        self._enter([raw if isinstance(raw, Frame) else c2s(raw) for raw in raws])

    def hears(self, *raws: bytes | Frame) -> None:
        self._enter([raw if isinstance(raw, Frame) else s2c(raw) for raw in raws])

    def changes(self, file: str = "a.py") -> None:
        self.hears(step("due", file))

    def starts(self, *, welcome: bytes = OWN_WELCOME) -> None:
        self.hears(step("started"))
        self.hears(welcome)

    def waits(self, seconds: float) -> None:
        self.now += seconds
        self._take(self.pipeline.advance(self.now))

    @property
    def heard(self) -> list[Any]:
        heard, self._heard = self._heard, []
        return heard

    @property
    def got(self) -> list[Any]:
        got, self._got = self._got, []
        return got

    def _enter(self, frames: list[Frame]) -> None:
        for frame in frames:
            self._take(self.pipeline.enter([frame], self.now))

    def _take(self, batches: Any) -> None:
        for frame in (frame for batch in batches for frame in batch):
            (self._got if frame.direction is C2S else self._heard).append(_shown(frame))


def _shown(frame: Frame) -> Any:
    match frame.fact:
        case None:
            return frame.raw
        case RestartStep(name):
            return name
        case Stderr():
            return frame.raw.decode()
        case Fragment():
            return frame.raw + frame.eol
        case fact:
            return fact


def test_before_any_change() -> None:
    """Each frame is passed as it came; only `listChanged` is declared, for each list there is."""
    session = Session()
    odd = [b'{ "id" : 1.0,"method":"ping"}', b"not JSON", cancelled(9), CALL, CALL]
    session.says(*odd)
    assert odd == session.got
    odd = [LOG, b"banner", request(0, "roots/list"), response(7), response(99), cancelled(0)]
    session.hears(*odd)
    assert odd == session.heard
    session.hears(logs := Frame(S2C, b"log\n", b"", Stderr()), hangs_up(S2C), exits(3))
    assert [logs.raw.decode(), hangs_up(S2C).fact, exits(3).fact] == session.heard
    assert session.pipeline.hung_up


@pytest.mark.parametrize(
    ("offered", "declared"),
    [
        ({}, {}),
        ({"tools": {}}, {"tools": {"listChanged": True}}),
        ({"tools": {"listChanged": False}}, {"tools": {"listChanged": True}}),
        (
            {"resources": {"subscribe": True}, "prompts": {"listChanged": True}, "logging": {}},
            {
                "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": True},
                "logging": {},
            },
        ),
        ({"tools": None, "x": 1}, {"tools": None, "x": 1}),
    ],
)
@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_declared_lists(method: str, offered: Any, declared: Any) -> None:
    """What a server can list may change with it."""
    session = Session(request(0, method))
    session.hears(response(0, {"protocolVersion": "2025-11-25", "capabilities": offered}))
    assert [declared] == [json.loads(raw)["result"]["capabilities"] for raw in session.heard]


def test_a_restart() -> None:
    """The handshake, then the level and the subscriptions; then what was asked meanwhile, in order;
    then the lists.
    """
    level = request(1, "logging/setLevel", {"level": "debug"})
    subscribed = [request(n, "resources/subscribe", {"uri": f"a:{n}"}) for n in (2, 3)]
    dropped = request(4, "resources/unsubscribe", {"uri": "a:2"})
    listed = [request(5, "tools/list"), request(6, "resources/list")]
    session = Session()
    for raw in (level, *subscribed, dropped, *listed):
        session.says(raw)
        session.hears(response(json.loads(raw)["id"], {"tools": [1], "resources": [1]}))
    assert 6 == len(session.heard)
    assert 6 == len(session.got)

    session.changes()
    assert ["begin"] == session.got
    session.says(CALL, later := request(8, "ping"))
    assert [] == session.got
    session.hears(step("started"))
    assert [OWN_INITIALIZE] == session.got
    session.hears(LOG, OWN_WELCOME)
    own = [
        request("mcpmock-setting-0", "logging/setLevel", {"level": "debug"}),
        request("mcpmock-setting-1", "resources/subscribe", {"uri": "a:3"}),
    ]
    probes = [request(f"mcpmock-{kind}/list-0", f"{kind}/list") for kind in ("tools", "resources")]
    got = session.got
    assert [INITIALIZED, *own, CALL, later] == got[:5]
    assert [json.loads(probe) for probe in probes] == [json.loads(raw) for raw in got[5:]]
    session.hears(response("mcpmock-setting-0"), error("mcpmock-setting-1"), response(7))
    session.hears(response(b'"mcpmock-tools\\/list-0"', {"tools": [2]}))
    session.hears(response("mcpmock-resources/list-0", {"tools": [1], "resources": [1]}))
    assert [LOG, NOTE, response(7), notification(TOOLS)] == session.heard


def test_the_grace() -> None:
    """Open calls are answered by the old server; what is asked meanwhile waits for the new one."""
    session = Session()
    session.says(CALL)
    session.changes()
    session.waits(GRACE - 0.1)
    session.says(late := request(8, "ping"), cancelled(8))
    session.hears(request("q", "sampling/createMessage"), progress(1, 1))
    session.says(response("q"))
    assert [CALL, response("q")] == session.got
    session.hears(response(7))
    assert [request("q", "sampling/createMessage"), progress(1, 1), response(7)] == session.heard[
        :3
    ]
    assert ["begin"] == session.got
    session.starts()
    assert [OWN_INITIALIZE, INITIALIZED, late, cancelled(8)] == session.got
    session.says(last := request(9, "tools/call"))
    session.changes()
    session.says(cancelled(9))
    assert [last, cancelled(9), "begin"] == session.got


def test_behind_the_grace() -> None:
    """Open calls get one error, and nothing of the old server's comes any more."""
    session = Session()
    session.says(CALL, request(8, "tools/call"), request(9, "tools/call"))
    session.hears(response(8))
    session.says(cancelled(9))
    session.changes()
    session.waits(GRACE - 0.1)
    assert [response(8)] == session.heard
    session.waits(0.1)
    assert [failure(7, RESTARTED)] == session.heard
    session.hears(response(7), progress(1, 1), request("q", "ping"), hangs_up(S2C), exits(0))
    session.hears(piece(s2c(b""), LOG[:9]), piece(s2c(b""), LOG[9:], last=True))
    assert [] == session.heard
    session.waits(100)
    session.starts()
    assert [NOTE] == session.heard


def test_questions_are_withdrawn() -> None:
    """A late answer to one does not reach the new server, which may use the same id."""
    session = Session()
    ask = request(0, "roots/list")
    session.says(CALL)
    session.hears(ask)
    session.changes()
    session.waits(GRACE)
    assert [ask, failure(7, RESTARTED), cancelled(0)] == session.heard
    session.hears(step("failed", "no"))
    assert cancelled(0) not in session.heard
    session.changes()
    session.starts()
    session.hears(ask)
    heard = session.heard
    assert NOTE == heard[0]
    fresh = json.loads(heard[1])["id"]
    assert fresh != 0
    session.got  # noqa: B018 (read)
    session.says(error(0, 0, "Request cancelled"), response(fresh, {"roots": []}))
    assert [response(0, {"roots": []})] == session.got
    session.hears(ask, cancelled(0))
    assert [ask, cancelled(0)] == session.heard
    session.hears(request(5, "ping"), exits(3))
    assert cancelled(5) in session.heard
    session.changes()
    assert [] == session.heard


@pytest.mark.parametrize("phase", ["replacing", "greeting", "failed"])
def test_changes_at_any_time(phase: str) -> None:
    """A change while the server is replaced is one more restart; what waits, waits on."""
    session = Session()
    session.changes()
    if phase == "failed":
        session.hears(step("failed", "no"))
    session.says(CALL)
    if phase == "greeting":
        session.hears(step("started"))
    session.changes()
    if phase == "replacing":
        session.hears(step("started"))
    assert "begin" == session.got[-1]
    session.starts()
    expected = [] if phase == "failed" else [CALL]
    assert [OWN_INITIALIZE, INITIALIZED, *expected] == session.got


BEGUN = step("started")
TRACE = b"Trace\n  SyntaxError: \x1b[1mno\n\n"


@pytest.mark.parametrize(
    ("heard", "after", "why"),
    [
        ([step("failed", "no such file")], 0, "did not start: no such file"),
        ([BEGUN, hangs_up(S2C), exits(3)], 0, "ended with status 3"),
        (
            [BEGUN, Frame(S2C, TRACE, b"", Stderr()), exits(1)],
            0,
            "ended with status 1: SyntaxError: \\u001b[1mno",
        ),
        (
            [BEGUN, error("mcpmock-handshake", -1, "not today")],
            0,
            "refused the handshake: not today",
        ),
        ([BEGUN], HANDSHAKE_TIMEOUT_S, "did not answer the handshake within 60 s"),
        ([BEGUN, s2c(OWN_WELCOME), exits(4)], 0, "ended with status 4"),
    ],
)
def test_a_server_that_does_not_run(heard: list[Frame], after: float, why: str) -> None:
    """What is asked gets errors that say why, until the next change."""
    session = Session()
    session.changes()
    session.says(CALL)
    session.hears(*heard)
    session.waits(after)
    text = f"mcpmock: the server {why}; it is started again when a file changes"
    assert failure(7, text) in session.heard
    session.hears(LOG, piece(s2c(b""), LOG[:9]), piece(s2c(b""), LOG[9:], last=True))
    assert [] == session.heard
    session.says(request(8, "ping"), notification("notifications/roots/list_changed"))
    session.says(response("q"), cancelled(8))
    assert [failure(8, text)] == session.heard
    session.got  # noqa: B018 (read)
    session.changes("b.py")
    assert ["begin"] == session.got
    session.starts()
    assert [NOTE.replace("a.py", "b.py")] == session.heard


@pytest.mark.parametrize(
    ("opening", "welcome", "text"),
    [
        ((), response("mcpmock-handshake", {"protocolVersion": "2024-11-05"}), "2024-11-05"),
        ((), response("mcpmock-handshake", {}), "None"),
        (
            (DISCOVER, response(0, {"supportedVersions": ["2026-07-28"]})),
            response("mcpmock-handshake", {"supportedVersions": ["2027-01-01", "2028-01-01"]}),
            "2027-01-01, 2028-01-01",
        ),
    ],
)
def test_another_revision(opening: tuple[bytes, ...], welcome: bytes, text: str) -> None:
    """Ends the session, in a line."""
    session = Session(*opening)
    session.changes()
    session.says(CALL)
    session.starts(welcome=welcome)
    heard = session.heard
    revision = "2026-07-28" if opening else "2025-11-25"
    line = f"the new server speaks {text} and the session {revision}: it ends"
    assert f"mcpmock: a.py changed; {line}\n" == heard[0]
    assert [7] == [json.loads(raw)["id"] for raw in heard if isinstance(raw, bytes)]
    assert [hangs_up(S2C).fact, exits(4).fact] == heard[-2:]
    assert session.pipeline.hung_up


def test_another_revision_behind_a_server_that_did_not_run() -> None:
    """The status is that of this end, not of the server before."""
    session = Session()
    session.changes()
    session.hears(step("started"), exits(1))
    session.changes()
    session.starts(welcome=response("mcpmock-handshake", {"protocolVersion": "2024-11-05"}))

    assert exits(4).fact == session.heard[-1]


def test_a_handshake_that_is_open() -> None:
    """The new server answers it, once."""
    session = Session(INITIALIZE)
    session.changes()
    assert ["begin"] == session.got
    session.hears(step("started"))
    assert [INITIALIZE] == session.got
    session.hears(WELCOME)
    assert [NOTE, WELCOME] == session.heard
    session.says(INITIALIZED)
    session.changes()
    session.starts()
    assert [INITIALIZED, "begin", OWN_INITIALIZE, INITIALIZED] == session.got


def test_a_handshake_that_is_answered_twice() -> None:
    """The new server gets it all the same."""
    session = Session(INITIALIZE, WELCOME, WELCOME, INITIALIZED)
    session.changes()
    session.starts()
    assert ["begin", OWN_INITIALIZE, INITIALIZED] == session.got


def test_before_the_handshake() -> None:
    """The new server gets what the client says first."""
    session = Session(b"")
    session.changes()
    session.says(INITIALIZE)
    session.hears(step("started"))
    assert ["begin", INITIALIZE] == session.got


def test_the_client_leaves() -> None:
    """With an open call nothing is restarted any more; the answers to what waits come first."""
    session = Session()
    session.says(CALL)
    session.changes()
    session.says(hangs_up(C2S))
    assert [CALL, hangs_up(C2S).fact] == session.got
    session.changes()
    session.waits(GRACE)
    session.hears(response(7), hangs_up(S2C), exits(0))
    assert [response(7), hangs_up(S2C).fact, exits(0).fact] == session.heard

    session = Session()
    session.changes()
    session.says(CALL, hangs_up(C2S))
    session.starts()
    assert ["begin", OWN_INITIALIZE, INITIALIZED, CALL, hangs_up(C2S).fact] == session.got
    session.hears(response(7), hangs_up(S2C), exits(5))
    assert [NOTE, response(7), hangs_up(S2C).fact, exits(5).fact] == session.heard


def test_the_client_leaves_a_server_that_failed() -> None:
    """The session has its exit, or our own where it never started."""
    for said, status in ((step("failed", "no"), 4), (exits(3), 3)):
        session = Session()
        session.changes()
        session.hears(step("started"), said) if status == 3 else session.hears(said)
        session.says(hangs_up(C2S))
        assert [hangs_up(S2C).fact, exits(status).fact] == session.heard[-2:]
        assert session.pipeline.hung_up


def test_a_stop_signal() -> None:
    """The exit that follows on it is that of the session; where there is no server, it ends."""
    stop = Frame(S2C, b"", b"", StopSignal(15))
    session = Session()
    session.changes()
    session.starts()
    session.hears(stop)
    session.changes()
    session.hears(hangs_up(S2C), exits(-15))
    assert [hangs_up(S2C).fact, exits(-15).fact] == session.heard[-2:]
    session = Session()
    session.says(CALL)
    session.changes()
    session.says(request(8, "ping"))
    session.hears(stop)
    assert [CALL, request(8, "ping")] == session.got
    session = Session()
    session.changes()
    session.hears(stop)
    assert session.pipeline.hung_up


def test_too_much_is_asked() -> None:
    """Beyond a thousand messages, or a megabyte, the next request has an error at once."""
    session = Session()
    session.changes()
    session.says(*(request(n, "ping") for n in range(1, 1003)))
    assert [1002] == [json.loads(raw)["id"] for raw in session.heard]
    session.starts()
    assert 1001 == sum(b"ping" in raw for raw in session.got if isinstance(raw, bytes))


def piece(frame: Frame, raw: bytes, *, last: bool = False) -> Frame:
    return Frame(frame.direction, raw, b"\n" if last else b"", Fragment(last))


def test_long_messages() -> None:
    """One that is coming when files change is the old server's; behind the grace it is the new
    one's, whole; half an answer ends its line.
    """
    session = Session()
    here = c2s(b"")
    session.says(piece(here, CALL[:9]))
    session.changes()
    session.says(piece(here, CALL[9:], last=True))
    assert [CALL[:9], CALL[9:] + b"\n"] == session.got
    session.says(piece(here, LOG[:9]))
    session.hears(piece(s2c(b""), b'{"id":7,'))
    session.waits(GRACE)
    assert [b'{"id":7,', b"\n", failure(7, RESTARTED)] == session.heard
    session.says(piece(here, LOG[9:], last=True))
    session.starts()
    assert ["begin", OWN_INITIALIZE, INITIALIZED, LOG] == session.got

    session = Session()
    session.says(piece(here, CALL[:9]))
    session.changes()
    session.waits(GRACE)
    session.says(piece(here, CALL[9:], last=True))
    session.starts()
    assert [CALL[:9], "begin", OWN_INITIALIZE, INITIALIZED, CALL] == session.got
    session.hears(piece(s2c(b""), response(7)[:9]), piece(s2c(b""), response(7)[9:], last=True))
    assert [NOTE, response(7)[:9], response(7)[9:] + b"\n"] == session.heard


def listen(id_: Any) -> bytes:
    wanted = {"notifications": {"toolsListChanged": True}}
    return request(id_, "subscriptions/listen", {"_meta": MODERN, **wanted})


def about(id_: Any, method: str) -> bytes:
    return notification(method, {"_meta": {"io.modelcontextprotocol/subscriptionId": id_}})


def test_without_sessions() -> None:
    """2026-07-28: the open subscription is made again, and lists are announced to it alone."""
    asked = {"_meta": {**MODERN, "progressToken": 1}}
    session = Session(DISCOVER, response(0, {"supportedVersions": ["2026-07-28"]}))
    acknowledged = about("s", "notifications/subscriptions/acknowledged")
    session.says(listen("s"), listen("gone"), cancelled("gone"), request(2, "tools/list", asked))
    session.hears(acknowledged, response(2, {"tools": [1]}))
    assert [acknowledged, response(2, {"tools": [1]})] == session.heard
    session.got  # noqa: B018 (read)
    session.changes()
    session.starts(welcome=response("mcpmock-handshake", {"supportedVersions": ["2026-07-28"]}))
    probe = request("mcpmock-tools/list-0", "tools/list", {"_meta": MODERN})
    got = session.got
    assert ["begin", OWN_DISCOVER, listen("s")] == got[:3]
    assert [json.loads(probe)] == [json.loads(raw) for raw in got[3:]]
    session.hears(acknowledged, response("mcpmock-tools/list-0", {"tools": [2]}))
    assert [NOTE, about("s", TOOLS)] == session.heard
    session.hears(response("s"))
    session.changes()
    assert [response("s")] == session.heard
    session.starts(welcome=response("mcpmock-handshake", {"supportedVersions": ["2026-07-28"]}))
    session.hears(response("mcpmock-tools/list-0", {"tools": [2]}))
    assert [NOTE] == session.heard


def test_an_id_that_is_used_again() -> None:
    """It is the last call's: that one is waited for, and a subscription is acknowledged anew."""
    acknowledged = about("s", "notifications/subscriptions/acknowledged")
    session = Session(DISCOVER, response(0, {"supportedVersions": ["2026-07-28"]}))
    session.says(listen("s"))
    session.hears(acknowledged)
    session.says(call := request("s", "tools/call", {"_meta": MODERN}))
    session.changes()
    assert [listen("s"), call] == session.got
    session.hears(response("s"))
    assert ["begin"] == session.got
    session.starts(welcome=response("mcpmock-handshake", {"supportedVersions": ["2026-07-28"]}))
    session.says(listen("s"))
    session.hears(acknowledged)
    assert [acknowledged, response("s"), NOTE, acknowledged] == session.heard
    session.hears(request("s", "ping", {"_meta": {"progressToken": 1}}))
    session.says(progress(1, 1))  # of the server's
    session.changes()
    session.starts(welcome=response("mcpmock-handshake", {"supportedVersions": ["2026-07-28"]}))
    assert listen("s") == session.got[-1]


def test_a_list_that_is_asked_for_meanwhile() -> None:
    """The client has the new one: nothing is announced."""
    session = Session()
    pages = [{"tools": [1], "nextCursor": "c"}, {"tools": [2]}]
    for id_, page in enumerate(pages, 1):
        session.says(request(id_, "tools/list", {"cursor": "c"} if id_ == 2 else None))
        session.hears(response(id_, page))
    session.changes()
    session.starts()
    session.hears(response("mcpmock-tools/list-0", pages[0]))
    session.says(request(3, "tools/list"))
    session.hears(response(3, pages[0]), response("mcpmock-tools/list-1", {"tools": [3]}))
    assert [NOTE, response(3, pages[0])] == session.heard[2:]
    session.changes()
    session.starts()
    session.says(INITIALIZE)
    session.hears(response("mcpmock-tools/list-0", {"tools": [4]}))
    assert [NOTE] == session.heard
