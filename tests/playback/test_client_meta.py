"""What clients put into `_meta` in words of their own: it does not count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import TOOL_ALONE, MatchRules
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from tests.support import (
    Line,
    answers,
    batch,
    c,
    cassette,
    in_session,
    notification,
    over_http,
    post,
    replay_http,
    request,
    response,
    s,
    script,
)

OURS = "io.modelcontextprotocol/"


def ask(meta: Any, method: str = "tools/call", **arguments: Any) -> bytes:
    """A call whose `_meta` is this; None for none."""
    named = {"name": "f", "arguments": arguments} if method == "tools/call" else arguments
    return request(7, method, named if meta is None else {**named, "_meta": meta})


def recorded(*raws: bytes) -> Cassette:
    """These requests, answered with their place."""
    lines: list[Line] = []
    for n, raw in enumerate(raws):
        lines += [c(raw), s(response(7, {"said": n}))]
    return cassette(*lines)


class Client:
    """A live client, and what the player reported."""

    def __init__(self, cassette: Cassette, *rules: str, **options: Any) -> None:
        self.told: list[Miss | PlayerNote] = []
        given = PlayerOptions(rules=MatchRules.parse(rules) if rules else None, **options)
        self.player = SessionPlayer(SessionSelection(cassette, given), self.told.append)
        self.script = script(self.player)

    def ask(self, raw: bytes) -> Any:
        """Which recorded request answered; None for a miss."""
        [answer] = self.script.heard(raw)
        return json.loads(answer).get("result", {}).get("said")


@pytest.mark.parametrize(
    ("one", "other", "is_answered"),
    [
        ({"claudecode/toolUseId": "toolu_1"}, {"claudecode/toolUseId": "toolu_2"}, True),
        ({"claudecode/toolUseId": "toolu_1"}, None, True),
        (None, {"x-codex-turn-metadata": {"turn": 1, "sandbox": ["a"]}, "threadId": "t"}, True),
        ({"vscode.conversationId": 1}, {"vscode.requestId": 1}, True),
        ({"progressToken": 1, "own": 1}, {"progressToken": 2, "traceparent": "00-a"}, True),
        ({"example.com/a": 1, OURS + "related-task": {"taskId": "1"}}, {"example.com/a": 2}, False),
        ({OURS + "related-task": {"taskId": "1"}}, {OURS + "related-task": {"taskId": "2"}}, False),
        (
            {OURS + "clientCapabilities": {}, "own": 1},
            {OURS + "clientCapabilities": {"a": 1}},
            True,
        ),
        ({"own": None}, {}, True),
        ({"own": 1}, {"own": 1}, True),
    ],
)
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "prompts/get", "resources/read"])
def test_what_the_protocol_does_not_define_does_not_count(
    one: Any, other: Any, is_answered: bool, method: str
) -> None:
    """In every request, with `--match tool` and with any rule too; `exact` counts it."""
    cassette = recorded(ask(one, method))
    for rules in ((), TOOL_ALONE, ("$.arguments.id",)):
        assert (0 if is_answered else None) == Client(cassette, *rules).ask(ask(other, method))
    assert (0 if one == other else None) == Client(cassette, exact=True).ask(ask(other, method))


def test_what_is_in_the_arguments_counts() -> None:
    """A member of that name elsewhere is no `_meta`."""
    assert None is Client(recorded(ask(None, _meta={"a": 1}))).ask(ask(None, _meta={"a": 2}))


def test_each_member_of_a_batch_has_its_own() -> None:
    """The client's words are left out of each of them."""
    both = [batch(ask({"own": n}, a=1), ask({"own": n}, a=2)) for n in (1, 2)]
    client = Client(cassette(c(both[0]), s(batch(response(7, {"said": 0})))))

    [answer] = client.script.heard(both[1])
    assert 0 == json.loads(answer)[0]["result"]["said"]


