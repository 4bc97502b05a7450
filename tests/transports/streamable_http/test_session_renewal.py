"""A bridge whose server has forgotten the session: another one takes its place, once for all calls
that are refused, and the client hears of nothing.
"""

from __future__ import annotations

import json as json_
from itertools import count
from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Frame, HttpBody, HttpRequest
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    c2s,
    cancelled,
    error,
    hangs_up,
    notification,
    request,
    response,
)
from tests.transports.wire import Told, Wire, answers, event, fact, json, over, stream, told

POST, GET, DELETE = "POST /mcp", "GET /mcp", "DELETE /mcp"
CALL = request(7, "tools/call", {"name": "a"})
NOTE = (None, "Stderr")


class Bridge:
    """A bridge, the sessions that its requests named, and the server as the test plays it."""

    def __init__(self, *, renews: bool = True, opened: bool = True) -> None:
        self.wire = Wire(StreamableHttpClient("/mcp", [], count(1), renews=renews))
        self.sessions: dict[int, str | None] = {}
        if opened:
            assert [(1, POST), (1, INITIALIZE)] == self.says(INITIALIZE)
            self.welcomes(1, "s1")
            self.says(INITIALIZED)
            assert [(3, GET)] == self.hears(*answers(2, 202, "Accepted"))
            self.hears(*stream(3))

    def says(self, *raws: bytes) -> list[Told]:
        return self._through([c2s(raw) for raw in raws])

    def hears(self, *frames: Frame, now: float = 0.0) -> list[Told]:
        return self._through(frames, now)

    def _through(self, frames: Any, now: float = 0.0) -> list[Told]:
        given = [one for batch in self.wire.pipeline.enter(frames, now) for one in batch]
        for frame in given:
            if isinstance(frame.fact, HttpRequest):
                self.sessions[frame.exchange or 0] = frame.fact.header("mcp-session-id")
        return [told(frame) for frame in given]

    def welcomes(self, x: int, name: str | None, raw: bytes = WELCOME) -> list[Told]:
        fields = [("Mcp-Session-Id", name)] if name else []
        return self.hears(*stream(x, *fields), *event(x, raw), *over(x))

    def renews(self, x: int, name: str | None = "s2") -> list[Told]:
        """The server answers `initialize` at x and `initialized` behind it."""
        assert [(x + 1, POST), (x + 1, INITIALIZED)] == self.welcomes(x, name)
        return self.hears(*answers(x + 1, 202, "Accepted"))


def gone(x: int) -> list[Frame]:
    return json(x, error(None, -32001, "Session not found"), 404, "Not Found")


def why(heard: list[Told]) -> list[tuple[Any, str]]:
    values = [json_.loads(raw) for _, raw in heard if isinstance(raw, bytes)]
    return [(one["id"], one["error"]["message"]) for one in values]


def unknown(x: int, text: str, kind: str = "application/json") -> list[Frame]:
    body = text.encode()
    piece = Frame(S2C, body, exchange=x) if "json" in kind else fact(S2C, x, HttpBody())
    piece.raw = body
    return answers(x, 400, "Bad Request", piece, kind=kind)


@pytest.mark.parametrize(
    "refusal",
    [
        gone(4),
        answers(4, 404, "Not Found"),
        unknown(4, "No valid session ID provided", "text/plain"),
        unknown(4, error(None, -32000, "Bad Request: No valid session ID provided").decode()),
        unknown(4, error(None, -32000, "Bad Request: Server not initialized").decode()),
        unknown(4, error("server-error", -32600, "Invalid or expired SESSION").decode()),
    ],
)
def test_another_session(refusal: list[Frame]) -> None:
    """`initialize` and `initialized` as they were kept, the stream, and the refused call once more;
    the recording has a note.
    """
    bridge = Bridge()
    assert [(4, POST), (4, CALL)] == bridge.says(CALL)

    heard = bridge.hears(*refusal)
    assert [(5, POST), (5, INITIALIZE)] == [one for one in heard if one[0] == 5]
    assert (3, "end closed") in heard  # the stream of the old session
    assert [NOTE, (7, GET), (8, POST), (8, CALL)] == bridge.renews(5)
    assert [(None, response(7))] == bridge.hears(*json(8, response(7)))
    assert {4: "s1", 5: None, 6: "s2", 7: "s2", 8: "s2"} == {
        x: name for x, name in bridge.sessions.items() if x >= 4
    }


