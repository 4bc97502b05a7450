"""`initialize` is answered in the revision that the live client asks for, as a server does it."""

from __future__ import annotations

import pytest

from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.revisions import agreed_version
from tests.support import (
    INITIALIZED,
    Script,
    accepts,
    answers,
    c,
    call,
    ends,
    in_session,
    opens,
    over_http,
    play,
    player_of,
    post,
    replay_http,
    request,
    response,
    s,
    says,
)

NEW, OLD, OLDER, FIRST = "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"


def asks(version: str | None, id_: int = 0) -> bytes:
    return request(id_, "initialize", {} if version is None else {"protocolVersion": version})


def tells(version: str, id_: int = 0) -> bytes:
    return response(id_, {"protocolVersion": version, "capabilities": {"tools": {}}})


@pytest.mark.parametrize(
    ("recorded", "answered", "asked", "agreed"),
    [
        # The server does what it is asked for.
        (NEW, NEW, NEW, NEW),
        (NEW, NEW, OLD, OLD),
        (NEW, NEW, OLDER, OLDER),
        (NEW, NEW, FIRST, FIRST),
        (FIRST, FIRST, NEW, NEW),
        (OLD, OLD, OLDER, OLDER),
        (None, NEW, OLD, OLD),
        # Nobody asks for these with `initialize`, or knows them.
        (NEW, NEW, "2026-07-28", NEW),
        (NEW, NEW, "2027-01-01", NEW),
        (NEW, NEW, "1999-01-01", NEW),
        (NEW, NEW, 'a"b', NEW),
        (NEW, NEW, None, NEW),
        # The server does not know what it was asked for, nor what is newer than its answer.
        (NEW, OLD, NEW, OLD),
        (NEW, OLDER, OLD, OLDER),
        (NEW, OLD, OLDER, OLDER),
        (OLD, OLDER, NEW, OLDER),
        ("2027-01-01", NEW, OLD, OLD),
        # .. or what is older.
        (FIRST, NEW, FIRST, NEW),
        (OLDER, NEW, FIRST, NEW),
        (FIRST, NEW, OLD, OLD),
    ],
)
def test_the_revision_that_was_asked_for(
    recorded: str | None, answered: str, asked: str | None, agreed: str
) -> None:
    """Nothing else of the answer changes, and one note says so where it differs."""
    note = PlayerNote(
        "initialize", f"recorded with revision {answered}, answered with {agreed} as asked"
    )
    assert agreed == agreed_version(asked, recorded, answered)
    for order in ("causal", "strict", "any"):
        played = play(c(asks(recorded)), s(tells(answered)), order=order)
        told: list[Miss | PlayerNote] = []
        player_of(played).report = told.append
        played.at(0, client=asks(asked, 7), to_client=tells(agreed, 7))
        played.at(1, client=request(8, "ping"), to_client=response(8))
        noted = answered != agreed and order != "any"
        assert ([note] if noted else []) == [one for one in told if one.method == "initialize"]
        assert 0 == player_of(played).missed


def test_exact_answers_as_recorded() -> None:
    played = play(c(asks(NEW)), s(tells(NEW)), exact=True)

    played.at(0, client=asks(OLD), to_client=tells(NEW))


def test_a_session_of_that_revision_comes_first() -> None:
    """The answers of another take are those to another revision."""
    take = [c(asks(NEW)), s(tells(NEW)), c(call(1, "a")), s(response(1, {"take": 1}))]
    other = [c(asks(OLD)), s(tells(OLD)), c(call(1, "a")), s(response(1, {"take": 2}))]
    for version, number in ((NEW, 1), (OLD, 2), (OLDER, 1)):
        played = play(*take, ("take", None), *other)
        played.at(0, client=asks(version), to_client=tells(version))
        played.at(1, client=call(1, "a"), to_client=response(1, {"take": number}))


def test_the_server_that_refused_is_no_other_server() -> None:
    """An error stays an error."""
    refused = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}'
    play(c(asks(NEW)), s(refused)).at(0, client=asks(OLD), to_client=refused)


def opened(version: str) -> Script:
    """A session over HTTP whose streams begin with an event that has an id and no data."""
    steps = [
        post(1, asks(NEW)),
        [*opens(1, mcp_session_id="s"), *says(1, b"", id="p1", retry=10)[:1]],
        [*says(1, tells(NEW), id="e1"), ends(1)],
        post(2, INITIALIZED, session="s"),
        accepts(2),
        post(3, call(1, "a"), session="s", mcp_protocol_version=NEW),
        [*opens(3), *says(3, b"", id="p2")[:1]],
        [*says(3, response(1), id="e2"), ends(3)],
    ]
    played = replay_http(over_http(in_session(2, *steps)))
    heard = played.hears(901, post(901, asks(version)))
    assert (version == NEW) == any("p1" in line for line in heard)
    return played


@pytest.mark.parametrize(("version", "primed"), [(NEW, True), (OLD, False), (FIRST, False)])
def test_older_clients_get_no_event_without_data(version: str, primed: bool) -> None:
    """The header of the other revision is no miss."""
    played = opened(version)
    played.hears(902, post(902, INITIALIZED, session="live-1"))
    heard = played.hears(
        903, post(903, call(1, "a"), session="live-1", mcp_protocol_version=version)
    )

    assert primed == any("p2" in line for line in heard)
    assert any("e2" in line for line in heard)
    assert 0 == player_of(played).missed


def test_clients_without_a_session_agree_each_for_itself() -> None:
    """Also where a recorded answer is repeated, and where it takes its time. `-v` says so."""
    told: list[str] = []

    def tell(one: Miss | PlayerNote) -> None:
        assert isinstance(one, PlayerNote)
        told.append(one.text)

    recorded = over_http(in_session(1, post(1, asks(NEW)), answers(1, tells(NEW))))
    options = PlayerOptions(pace=Pace(Timing.parse("recorded")))
    played = Script([StatelessPlayer(SessionSelection(recorded, options), tell)])
    for x, version in enumerate((OLD, NEW, OLDER), 5):
        played.hears(0, post(x, asks(version)))
    answered = [line for line in played.later(5) if "result" in line]

    assert [f"{x} {tells(v).decode()}" for x, v in ((5, OLD), (6, NEW), (7, OLDER))] == answered
    assert [
        f"recorded with revision {NEW}, answered with {v} as asked" for v in (OLD, OLDER)
    ] == told
