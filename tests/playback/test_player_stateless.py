"""The player of exchanges that belong to no session."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from mcpmock.playback.miss import Miss
from mcpmock.playback.plan.steps import bare
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.protocol.messages import Frame
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Script,
    accepts,
    answers,
    bodiless,
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
    replay_http,
    request,
    response,
    s,
)
from tests.support.http_episodes import STATELESS
from tests.support.steps import count_steps

JSON = "200 application/json"


def alone(*steps: Frame | list[Frame], **playing: Any) -> Script:
    return replay_http(over_http(in_session(1, *steps)), stateless=True, **playing)


def dealt(n: int) -> tuple[list[Frame], list[Frame]]:
    return post(n, call(1, "x")), answers(n, response(1, {"n": n}))


def got(played: Script, x: int, raw: bytes, **fields: Any) -> list[str]:
    return played.hears(x, post(x, raw, **fields))


def test_callers_are_kept_apart() -> None:
    """Two callers with the same id at the same time get their own answers."""
    played = alone(*STATELESS)
    assert ["12 200 text/event-stream", f"12 {LOG.decode()}"] == got(
        played, 12, call(1, "a"), mcp_method="tools/call"
    )
    came = played.hears(12.001, post(13, call(1, "b"), mcp_method="tools/call"))

    assert [
        f"13 {JSON}", f'13 {response(1, {"b": 1}).decode()}', "13 eof",
        f'12 {response(1, {"a": 1}).decode()}', "12 eof",
    ] == came  # fmt: skip


@pytest.mark.parametrize("stateless", [True, False])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
        ("initialize", {"protocolVersion": "2025-11-25", "clientInfo": {"name": "c"}}),
        ("tools/call", {"name": "x", "arguments": {}}),
    ],
)
def test_many_that_are_equal(method: str, params: Any, stateless: bool) -> None:
    """One of many costs no more than one of few, a handshake as a call."""

    def steps(recorded: int) -> int:
        exchanges = [
            step
            for x in range(recorded)
            for step in (post(x, request(x, method, params)), answers(x, response(x)))
        ]
        take = over_http(in_session(1 if stateless else 2, *exchanges))
        played = replay_http(take, stateless=stateless)
        return min(
            count_steps(partial(got, played, x, request(f"r{x}", method, params)))
            for x in range(1000, 1010)
        )

    assert steps(200) <= steps(20)


def test_alike_ones_are_dealt_and_the_last_one_stays() -> None:
    """Exchanges that are alike are dealt in recorded order, the last one again and again."""
    played = alone(*dealt(1), *dealt(2))

    for x, n in enumerate([1, 2, 2, 2], 10):
        assert f"{x} {response(x, {'n': n}).decode()}" in got(played, x, call(x, "x"))
    assert 0 == player_of(played).missed


def test_all_that_is_no_request_is_dealt_too() -> None:
    """Streams, notifications and what nobody can read are answered as recorded, as often as they
    come.
    """
    played = alone(
        get(1), accepts(1, 405), post(2, INITIALIZED), accepts(2, 204), post(3, b"{torn"),
        answers(3, error(b"null", -1), 418),
    )  # fmt: skip

    for x in (10, 20, 30):
        assert [f"{x} 405", f"{x} eof"] == played.hears(x, get(x))
        assert [f"{x} 204", f"{x} eof"] == got(played, x, INITIALIZED)
        assert f"{x} 418 application/json" == got(played, x, b"{torn")[0]


def test_the_last_one_before_another_tier() -> None:
    """A used exchange with the very head goes before an unused one with another."""
    played = alone(
        post(1, call(1, "x"), accept="a/a"), answers(1, response(1, {"n": 1})),
        post(2, call(1, "x"), accept="b/b"), answers(2, response(1, {"n": 2})),
    )  # fmt: skip

    for x in (10, 11):
        assert f"{x} {response(x, {'n': 1}).decode()}" in got(played, x, call(x, "x"), accept="a/a")


def test_takes_are_one() -> None:
    """The exchanges of all takes are dealt one after the other, whatever their numbers."""
    one, two = (over_http(in_session(1, *dealt(n))) for n in (1, 2))
    one.takes += two.takes
    played = replay_http(one, stateless=True)

    for x, n in ((10, 1), (11, 2)):
        assert f"{x} {response(x, {'n': n}).decode()}" in got(played, x, call(x, "x"))


def test_sessions_are_not_part_of_it() -> None:
    """What was recorded in a session is a miss without one."""
    played = replay_http(over_http(in_session(2, *dealt(1))), stateless=True)
    head, message, _ = got(played, 7, call(1, "x"))

    assert (f"7 {JSON}", True) == (head, '"code":-31999' in message)
    assert 1 == player_of(played).missed


@pytest.mark.parametrize(
    "live",
    [post(7, call(1, "x"), session="?"), post(7, INITIALIZED, session="?"), get(7, session="?")],
)
def test_an_unknown_session_is_a_404(live: list[Frame]) -> None:
    """What names a session that is none is refused, and is no miss."""
    played = alone(*dealt(1), get(2), opens(2))
    head, message, end = played.hears(0, live)

    assert ("7 404 application/json", "7 eof") == (head, end)
    assert '"code":-32001' in message
    assert 0 == player_of(played).missed


def test_a_recorded_unknown_session() -> None:
    """What was recorded with a session id that was none answers such a request, and no other."""
    played = alone(post(1, call(1, "x"), session="old"), answers(1, error(1, -1), 400))

    assert "7 400 application/json" == got(played, 7, call(1, "x"), session="other")[0]
    assert f"8 {JSON}" == got(played, 8, call(1, "x"))[0]
    assert 1 == player_of(played).missed


def test_wrong_sessions_of_older_http() -> None:
    """A session in the query that is none is refused as one like it was, each time it comes."""
    hole = "/m?sid=mcpmock:secret:session-id:"
    played = alone(
        post(1, call(1, "x"), to=f"{hole}1"), answers(1, error(1), 400),
        post(2, call(1, "x"), to=f"{hole}2"), answers(2, error(1), 404),
        post(3, call(1, "x"), to="/m"), answers(3, error(1), 410),
    )  # fmt: skip
    targets = ["/m", "/m?sid=odd", "/m?sid=0", "/m?sid=odd", "/m", "/m?sid=0", "/m?sid=new"]
    heads = [played.hears(0, post(x, call(1, "x"), to=to))[0] for x, to in enumerate(targets, 7)]

    assert ["410", "400", "404", "400", "410", "404", "404"] == [h.split()[1] for h in heads]


def test_handshakes_of_several_clients() -> None:
    """A client gets the answer to its own handshake again rather than another client's first."""
    hello = [request(0, "initialize", {"clientInfo": {"name": name}}) for name in "ab"]
    played = alone(
        post(1, hello[0]), answers(1, response(0, "a")),
        post(2, hello[1]), answers(2, response(0, "b")),
    )  # fmt: skip
    received = [played.hears(0, post(x, hello[n]))[1] for x, n in enumerate([1, 1, 0, 1, 0], 7)]

    assert list("bbaba") == [json.loads(line.split(maxsplit=1)[1])["result"] for line in received]


