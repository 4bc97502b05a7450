"""What no recorded client asked for, and another client of the same server may."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.miss import Miss
from mcpmock.playback.player import (
    PlayerNote,
    PlayerOptions,
    SessionSelection,
    UnaskedAnswer,
)
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.stateless_player import StatelessPlayer
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    Line,
    Script,
    accepts,
    answers,
    c,
    call,
    cassette,
    error,
    get,
    in_session,
    opens,
    over_http,
    player_of,
    post,
    request,
    response,
    s,
    says,
)

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
ALL = {"tools": {}, "prompts": {}, "resources": {"listChanged": True}, "logging": {}}
PROMPTS: dict[str, Any] = {"prompts": []}


def welcome(**capabilities: Any) -> bytes:
    return response(0, {"protocolVersion": "2025-11-25", "capabilities": capabilities})


def player(*events: Line, told: list[Miss | PlayerNote], **playing: Any) -> Script:
    selection = SessionSelection(cassette(*events), PlayerOptions(**playing))
    return Script([SessionPlayer(selection, told.append)])


def opened(*events: Line, told: list[Miss | PlayerNote] | None = None, **playing: Any) -> Script:
    told = [] if told is None else told
    played = player(c(INITIALIZE), s(welcome(**ALL)), *events, told=told, **playing)
    return played.at(0, client=INITIALIZE, to_client=welcome(**ALL))


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("prompts/list", None, {"prompts": []}),
        ("prompts/list", {}, {"prompts": []}),
        ("prompts/list", {"_meta": {"mine": 1}}, {"prompts": []}),
        ("resources/list", None, {"resources": []}),
        ("resources/templates/list", None, {"resourceTemplates": []}),
        ("logging/setLevel", {"level": "info"}, {}),
    ],
)
def test_what_a_client_may_ask_because_it_is_declared(
    method: str, params: Any, result: dict[str, Any]
) -> None:
    """It is answered as often as it is asked, and reported once."""
    told: list[Miss | PlayerNote] = []
    played = opened(told=told)
    for n in (1, 2):
        played.at(n, client=request(n, method, params), to_client=response(n, result))

    what = "an empty list" if method.endswith("/list") else "an empty result"
    text = f"no recorded client asked this; answered with {what}"
    assert [UnaskedAnswer(method, text)] == told
    assert 0 == player_of(played).missed


@pytest.mark.parametrize(
    ("events", "live", "playing"),
    [
        # Not declared, or not known to be.
        ((c(INITIALIZE), s(welcome(tools={}))), request(1, "prompts/list"), {}),
        ((c(INITIALIZE), s(welcome(prompts=None))), request(1, "prompts/list"), {}),
        ((c(INITIALIZE), s(error(0))), request(1, "prompts/list"), {}),
        ((), request(1, "prompts/list"), {}),
        ((c(INITIALIZE), s(welcome(resources={}))), request(1, "prompts/list"), {}),
        # Asked in this take or in another one.
        (
            (
                c(INITIALIZE),
                s(welcome(**ALL)),
                c(request(9, "prompts/list", {"a": 1})),
                s(error(9)),
            ),
            request(1, "prompts/list"),
            {},
        ),
        (
            (
                *(c(INITIALIZE), s(welcome(**ALL)), ("take", None)),
                *(c(INITIALIZE), s(welcome(**ALL)), c(request(9, "prompts/list", {"a": 1}))),
            ),
            request(1, "prompts/list"),
            {},
        ),
        # A page, and what is more than a list.
        ((c(INITIALIZE), s(welcome(**ALL))), request(1, "prompts/list", {"cursor": "x"}), {}),
        ((c(INITIALIZE), s(welcome(**ALL))), request(1, "tools/list"), {}),
        ((c(INITIALIZE), s(welcome(**ALL))), request(1, "prompts/get", {"name": "x"}), {}),
        ((c(INITIALIZE), s(welcome(**ALL))), request(1, "resources/read", {"uri": "x"}), {}),
        (
            (c(INITIALIZE), s(welcome(resources={"subscribe": True}))),
            request(1, "resources/subscribe", {"uri": "x"}),
            {},
        ),
        (
            (c(INITIALIZE), s(welcome(completions={}))),
            request(1, "completion/complete", {"ref": {}}),
            {},
        ),
        (
            (c(INITIALIZE), s(welcome(tasks={"list": {}}))),
            request(1, "tasks/list"),
            {},
        ),
        # To the letter.
        ((c(INITIALIZE), s(welcome(**ALL))), request(1, "prompts/list"), {"exact": True}),
        ((c(INITIALIZE), s(welcome(**ALL))), request(1, "prompts/list"), {"order": "strict"}),
    ],
)
def test_everything_else_is_a_miss(
    events: tuple[Line, ...], live: bytes, playing: dict[str, Any]
) -> None:
    told: list[Miss | PlayerNote] = []
    played = player(*events, told=told, **playing)
    played.heard(INITIALIZE)
    told.clear()
    played.heard(live)

    assert [Miss] == [type(one) for one in told]


def test_a_real_server_is_asked() -> None:
    told: list[Miss | PlayerNote] = []
    played = opened(told=told, on_miss="live")
    played.at(1, client=request(1, "prompts/list"))

    assert [PlayerNote] == [type(one) for one in told]
    assert 1 == len(player_of(played).unanswered)


def test_any_take_declares_it() -> None:
    """Stubs in any order too."""
    other = (("take", None), c(INITIALIZE), s(welcome(prompts={})), c(call(5, "b")), s(response(5)))
    for order in ("causal", "any"):
        played = player(c(INITIALIZE), s(welcome()), *other, told=[], order=order)
        played.at(1, client=request(1, "prompts/list"), to_client=response(1, PROMPTS))


@pytest.mark.parametrize("info", [{}, {"_meta": SERVER}])
def test_since_2026_07_28_a_list_says_how_long_it_holds(info: dict[str, Any]) -> None:
    """It is not to be cached, and names the recorded server."""
    found = {"supportedVersions": ["2026-07-28"], "capabilities": ALL, **CACHED, **info}
    events = (c(request(0, "server/discover", {"_meta": MODERN})), s(response(0, found)))
    live = request(1, "prompts/list", {"_meta": MODERN})
    played = player(*events, told=[])
    played.at(
        0,
        client=live,
        to_client=response(1, {"resultType": "complete", **PROMPTS, **CACHED, **info}),
    )

    level = request(2, "logging/setLevel", {"_meta": MODERN, "level": "info"})
    played.heard(level)
    assert 1 == player_of(played).missed  # that revision has no such method


def test_an_older_client_of_a_server_of_both_eras() -> None:
    """It is told nothing that only newer ones know."""
    played = player(c(INITIALIZE), s(response(0, {"capabilities": ALL, "_meta": SERVER})), told=[])
    played.heard(INITIALIZE)

    assert [response(1, PROMPTS)] == played.heard(request(1, "prompts/list"))


def test_over_http() -> None:
    """In a session, and without one; over HTTP+SSE on the event stream, where every answer is."""
    told: list[Miss | PlayerNote] = []

    def served(session: int, *steps: Any) -> Script:
        selection = SessionSelection(over_http(in_session(session, *steps)), PlayerOptions())
        return Script(
            [(StatelessPlayer if session == 1 else SessionPlayer)(selection, told.append)]
        )

    asked, answer = request(7, "prompts/list"), response(7, PROMPTS).decode()
    answered = ["6 200 application/json", f"6 {answer}", "6 eof"]
    played = served(2, post(1, INITIALIZE), answers(1, welcome(**ALL), mcp_session_id="s"))
    played.hears(0, post(5, INITIALIZE))
    assert answered == played.hears(1, post(6, asked, session="mcpmock-session"))
    played = served(1, post(1, INITIALIZE), answers(1, welcome(**ALL)))
    assert answered == played.hears(1, post(6, asked))

    to = {"to": "/message?sessionId=s"}
    played = served(
        2,
        get(1, to="/sse"),
        opens(1),
        says(1, b"/message?sessionId=s", event="endpoint"),
        post(2, INITIALIZE, **to),
        says(1, welcome(**ALL), event="message"),
        accepts(2),
    )
    played.hears(0, get(5, to="/sse"), post(6, INITIALIZE, **to), post(7, INITIALIZED, **to))
    for x, raw, said in (
        (8, asked, answer),
        (9, request(8, "ping"), response(8).decode()),
        (10, request("p", "server/discover"), '"code":-32601'),
        (11, call(9, "x"), '"code":-31999'),
    ):
        accepted, ended, event, message = played.hears(x, post(x, raw, **to))
        assert [f"{x} 202", f"{x} eof", "5 sse event=message"] == [accepted, ended, event]
        assert message.startswith("5 ")
        assert said in message
    kinds = [type(one) for one in told if type(one) is not PlayerNote]
    assert [UnaskedAnswer, UnaskedAnswer, UnaskedAnswer, Miss] == kinds
