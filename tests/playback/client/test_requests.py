"""A client without a recording: what it asks, in which order, and what it does about silence."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.client.requests import MAX_PAGES, ClientRequest, RequestClient
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, Response, StreamEnd, decode
from tests.support import LOG, error, exits, hangs_up, logs, request, response, s2c

WEATHER = ClientRequest("tools/call", {"name": "weather", "arguments": {"city": "Oslo"}})
PING = ClientRequest("ping")
END = "end"


class Session:
    """The client, and a server that is the test."""

    def __init__(self, *requests: ClientRequest, **how: Any) -> None:
        self.answers: list[tuple[str, str]] = []
        self.client = RequestClient(requests, on_answer=self._note, **how)
        self.pipeline = Pipeline([self.client])
        self._out = [*self.pipeline.begin(0.0)]
        self.passed: list[Frame] = []
        """What comes through from the server."""

    def _note(self, asked: ClientRequest, answer: Response | None, why: str) -> None:
        kind = why if answer is None else "result" if answer.error is None else "error"
        self.answers.append((asked.method, kind))

    def says(self, now: float, *answers: bytes | Frame) -> list[Any]:
        """What the client sends by then, with these answers at that time."""
        while (due := self.pipeline.next_due) is not None and due <= now:
            self._out += self.pipeline.advance(due)
        frames = [s2c(one) if isinstance(one, bytes) else one for one in answers]
        if frames:
            self._out += self.pipeline.enter(frames, now)
        out, self._out = self._out, []
        self.passed += (frame for sent in out for frame in sent if frame.direction is S2C)
        return [_shown(frame) for sent in out for frame in sent if frame.direction is C2S]

    def opened(self, **capabilities: Any) -> list[Any]:
        """What it sends behind the handshake and `notifications/initialized`."""
        assert ["initialize"] == [one["method"] for one in self.says(0)]
        first, *rest = self.says(0, response(1, {"capabilities": capabilities}))
        assert "notifications/initialized" == first["method"]
        return rest


def _shown(frame: Frame) -> Any:
    return END if isinstance(frame.fact, StreamEnd) else decode(frame.raw)


def test_one_after_the_other() -> None:
    """Each waits for the answer before it, and has a progress token; then the input ends."""
    session = Session(WEATHER, PING)

    [call] = session.opened()
    assert {**WEATHER.params, "_meta": {"progressToken": 2}} == call["params"]
    assert [] == session.says(5)
    assert ["ping"] == [one["method"] for one in session.says(6, response(2))]
    assert [END] == session.says(7, error(3))
    assert [] == session.says(8)
    assert [("tools/call", "result"), ("ping", "error")] == session.answers
    assert (1, "") == (session.client.failed, session.client.unanswered)


def test_a_handshake_that_the_user_asks_for() -> None:
    """It is a request like others: its answer is told."""
    again = ClientRequest("initialize", {"protocolVersion": "2025-11-25"})
    session = Session(again, ClientRequest("server/discover"))
    session.opened()
    session.says(1, response(2))
    session.says(2, error(3))

    assert [("initialize", "result"), ("server/discover", "error")] == session.answers


def test_a_cancel_is_sent_once() -> None:
    """Nor does a time that was over long ago end anything that was answered."""
    session = Session(PING, PING, timeout=2)
    session.opened()

    assert ["ping"] == [one["method"] for one in session.says(1, response(2))]
    assert [] == session.says(2)
    assert ["notifications/cancelled", END] == [
        one if one == END else one["method"] for one in session.says(9)
    ]


def test_the_same_answer_twice() -> None:
    """The second is nobody's."""
    session = Session(PING, PING)
    session.opened()

    assert ["ping"] == [one["method"] for one in session.says(1, response(2), response(2))]
    assert [END] == session.says(2, response(3), response(3))
    assert [("ping", "result")] * 2 == session.answers