def test_without_a_session_nothing_can_be_ended() -> None:
    """An unrecorded DELETE is a 405 here."""
    played = alone(*dealt(1))

    assert ["7 405", "7 eof"] == played.hears(0, bodiless(7, "DELETE"))


def test_other_paths() -> None:
    """A recorded path is answered by method and path; any other is a 404."""
    played = alone(
        bodiless(1, "GET", to="/.well-known/x?a=1"), accepts(1, 401), *dealt(2)
    )  # fmt: skip

    assert ["7 401", "7 eof"] == played.hears(0, bodiless(7, "GET", to="/.well-known/x"))
    assert ["8 404", "8 eof"] == played.hears(1, bodiless(8, "GET", to="/.well-known/y"))


def test_another_client_library() -> None:
    """Another version header and other fields are forgiven, and reported."""
    told: list[Miss | PlayerNote] = []
    steps = over_http(in_session(1, *dealt(1)))
    played = Script([StatelessPlayer(SessionSelection(steps, PlayerOptions()), told.append)])

    assert f"7 {JSON}" == got(played, 7, call(1, "x"), mcp_protocol_version="2025-06-18")[0]
    assert f"8 {JSON}" == got(played, 8, call(1, "x"), accept="*/*", mcp_name="x")[0]
    assert [
        "matched in spite of another protocol version in the header",
        "matched in spite of other HTTP header fields",
    ] == [one.text for one in told if isinstance(one, PlayerNote)]