@pytest.mark.parametrize(
    "refusal",
    [
        answers(4, 401, "Unauthorized"),
        answers(4, 403, "Forbidden"),
        answers(4, 405, "Method Not Allowed"),
        answers(4, 410, "Gone"),
        answers(4, 500, "Oops"),
        answers(4, 502, "Bad Gateway"),
        unknown(4, "Unsupported protocol version", "text/plain"),
        unknown(4, error(7, -32602, "no such session in the arguments").decode()),
        json(4, error(7, -32601, "Session not found")),
    ],
)
def test_other_refusals(refusal: list[Frame]) -> None:
    """They are the client's, byte for byte as ever."""
    bridge, plain = Bridge(), Bridge(renews=False)
    for one in (bridge, plain):
        one.says(CALL)
    heard = bridge.hears(*refusal)
    assert heard == plain.hears(*refusal)
    assert 7 == json_.loads(heard[0][1])["id"]


def test_a_bridge_that_does_not_renew() -> None:
    """A server that is verified is answerable for its sessions."""
    bridge = Bridge(renews=False)
    bridge.says(CALL)
    assert [(7, "Session not found")] == why(bridge.hears(*gone(4)))


def test_calls_at_once() -> None:
    """All of them share one new session, also those whose refusal comes later."""
    bridge = Bridge()
    calls = [request(n, "tools/call") for n in (7, 8, 9)]
    bridge.says(*calls)
    assert (7, INITIALIZE) in bridge.hears(*gone(4))
    assert [] == bridge.hears(*gone(5))
    assert [] == bridge.says(request(10, "ping"))  # it waits
    heard = bridge.renews(7)
    assert [NOTE, (9, GET), (10, POST), (10, calls[0]), (11, POST), (11, calls[1])] == heard[:6]
    assert [(12, POST), (12, request(10, "ping"))] == heard[6:]
    assert [(13, POST), (13, calls[2])] == bridge.hears(*gone(6))
    assert ["s2"] * 5 == [bridge.sessions[x] for x in range(9, 14)]


def test_refused_again() -> None:
    """A call is sent again once; the next call tries another session."""
    bridge = Bridge()
    bridge.says(CALL)
    bridge.hears(*gone(4))
    bridge.renews(5)
    assert [(7, "Session not found")] == why(bridge.hears(*gone(8)))
    assert [(9, POST), (9, request(8, "ping"))] == bridge.says(request(8, "ping"))
    assert (10, INITIALIZE) in bridge.hears(*gone(9))


@pytest.mark.parametrize(
    "refusal",
    [
        answers(5, 502, "Bad Gateway"),
        answers(5, 404, "Not Found"),
        json(5, error(0, -32000, "too many sessions")),
        over(5, "reset"),
    ],
)
def test_no_other_session(refusal: list[Frame]) -> None:
    """The call gets its refusal, and the next one tries again."""
    bridge = Bridge()
    bridge.says(CALL)
    bridge.hears(*gone(4))
    assert [(7, "Session not found")] == why(bridge.hears(*refusal))
    bridge.says(CALL)
    assert "s1" == bridge.sessions[6]
    assert (7, INITIALIZE) in bridge.hears(*gone(6))


def test_the_stream_of_an_idle_client() -> None:
    """A stream that was open and cannot be opened again leads to another session; once, until the
    client says something.
    """
    bridge = Bridge()
    for x, name in ((4, "s2"), (8, "s3")):
        bridge.hears(*over(x - 1, "reset"))
        assert [(x, GET)] == bridge.wire.at(100.0 * x)
        heard = bridge.hears(*gone(x), now=100.0 * x)
        if name == "s3":
            assert [] == heard
            break
        assert (x + 1, INITIALIZE) in heard
        assert [NOTE, (x + 3, GET)] == bridge.renews(x + 1, name)
        bridge.hears(*stream(x + 3))


def test_a_server_without_streams() -> None:
    """404 to the first GET says nothing of the session."""
    bridge = Bridge(opened=False)
    bridge.says(INITIALIZE)
    bridge.welcomes(1, "s1")
    bridge.says(INITIALIZED)
    bridge.hears(*answers(2, 202, "Accepted"))
    assert [] == bridge.hears(*gone(3))


def test_a_call_on_its_way() -> None:
    """Whether it was done nobody knows: it is not sent again."""
    bridge = Bridge()
    bridge.says(CALL, request(8, "ping"))
    lost = "mcpmock: the connection was reset before a response came"
    assert [(7, lost)] == why(bridge.hears(*over(4, "reset")))
    bridge.hears(*gone(5))
    assert [NOTE, (8, GET), (9, POST), (9, request(8, "ping"))] == bridge.renews(6)


