"""Recordings of one server have no differences, whatever they were recorded over: every cassette
that is shipped, replayed over each transport and recorded again.
"""

from __future__ import annotations

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette, Episode, Header, Take
from mcpmock.playback.player import PlayerOptions
from mcpmock.semantic_diff.compare import compare
from tests.laws.test_round_trip import CASSETTES, MESSAGES, RECORDED, _over, record_replay_of


def alone(episode: Episode) -> Cassette:
    header = Header(mcpmock=1, transport="stdio")
    return Cassette(name="one", takes=[Take(header=header, events=episode.events)])


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_a_cassette_is_the_same_as_itself(path: object) -> None:
    """Nothing differs, and every call was compared."""
    cassette = load(path)  # type: ignore[arg-type]
    comparison = compare(cassette, cassette)

    assert () == comparison.differences
    assert comparison.calls


@pytest.mark.parametrize("kind", ["stdio", "streamable-http", "sse"])
@pytest.mark.parametrize("name", MESSAGES)
def test_what_is_replayed_and_recorded_again_is_the_same(name: str, kind: str) -> None:
    """Over any transport, with other ids, tokens and times."""
    episode = MESSAGES[name]
    between, stateless = ([], False) if kind == "stdio" else _over(kind, episode)
    again = record_replay_of(
        episode, PlayerOptions(pace=RECORDED), stateless=stateless, between=between
    )

    assert () == compare(alone(episode), alone(again)).differences