def test_notifications_have_it_too() -> None:
    """What waited for one is released by one with another `_meta`."""
    told = [notification("notifications/n", {"_meta": {"own": n}}) for n in (1, 2)]
    client = Client(cassette(c(told[0]), s(notification("notifications/m"))))

    assert [notification("notifications/m")] == client.script.heard(told[1])


@pytest.mark.parametrize("rules", [(), ("$.arguments.id",)])
@pytest.mark.parametrize(
    ("live", "said"),
    [
        ([{"user": 2, "id": "z"}, {"user": 1, "id": "y"}, {"user": 3, "id": "x"}], [1, 0, None]),
        ([{"user": 3, "id": "x"}, {"user": 3, "id": "y"}], [0, 1]),
        ([{"user": 2, "id": "b"}, {"user": 1, "id": "a"}], [1, 0]),
        ([{}, {"user": 1, "id": "a"}], [0, 1]),
    ],
)
def test_what_agrees_is_preferred(
    rules: Sequence[str], live: Sequence[Any], said: Sequence[int | None]
) -> None:
    """All of it first, then most of it, then the first recorded; each once."""
    noise: Any = {"id": 1} if rules else {}
    client = Client(
        recorded(ask({"user": 1, "id": "a"}, **noise), ask({"user": 2, "id": "b"}, **noise)), *rules
    )
    noise = {"id": 2} if rules else {}

    assert [*said] == [client.ask(ask(meta, **noise)) for meta in live]


def test_a_session_whose_client_says_the_same_is_preferred() -> None:
    """Of several recorded sessions."""
    sessions = [[c(ask({"thread": n, "id": n})), s(response(7, {"said": n}))] for n in (1, 2)]
    client = Client(cassette(*sessions[0], ("take", None), *sessions[1]))

    assert 2 == client.ask(ask({"thread": 2, "id": 9}))


def test_strict_order_and_redacted_values_hold() -> None:
    """The next one only; and a placeholder keeps its first live value."""
    hole = "mcpmock:secret:token:1"
    held = recorded(ask({"own": 1}, a=hole), ask({"own": 2}, a=hole))
    client = Client(held)
    assert [0, None, 1] == [client.ask(ask({}, a=a)) for a in ("live", "other", "live")]

    client = Client(recorded(ask({"own": 1}, a=1), ask({"own": 2}, a=2)), order="strict")
    assert [None, 0, 1] == [client.ask(ask({"own": 3}, a=a)) for a in (2, 1, 2)]


@pytest.mark.parametrize("order", ["causal", "any"])
def test_answers_are_repeated_as_ever(order: Any) -> None:
    """A stub begins again; a list may be asked for again, and the answer that agrees comes."""
    pages = [ask({"thread": n}, "tools/list") for n in (1, 2)]
    client = Client(recorded(*pages), order=order)

    assert [1, 0, 1] == [client.ask(ask({"thread": n, "id": 1}, "tools/list")) for n in (2, 1, 2)]


def test_it_is_a_note() -> None:
    """Told with `-v` only."""
    client = Client(recorded(ask({"own": 1})))
    client.ask(ask({"own": 2}))

    assert [
        PlayerNote(
            "tools/call",
            "matched in spite of members of `_meta` that the protocol does not define",
        )
    ] == client.told


@pytest.mark.parametrize("stateless", [False, True])
def test_over_http_too(stateless: bool) -> None:
    """Behind the levels of the head; a header that repeats another value still does not match."""
    session = None if stateless else "one"
    steps = [
        step
        for n in (1, 2)
        for step in (
            post(n, ask({"own": n}), session=session, mcp_name="f"),
            answers(n, response(7, {"said": n})),
        )
    ]
    held = over_http(in_session(1, *steps))
    for live, accept, said in (("f", "*/*", "1"), ("f", "text/plain", "1"), ("g", "*/*", "-31999")):
        played = replay_http(held, stateless=True) if stateless else replay_http(held)
        asked = post(5, ask({"own": 9}), session=session, mcp_name=live, accept=accept)
        assert said in str(played.hears(0.0, asked))
