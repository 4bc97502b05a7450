"""Which recorded sessions a live one may be."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import TOOL_ALONE, MatchRules
from mcpmock.options.replay import ReplayOptions, SessionUse
from mcpmock.playback.candidates import Candidate
from mcpmock.playback.plan.steps import bare
from mcpmock.playback.request_assembly import RequestAssembly
from mcpmock.playback.session_selection import PlayedSessions, PlayerOptions, SessionSelection
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import Frame
from tests.support import (
    INITIALIZE,
    WELCOME,
    Line,
    accepts,
    answers,
    bodiless,
    c,
    call,
    cassette,
    get,
    in_session,
    opens,
    over_http,
    post,
    request,
    response,
    s,
    says,
)

STDIO: list[Line] = [c(INITIALIZE), s(WELCOME)]


def session() -> str:
    return "live"


def test_what_a_player_does_by_default() -> None:
    """It is what the options of a user say by default."""
    assert PlayerOptions.of(ReplayOptions()) == PlayerOptions()
    assert PlayerOptions.of(ReplayOptions(match="tool")).rules == MatchRules.parse(TOOL_ALONE)


def test_another_pace() -> None:
    """It is one selection still: what was played at one pace is played."""
    recorded = PlayerOptions(pace=Pace(Timing("recorded"), overlap_grace=0.5))
    selection = SessionSelection(cassette(*STDIO, ("take", None), *STDIO), recorded)
    pace = Pace(Timing("cap", 100), overlap_grace=0.5)
    twin = selection.on_a_real_clock()
    [first, _] = twin.candidates(session)
    twin.mark_played(first.plan.episode)

    assert (pace, recorded.pace) == (first.pace, selection.candidates(session)[0].pace)
    assert first.plan is selection.candidates(session)[-1].plan


def test_more_rules() -> None:
    """Those of the cassette come to those of the command line."""
    first, second = MatchRules.parse(["$.a"]), MatchRules.parse(like=["$.b=uuid"])
    plain, ruled = PlayerOptions(order="any"), PlayerOptions(order="any", rules=first)

    assert [plain, ruled] == [one.with_rules(None) for one in (plain, ruled)]
    assert PlayerOptions(order="any", rules=second) == plain.with_rules(second)
    assert PlayerOptions(order="any", rules=first + second) == ruled.with_rules(second)


def one(x: int) -> list[Frame]:
    return [*post(x, call(1, "a")), *answers(x, response(1))]


def joined(*cassettes: Cassette) -> SessionSelection:
    whole = cassettes[0]
    for other in cassettes[1:]:
        whole.takes += other.takes
    return SessionSelection(whole, PlayerOptions())


def sessions(candidates: list[Candidate]) -> list[tuple[int, int | None]]:
    first = [candidate.plan.episode.events[0] for candidate in candidates]
    return [(event.s, event.x) for event in first]


def test_sessions_over_http() -> None:
    """A live session can be any recorded one; what belonged to none is not one."""
    selection = joined(
        over_http(in_session(1, one(1)), in_session(2, one(2)), in_session(3, one(3)))
    )

    assert [(2, 2), (3, 3)] == sessions(selection.candidates(session))


def test_where_no_session_was_recorded() -> None:
    """If nothing else was recorded, a live session is what belonged to none."""
    assert [(1, 1)] == sessions(joined(over_http(in_session(1, one(1)))).candidates(session))


def test_several_transports() -> None:
    """All of a take over stdio is a session; and is played to callers without one as well."""
    selection = joined(over_http(in_session(1, one(5))), cassette(*STDIO))

    assert [(1, None)] == sessions(selection.candidates(session))
    assert [1, 1, 1, 1, 1, 3, 3] == [
        event.s for event in selection.stateless(session).plan.episode.events
    ]


def test_sessions_of_another_transport() -> None:
    """What is played as bare messages is played to callers without a session too."""
    recorded = over_http(in_session(2, one(2)))
    as_recorded, as_messages = joined(recorded), joined(bare(recorded, one_session=False))

    assert [0, 2] == [
        len(selection.stateless(session).plan.episode.events)
        for selection in (as_recorded, as_messages)
    ]


def test_a_plan_is_made_once() -> None:
    """All live sessions share the plans."""
    selection = joined(over_http(in_session(1, one(1)), in_session(2, one(2))))

    assert selection.stateless(session).plan is selection.stateless(session).plan
    [first], [again] = selection.candidates(session), selection.candidates(session)
    assert first.plan is again.plan


def test_those_not_played_go_first() -> None:
    """Episodes that are played go behind the others, and one that a session leads with behind those
    that no session leads with.
    """
    selection = joined(*(cassette(("stderr", f"{n}"), *STDIO) for n in range(3)))
    candidates = selection.candidates(session)
    names = {id(candidate.plan): n for n, candidate in enumerate(candidates)}
    selection.mark_played(candidates[1].plan.episode)
    selection.mark_led(candidates[0].plan.episode)

    assert [2, 0, 1] == [names[id(p.plan)] for p in selection.candidates(session)]
    selection.mark_led(candidates[2].plan.episode)
    assert [0, 2, 1] == [names[id(p.plan)] for p in selection.candidates(session)]


@pytest.mark.parametrize(
    "takes",
    [
        cassette(*STDIO, ("take", None), *STDIO),
        over_http(in_session(2, post(1, INITIALIZE)), in_session(3, post(2, INITIALIZE))),
        over_http(in_session(1, one(1)), in_session(2, one(2)), in_session(3, one(3))),
    ],
)
def test_played_over_another_transport(takes: Cassette) -> None:
    """What was played to a client in memory is dealt last to one over HTTP, and to callers without
    a session.
    """
    past = PlayedSessions()
    ways = [bare(takes, one_session=True), takes, bare(takes, one_session=False)]
    memory, http, as_messages = (SessionSelection(way, PlayerOptions(), past) for way in ways)
    played, other = (candidate.plan.episode for candidate in memory.candidates(session))
    memory.mark_played(played)

    for selection in (http, as_messages):
        dealt = [candidate.plan.episode.name for candidate in selection.candidates(session)]
        assert [other.name, played.name] == dealt[-2:]
    parts = [part.name for _, part in as_messages.stateless(session).plan.episode.parts]
    assert [other.name, played.name] == parts[-2:]


@pytest.mark.parametrize(("sessions", "left"), [("reuse", 1), ("once", 0)])
def test_dealt_again(sessions: SessionUse, left: int) -> None:
    """When all were played, they are dealt again, or not."""
    selection = SessionSelection(cassette(*STDIO), PlayerOptions(sessions=sessions))
    selection.mark_played(selection.candidates(session)[0].plan.episode)

    assert left == len(selection.candidates(session))


@pytest.mark.parametrize(
    ("playing", "played", "known"),
    [
        ({}, False, True),
        ({}, True, True),
        ({"sessions": "once"}, False, True),
        ({"sessions": "once"}, True, False),
        ({"order": "strict"}, False, False),
        ({"order": "any"}, False, False),
        ({"pace": Pace(Timing("recorded"))}, False, False),
        ({"rules": MatchRules.parse(["$.a"])}, False, False),
        ({"hash_of": len}, False, False),
    ],
)
def test_what_needs_a_plan(playing: dict[str, Any], played: bool, known: bool) -> None:
    """Pauses, another order, rules and secrets with a hash; where all was played, nothing answers
    at all.
    """
    selection = SessionSelection(cassette(*STDIO), PlayerOptions(**playing))
    if played:
        selection.mark_played(selection.candidates(session)[0].plan.episode)

    assert known is (selection.known_answers(0.0, RequestAssembly(), session) is not None)


def test_paths() -> None:
    """The paths of MCP are those on which messages came, either way."""
    selection = joined(
        over_http(
            in_session(1, bodiless(1, "GET", to="/favicon.ico"), accepts(1, 404)),
            in_session(
                2, get(2, to="/sse"), [*opens(2), *says(2, b"/m", event="endpoint")],
                post(3, INITIALIZE, to="/m?s=1"), accepts(3),
            ),
        )
    )  # fmt: skip

    assert {"/sse", "/m"} == selection.paths


def test_what_is_lacking() -> None:
    """The other era than that of the recording; of one that names none, nothing is."""
    silent = SessionSelection(cassette(c(request(1, "a")), s(response(1))), PlayerOptions())
    legacy = SessionSelection(cassette(c(INITIALIZE), s(WELCOME)), PlayerOptions())

    assert [False, False] == [silent.lacks(one) for one in ("2025-11-25", "2026-07-28")]
    assert [False, True] == [legacy.lacks(one) for one in ("2025-11-25", "2026-07-28")]