def test_a_call_that_is_resumed() -> None:
    """Its stream is lost with the session."""
    bridge = Bridge()
    bridge.says(CALL)
    bridge.hears(*stream(4), *event(4, b"", "e1", retry=100), *over(4))
    assert [(5, GET)] == bridge.wire.at(0.1)
    heard = bridge.hears(*gone(5), now=0.1)
    assert [(7, "Session not found")] == why(heard[:1])
    assert (6, INITIALIZE) in heard


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (cancelled(3), False),
        (notification("notifications/progress", {"progressToken": 1, "progress": 2}), False),
        (response(1), False),
        (notification("notifications/roots/list_changed"), True),
        (request("x", "ping"), True),
    ],
)
def test_what_is_sent_again(said: bytes, again: bool) -> None:
    """Not what belongs to a request of the old session."""
    bridge = Bridge()
    bridge.says(said)
    assert (5, INITIALIZE) in bridge.hears(*gone(4))
    heard = bridge.renews(5)
    assert again == ((8, said) in heard)


def test_cancelled_meanwhile() -> None:
    """The cancel follows its call."""
    bridge = Bridge()
    bridge.says(CALL)
    bridge.hears(*gone(4))
    assert [] == bridge.says(cancelled(7))
    heard = bridge.renews(5)
    assert [NOTE, (7, GET), (8, POST), (8, CALL), (9, POST), (9, cancelled(7))] == heard


def test_settings() -> None:
    """The level of logging and the subscriptions are those of the client still; it hears of the
    answers once.
    """
    bridge = Bridge()
    level = [request(n, "logging/setLevel", {"level": level}) for n, level in ((1, "a"), (2, "b"))]
    made = [request(n, "resources/subscribe", {"uri": uri}) for n, uri in ((3, "u"), (4, "v"))]
    left = request(5, "resources/unsubscribe", {"uri": "u"})
    for x, raw in enumerate((*level, *made, left), 4):
        bridge.says(raw)
        bridge.hears(*json(x, response(json_.loads(raw)["id"])))
    bridge.says(CALL)
    bridge.hears(*gone(9))
    heard = bridge.renews(10)
    assert [NOTE, (12, GET), (13, POST), (13, level[1]), (14, POST), (14, made[1])] == heard[:6]
    assert [] == bridge.hears(*json(13, response(2)))
    assert [(None, LOG)] == bridge.hears(*stream(14), *event(14, LOG), *event(14, response(4)))


def tools(id_: Any, *names: str, cursor: str | None = None) -> bytes:
    more = {} if cursor is None else {"nextCursor": cursor}
    return response(id_, {"tools": [{"name": name} for name in names], **more})


@pytest.mark.parametrize(
    ("pages", "heard"),
    [
        ([(("a", "b"), "x"), (("c",), None)], False),
        ([(("a", "z"), "x")], True),
        ([(("a", "b"), "x"), (("d",), None)], True),
        ([(("a", "b"), None)], True),
        ([(("a", "b"), "x"), (("c",), "y")], False),
    ],
)
def test_lists(pages: list[tuple[tuple[str, ...], str | None]], heard: bool) -> None:
    """The lists that the client knows are asked for again, and only a difference is heard."""
    bridge = Bridge()
    bridge.says(request(1, "tools/list"))
    bridge.hears(*json(4, tools(1, "a", "b", cursor="one")))
    bridge.says(request(2, "tools/list", {"cursor": "one"}))
    bridge.hears(*json(5, tools(2, "c")))
    bridge.says(CALL)
    bridge.hears(*gone(6))
    asked = [raw for _, raw in bridge.renews(7) if isinstance(raw, bytes)]
    assert CALL == asked[0]
    changed = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    given: list[Told] = []
    probe = json_.loads(asked[1])
    for x, (names, cursor) in enumerate(pages, 11):
        assert "tools/list" == probe["method"]
        given = bridge.hears(*json(x, tools(probe["id"], *names, cursor=cursor)))
        if len(given) == 2:
            probe = json_.loads(given[1][1])
            assert {"cursor": cursor} == probe["params"]
    assert ([(None, changed)] if heard else []) == given


def test_a_list_that_cannot_be_asked_for() -> None:
    """A server that is gone again has no other list."""
    for lost in (over(10, "reset"), gone(10), answers(10, 502, "Bad Gateway")):
        bridge = Bridge()
        bridge.says(request(1, "tools/list"))
        bridge.hears(*json(4, tools(1, "a")))
        bridge.says(CALL)
        bridge.hears(*gone(5))
        [*_, (x, _probe)] = bridge.renews(6)
        assert 10 == x
        assert [] == bridge.hears(*lost)


def test_the_end_while_it_is_renewed() -> None:
    """The end of the input does not wait for it for ever."""
    bridge = Bridge()
    bridge.says(CALL)
    bridge.hears(*gone(4))
    bridge.hears(hangs_up(C2S))
    heard = [one for at in (1.0, 3.0) for one in bridge.wire.at(at)]
    assert (None, "StreamEnd") in heard