def test_what_a_user_writes_into_meta() -> None:
    """It is sent, a progress token too."""
    mine = {"x": 1, "progressToken": "mine"}
    for modern in (False, True):
        session = Session(ClientRequest("ping", {"_meta": mine}), modern=modern)
        session.says(0)
        asked = session.says(0, response(1))[-1]

        assert mine == {name: asked["params"]["_meta"][name] for name in mine}


def test_a_list_that_is_not_answered() -> None:
    """The other lists are asked for all the same, and the requests made."""
    session = Session(PING, lists=True, timeout=2)
    [asked] = session.opened(prompts={}, tools={})
    methods = [asked["method"]]
    for now in (2, 4):
        _cancel, asked = session.says(now)
        methods.append(asked["method"])

    assert ["tools/list", "prompts/list", "ping"] == methods


def test_standard_error() -> None:
    """It passes, and is no message whatever it says; nothing else passes."""
    session = Session(PING)
    session.opened()
    line = logs(response(2).decode())

    assert [] == session.says(1, line)
    assert [END] == session.says(2, response(2))
    assert [line] == session.passed


def test_an_answer_to_nothing() -> None:
    """Nothing was asked yet."""
    session = Session(PING)
    session.pipeline.enter([s2c(response(0))], 0)

    assert ["ping"] == [one["method"] for one in session.opened()]


def test_a_server_that_never_stops_talking() -> None:
    """Nothing piles up, and the time of an answer does not become longer."""
    session = Session(PING, timeout=2)
    session.opened()
    for _ in range(100):
        session.says(1, LOG)

    assert len(session.pipeline._due) < 5
    assert ["notifications/cancelled", END] == [
        one if one == END else one["method"] for one in session.says(2)
    ]


def test_told_to_stop() -> None:
    """The end of the client's side passes, and nothing is sent behind it."""
    session = Session(PING, PING)
    session.opened()

    assert [END] == session.says(1, hangs_up(C2S))
    assert [] == session.answers
    assert [] == session.says(2, request("a", "ping"), response(2))
    assert [] == session.says(3, hangs_up(S2C))


def test_lists_of_what_is_offered() -> None:
    """All pages, by the cursors that the server gives."""
    session = Session(PING, lists=True)

    [tools] = session.opened(tools={}, logging={})
    assert ("tools/list", None) == (tools["method"], tools.get("params"))
    [again] = session.says(1, response(2, {"tools": [], "nextCursor": ""}))
    assert {"cursor": ""} == again["params"]
    last = response(3, {"tools": [], "nextCursor": None})
    assert ["ping"] == [one["method"] for one in session.says(1, last)]


@pytest.mark.parametrize(
    ("lists", "capabilities"),
    [
        (False, {"tools": {}}),
        (True, {}),
        (True, None),
        (True, 5),
        (True, ["tools"]),
        (True, "x"),
        (True, ...),
    ],
)
def test_no_lists(lists: bool, capabilities: Any) -> None:
    """Where they are not wanted, not offered, or what is offered cannot be read; the input ends
    once.
    """
    session = Session(PING, lists=lists)
    session.says(0)
    welcome = {} if capabilities is ... else {"capabilities": capabilities}
    [_, asked] = session.says(0, response(1, welcome))

    assert "ping" == asked["method"]
    assert [[END], [], []] == [session.says(now, response(2)) for now in (1, 2, 3)]


def test_a_list_without_end() -> None:
    """A server that always gives a cursor is asked for so many pages."""
    session = Session(lists=True)
    [asked] = session.opened(prompts={})
    pages = 0
    while asked != END:
        pages += 1
        [asked] = session.says(1, response(asked["id"], {"prompts": [], "nextCursor": "x"}))

    assert MAX_PAGES == pages


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "x"}, "x"),
        ("tools/call", {"name": 1}, None),
        ("tools/call", {}, None),
        ("prompts/get", {"name": "x"}, None),
    ],
)
def test_the_name_of_a_tool(method: str, params: dict[str, Any], name: str | None) -> None:
    """Only calls of tools have one."""
    assert name == ClientRequest(method, params).name