def test_exact_forgives_nothing() -> None:
    """With `exact` another head is a miss that says where it differs."""
    played = alone(*dealt(1), exact=True)
    _, message, _ = got(played, 7, call(1, "x"), accept="*/*")

    assert '"path":"header.accept"' in message


def test_a_wrong_header_is_refused_as_recorded() -> None:
    """A good request never gets the refusal of a bad one, nor a bad one the answer to a good
    one.
    """
    right, wrong = {"mcp_protocol_version": "2026-07-28"}, {"mcp_protocol_version": "1999-01-01"}
    played = alone(
        post(1, call(1, "x"), **wrong), answers(1, error(1, -32020), 400),
        post(2, call(1, "x"), **right), answers(2, response(1)),
    )  # fmt: skip

    for x in (10, 20):
        assert f"{x} 400 application/json" == got(played, x, call(1, "x"), **wrong)[0]
        assert f"{x} {JSON}" == got(played, x, call(1, "x"), **right)[0]
        other = got(played, x, call(1, "x"), mcp_protocol_version="2025-11-25")
        assert f"{x} {JSON}" == other[0]
        assert "-32020" not in other[1]
    both = got(played, 30, call(1, "x"), accept="*/*", **wrong)
    assert '"code":-31999' in both[1]


def test_overlaps_are_those_of_the_exchange() -> None:
    """An answer waits for the exchanges that overlapped it in the recording; others that come
    meanwhile do not make it wait longer.
    """
    played = alone(post(1, call(1, "x")), post(2, call(1, "y")), answers(1, response(1)), *dealt(3))
    played.hears(0, post(11, call(1, "x")))
    for n in range(1, 4):
        played.hears(n * 0.005, post(20 + n, request(n, "ping")))

    assert f"11 {JSON}" in played.later(0.02)


def test_stubs() -> None:
    """In any order they are answered by their key in turn, again and again."""
    played = alone(*dealt(1), *dealt(2), order="any")

    for x, n in enumerate([1, 2, 1, 2], 10):
        assert f"{x} {response(x, {'n': n}).decode()}" in got(played, x, call(x, "x"))


def test_strict_order() -> None:
    """In strict order an exchange out of its place is a miss."""
    played = alone(*dealt(1), post(2, call(1, "y")), answers(2, response(1)), order="strict")

    assert '"code":-31999' in got(played, 7, call(1, "y"))[1]
    assert f"8 {JSON}" == got(played, 8, call(1, "x"))[0]
    assert 1 == player_of(played).missed


def test_another_transport_as_bare_messages() -> None:
    """What was recorded over stdio can be played to callers without a session, and so can what was
    recorded over HTTP, as bare messages.
    """
    stdio = cassette(c(INITIALIZE), s(WELCOME), c(call(1, "x")), s(response(1)))
    other = cassette(("stderr", "up"), c(call(1, "y")), s(response(1)), ("end", {"exit": 1}))
    stdio.takes += other.takes
    played = replay_http(stdio, stateless=True)
    assert [[response(7)], [response(7)]] == [played.heard(call(7, tool)) for tool in "xy"]

    messages = bare(over_http(in_session(1, *dealt(1))), one_session=False)
    played = replay_http(messages, stateless=True)
    assert [response(7, {"n": 1})] == played.heard(call(7, "x"))


def test_each_response_has_a_session_id_of_its_own() -> None:
    """Where the server gave a session id to a caller without a session, no two callers get the
    same.
    """
    played = alone(get(1), accepts(1, 400, mcp_session_id="S"))

    assert ["7 400 session=live-1", "7 eof"] == played.hears(0, get(7))
    assert ["8 400 session=live-2", "8 eof"] == played.hears(1, get(8))