def test_silence() -> None:
    """A request that is not answered in time is cancelled, and the next one is made."""
    session = Session(WEATHER, PING, timeout=2)
    session.opened()

    cancel, ping = session.says(2)
    assert ("notifications/cancelled", 2) == (cancel["method"], cancel["params"]["requestId"])
    assert "ping" == ping["method"]
    assert [] == session.says(3, response(2))
    assert [END] == session.says(3, response(3))
    assert [("tools/call", "no answer in time"), ("ping", "result")] == session.answers


@pytest.mark.parametrize(
    "end",
    [[hangs_up(S2C)], [exits(3)], [hangs_up(S2C), exits(3)]],
    ids=["output", "process", "both"],
)
def test_a_server_that_ends(end: list[Frame]) -> None:
    """The request that waits has no answer, and nothing more is asked. The end of the process is
    that of the session.
    """
    session = Session(WEATHER, PING)
    session.opened()

    assert [END] == session.says(1, *end)
    assert (session.pipeline.hung_up is not None) == (end[-1:] == [exits(3)])
    assert [
        ("tools/call", "no answer: the server ended"), ("ping", "not sent: the server ended"),
    ] == session.answers  # fmt: skip
    assert 2 == session.client.failed


@pytest.mark.parametrize(
    ("events", "why"),
    [((), "no answer in time"), ((exits(3),), "no answer: the server ended")],
    ids=["silent", "ended"],
)
def test_an_unanswered_handshake(events: tuple[Frame, ...], why: str) -> None:
    """The session failed, and says why."""
    session = Session(timeout=2, lists=True)
    session.says(0)

    assert END == session.says(1 if events else 2, *events)[-1]
    assert (1, f"`initialize`: {why}") == (session.client.failed, session.client.unanswered)


def test_requests_of_the_server() -> None:
    """A ping is answered, all else refused."""
    session = Session(PING)
    session.opened()

    pong, refusal = session.says(1, request("a", "ping"), request("b", "roots/list"))
    assert {"jsonrpc": "2.0", "id": "a", "result": {}} == pong
    assert ("b", -32601) == (refusal["id"], refusal["error"]["code"])


def test_a_message_in_pieces() -> None:
    """It is read once the last one is there; one that is too long is no answer."""
    session = Session(PING, PING, timeout=9)
    session.opened()
    session.client._reassembly.max_bytes = 100

    def pieces(*raws: bytes) -> list[Frame]:
        return [Frame(S2C, raw, b"", Fragment(last=raw is raws[-1])) for raw in raws]

    raw = response(2)
    first, last = pieces(raw[:20], raw[20:])
    assert [] == session.says(1, first)
    assert ["ping"] == [one["method"] for one in session.says(2, last)]
    assert [] == session.says(3, *pieces(response(3), b" " * 100))
    assert [("ping", "result")] == session.answers


def test_a_refused_handshake() -> None:
    """The session ends, and says why: the server may be of the other era."""
    session = Session(PING)
    session.says(0)

    assert [END] == session.says(1, error(1, -32601))
    assert session.client.refused
    assert [] == session.answers


def test_the_modern_era() -> None:
    """Each request carries its revision; a handshake is `server/discover`."""
    session = Session(PING, modern=True, client_info={"name": "x"})
    [discover] = session.says(0)
    [ping] = session.says(1, response(1, {"capabilities": {}}))

    assert ["server/discover", "ping"] == [discover["method"], ping["method"]]
    for one in (discover, ping):
        meta = one["params"]["_meta"]
        assert "2026-07-28" == meta["io.modelcontextprotocol/protocolVersion"]
        assert {"name": "x"} == meta["io.modelcontextprotocol/clientInfo"]
