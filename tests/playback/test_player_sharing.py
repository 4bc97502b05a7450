"""Which recorded answer a live request gets: sessions, repeats, variables, and misses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.matching.match_rule import MatchRules
from mcpmock.options.replay import Order
from mcpmock.playback.miss import ANY_SESSION, Miss
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import Request, parse
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    OPENING,
    WELCOME,
    Line,
    batch,
    c,
    c2s,
    call,
    cancelled,
    cassette,
    error,
    errors,
    notification,
    play,
    player_of,
    progress,
    replay,
    request,
    response,
    s,
    script,
)


def test_the_nth_call_gets_the_nth_answer() -> None:
    """Identical calls are answered in recorded order."""
    events = [line for n in (1, 2, 3) for line in (c(call(n, "x")), s(response(n, {"n": n})))]
    played = play(*events)
    for n in (1, 2, 3):
        played.at(n, client=call("l", "x"), to_client=response("l", {"n": n}))


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [("last", [1, 2, 2, 2, 2]), ("cycle", [1, 2, 1, 2, 1]), ("error", [1, 2, None, None, None])],
)
def test_repeats(repeats: str, expected: list[int | None]) -> None:
    """When the recorded answers run out, the call is a miss, or gets the last one, or all of them
    again.
    """
    events = [line for n in (1, 2) for line in (c(call(n, "x")), s(response(n, {"n": n})))]
    played = play(*events, c(call(3, "y")), s(response(3)), repeats=repeats)
    answers = [played.heard(call(id_, "x"), id_) for id_ in range(10, 15)]

    assert expected == [json.loads(raw).get("result", {}).get("n") for [raw] in answers]
    assert [*range(10, 15)] == [json.loads(raw)["id"] for [raw] in answers]
    assert expected.count(None) == player_of(played).missed


def tools(*listed: tuple[str, object]) -> bytes:
    """A list of tools with their annotations."""
    return response(1, {"tools": [{"name": name, "annotations": hints} for name, hints in listed]})


READ, WRITE = call(2, "read"), call(3, "write")
ASKED_AGAIN = (
    *OPENING,
    c(request(1, "tools/list")),
    s(tools(("read", {"readOnlyHint": True}), ("write", {"readOnlyHint": False}), ("odd", 1))),
    *(line for id_, name in ((2, "read"), (3, "write"), (4, "odd"))
      for line in (c(call(id_, name)), s(response(id_, {"of": name})))),
    c(request(5, "prompts/list", {"cursor": "2"})), s(response(5, {"prompts": []})),
    c(request(6, "server/discover")), s(response(6, {"d": 1})),
    c(request(7, "ping")), s(response(7, {"p": 1})),
    c(request(8, "resources/read", {"uri": "a:b"})), s(response(8)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("live", "again"),
    [
        (request(1, "tools/list"), True),
        (request(1, "prompts/list", {"cursor": "2"}), True),
        (request(1, "server/discover"), True),
        (request(1, "ping"), True),
        (call(1, "read"), True),
        (call(1, "write"), False),
        (call(1, "odd"), False),
        (request(1, "resources/read", {"uri": "a:b"}), False),
        (batch(request(1, "ping"), request(2, "tools/list")), True),
        (batch(request(1, "ping"), call(2, "write")), False),
        (INITIALIZE, False),
    ],
)
def test_what_may_be_asked_again(live: bytes, again: bool) -> None:
    """By default lists, probes, pings and read-only tools get their last answer again, which is
    noted; what may change something is a miss.
    """
    told: list[Miss | PlayerNote] = []
    recorded = (*ASKED_AGAIN, c(live), s(response(1))) if live[:1] == b"[" else ASKED_AGAIN
    played = script(
        SessionPlayer(SessionSelection(cassette(*recorded), PlayerOptions()), told.append)
    )
    [first], second, third = (played.heard(live) for _ in range(3))

    assert again is (second == third == [first])
    assert [PlayerNote if again else Miss] * 2 == [type(one) for one in told]


@pytest.mark.parametrize(
    "odd", [5, "x", None, {"name": "x"}, [1, None, "x"], [{"name": 1}], [{"name": []}]]
)
def test_odd_lists_of_tools(odd: Any) -> None:
    """They say of no tool that it changes nothing; others say it all the same."""
    tools = [{"name": "r", "annotations": {"readOnlyHint": True}}, {"name": "o", "annotations": 1}]
    lists = [
        line
        for id_, found in enumerate((odd, tools))
        for line in (c(request(id_, "tools/list")), s(response(id_, {"tools": found})))
    ]

    assert {"r"} == SessionSelection(cassette(*lists), PlayerOptions()).read_only_tools


def test_lists_of_tools_that_are_no_answers_of_the_server() -> None:
    """What else is called so says nothing of a tool."""
    listed = {"tools": [{"name": "r", "annotations": {"readOnlyHint": True}}]}
    others = s(request(5, "sampling/createMessage", listed)), c(response(5, listed))

    assert set() == SessionSelection(cassette(*others), PlayerOptions()).read_only_tools


@pytest.mark.parametrize("odd", [None, 1, [1], {}, "x"])
def test_a_call_of_no_tool_is_not_repeated(odd: Any) -> None:
    """Whatever stands in the place of the name."""
    asked = parse(request(1, "tools/call", {"name": odd}))

    assert isinstance(asked, Request)
    assert not SessionSelection(cassette(), PlayerOptions()).may_be_asked_again(asked)


@pytest.mark.parametrize("playing", [{"order": "strict"}, {"repeats": "error"}])
def test_what_may_not_be_asked_again(playing: dict[str, str]) -> None:
    """In strict order, and where the options say so, a list that is asked again is a miss."""
    played = play(*ASKED_AGAIN[3:5], **playing)
    played.heard(request(1, "tools/list"))

    [raw] = played.heard(request(9, "tools/list"))
    assert [(9, -31999)] == errors([raw])
    assert b"answers tools/list; nearest: event 1, already used; allow with --repeats last" in raw


def test_an_encore_has_all_that_belonged_to_the_call() -> None:
    """A repeated answer comes with its progress, its pause before the answer, and its question to
    the client.
    """
    asks = request(0, "roots/list")
    events = (c(request(1, "x", token=1)), s(progress(1)), s(asks), c(response(0)), s(response(1)))
    played = play(*events, repeats="last")
    for number, token in enumerate(("t", "u")):
        live = request(number, "x", token=token)
        played.at(number, client=live, to_client=[progress(token), asks])
        played.at(number + 0.5, client=response(0), to_client=response(number))
    played.nothing_more()


@pytest.mark.parametrize("fed", ["one by one", "together"])
def test_lazy_episodes(fed: str) -> None:
    """Which recorded session it is shows at the first request that tells them apart."""
    first = (*OPENING, c(call(1, "a")), s(response(1, {"n": 1})))
    second = (*OPENING, c(call(1, "b")), s(response(1, {"n": 2})))
    selection = SessionSelection(cassette(*first, ("take", None), *second), PlayerOptions())
    for live, n in (("b", 2), ("a", 1), ("b", 2)):
        played = replay(selection)
        if fed == "together":
            expected = [WELCOME, response(7, {"n": n})]
            played.at(0, client=[INITIALIZE, INITIALIZED, call(7, live)], to_client=expected)
        else:
            played.at(0, client=INITIALIZE, to_client=WELCOME).at(1, client=INITIALIZED)
            played.at(2, client=call(7, live), to_client=response(7, {"n": n}))
        played.nothing_more()


def test_episodes_not_played_yet_go_first() -> None:
    """Sessions that look alike are dealt in recorded order, and again when all were played."""
    takes = [
        (
            *OPENING,
            c(call(1, "a", n=n)),
            s(response(1, {"n": n})),
            c(call(2, "x")),
            s(response(2, {"n": n})),
        )
        for n in (1, 2)
    ]
    selection = SessionSelection(cassette(*takes[0], ("take", None), *takes[1]), PlayerOptions())
    replay(selection).heard(call(1, "a", n=1))

    assert [response(5, {"n": 2})] == replay(selection).heard(call(5, "x"))


@pytest.mark.parametrize(
    ("rules", "now"), [([], 1), (["$.arguments.now"], 1), (["$.arguments.now"], 2)]
)
def test_two_clients_at_once(rules: list[str], now: int) -> None:
    """Each is another recorded session, though what they have asked so far is the same."""
    takes = [
        (*OPENING, *(one for id_ in (1, 2) for one in
                     (c(call(id_, "a", at=id_, now=1)), s(response(id_, {"n": n, "id": id_})))))
        for n in (1, 2)
    ]  # fmt: skip
    options = PlayerOptions(rules=MatchRules.parse(rules))
    selection = SessionSelection(cassette(*takes[0], ("take", None), *takes[1]), options)
    clients = []
    for n in (1, 2):
        clients.append(replay(selection))
        assert [response(1, {"n": n, "id": 1})] == clients[-1].heard(call(1, "a", at=1, now=now))
    for n, client in enumerate(clients, 1):
        assert [response(2, {"n": n, "id": 2})] == client.heard(call(2, "a", at=2, now=now))


def test_stubs_say_nothing_unasked() -> None:
    """What a server sent by itself is no answer to a call; repeats are not worth a remark."""
    told: list[object] = []
    recorded = cassette(s(LOG), *OPENING, c(call(1, "a")), s(response(1)))
    player = SessionPlayer(SessionSelection(recorded, PlayerOptions(order="any")), told.append)
    played = script(player)

    for id_ in (5, 6, 7):
        played.at(id_, client=call(id_, "a"), to_client=response(id_))
    assert [] == told


def hello(name: str, version: str = "2025-11-25") -> bytes:
    return request(0, "initialize", {"protocolVersion": version, "clientInfo": {"name": name}})


@pytest.mark.parametrize("order", ["causal", "any"])
def test_the_nearest_client_leads(order: Order) -> None:
    """Of recorded sessions the one whose client was most like the live one is played, though it was
    played before and another was not.
    """
    takes = [
        (c(hello(name, version)), s(response(0, {"to": n})), c(call(1, "a")), s(response(1, n)))
        for n, (name, version) in enumerate([("a", "1"), ("b", "1"), ("b", "2")])
    ]
    recorded = cassette(*takes[0], ("take", None), *takes[1], ("take", None), *takes[2])
    selection = SessionSelection(recorded, PlayerOptions(order=order))
    clients = [("b", "2"), ("b", "2"), ("b", "1"), ("a", "1"), ("a", "2")]
    answers = [replay(selection).heard(hello(*client)) for client in clients]

    assert [2, 2, 1, 0, 2] == [json.loads(raw)["result"]["to"] for [raw] in answers]


@pytest.mark.parametrize("first", [0, 1])
def test_a_probe_in_a_session_of_its_own(first: int) -> None:
    """What answered it may not be the session that follows: some clients start a server for it."""
    probe = (c(request("p", "server/discover")), s(response("p", "modern")))
    work = (c(call(1, "x")), s(response(1, "done")))
    takes = [probe, work] if not first else [work, probe]
    selection = SessionSelection(cassette(*takes[0], ("take", None), *takes[1]), PlayerOptions())

    for _ in range(2):
        played = replay(selection)
        assert [response(0, "modern")] == played.heard(request(0, "server/discover"))
        assert [response(5, "done")] == played.heard(call(5, "x"))
        assert 0 == player_of(played).missed


def test_another_session_may_know_more() -> None:
    """The nearest client leads until it is asked something that only another one was."""
    mine = (c(hello("a")), s(response(0)), c(call(1, "x")), s(response(1)))
    other = (c(hello("b")), s(response(0)), c(call(1, "y")), s(response(1, "other")))
    played = replay(cassette(*other, ("take", None), *mine))
    played.heard(hello("a"))

    assert [response(5, "other")] == played.heard(call(5, "y"))


def spelled(step: str) -> bytes:
    """`?a`: the call a; `!a`: its answer; `.a`: the log line a; `*`: the tools changed."""
    sign, name = step[0], step[1:]
    if sign == "*":
        return notification("notifications/tools/list_changed")
    if sign == ".":
        return notification("notifications/message", {"data": name})
    return call(name, name) if sign == "?" else response(name, name)


def recorded(steps: str) -> list[Line]:
    lines = ((c if step[0] == "?" else s)(spelled(step)) for step in steps.split())
    return [*OPENING, *lines]


@pytest.mark.parametrize(
    ("first", "second", "live", "came"),
    [
        ("?a ?b .a .b !a !b", "?a ?b ?c .a .b .c !a !b !c", "abc", "!a | .a .b !b | .c !c"),
        ("?a ?b .a !a .b !b", "?a ?b ?c .a !a .b !b .c !c", "abc", "!a | .a .b !b | .c !c"),
        ("?a .a !a ?b .b !b", "?a ?b ?c .a .b .c !a !b !c", "abc", ".a !a | .b !b | .c !c"),
        ("?a ?b .a .b !a !b", "?a .a !a ?b .b !b ?c .c !c", "abc", "!a | .a .b !b | .c !c"),
        ("?a ?b .x .x !a !b", "?a ?b ?c .x .x .x !a !b !c", "abc", "!a | .x .x !b | .x !c"),
        ("?a .x !a", "?c ?d .x !c !d ?a !a", "acd", ".x !a | !c | .x !d"),
        ("?a .x !a", "?c .x !c ?a .x !a", "ac", ".x !a | .x !c"),
        ("?a !a .b", "?a !a .a .b ?c !c", "ac", "!a .b | .a !c"),
        ("?a !a .x", "?a !a .x .x ?c !c", "ac", "!a .x | .x !c"),
        ("?a .b !a", "?a .a .b !a ?c !c", "ac", ".b !a | !c"),
        ("?a !a .p .q", "?a !a .q .r .s ?c !c", "ac", "!a .p .q | .s !c"),
        ("?a !a * .p", "?a !a .q * ?c !c", "ac", "!a * .p | !c"),
        ("?a !a .p", "?a !a .q .r ?b !b ?c .s !c", "abc", "!a .p | .r !b | .s !c"),
        ("?a * !a", "?a ?c * !a !c", "ac", "* !a | * !c"),
        ("?a * !a", "?a !a ?c * !c", "ac", "* !a | * !c"),
    ],
)
def test_a_change_of_the_lead_repeats_no_log(first: str, second: str, live: str, came: str) -> None:
    """What one recorded session has logged for a call, another does not log again; of what belongs
    to no call, as much counts as sent as was sent, first what is equal. Changes of lists come again
    rather than never.
    """
    played = replay(cassette(*recorded(first), ("take", None), *recorded(second)))
    played.heard(INITIALIZE)
    played.heard(INITIALIZED)

    expected = [[spelled(step) for step in part.split()] for part in came.split("|")]
    assert expected == [played.heard(call(name, name)) for name in live]


NEAR_A, NEAR_C = call("a", "a", n=1), call("c", "c", n=1)


@pytest.mark.parametrize(
    ("timing", "live", "came"),
    [
        ("none", [NEAR_A, call("c", "c")], "!c !a"),
        ("fixed:5", [NEAR_A, call("c", "c")], "!c !a"),
        ("none", [NEAR_A, NEAR_C], "!c !a"),
        ("none", [NEAR_A, NEAR_C, call("b", "b")], "!a !b !c"),
        ("none", [NEAR_A, call("c", "c"), cancelled("a")], "!c"),
    ],
)
def test_a_change_of_the_lead_loses_no_answer(timing: str, live: list[bytes], came: str) -> None:
    """A call that only the former lead knows, as the nearest one, is answered all the same."""
    takes = cassette(*recorded("?a ?b !a !b"), ("take", None), *recorded("?c !c"))
    played = replay(takes, on_miss="nearest", pace=Pace(Timing.parse(timing)))
    played.hears(0, [c2s(raw) for raw in (INITIALIZE, INITIALIZED)])
    played.later(1)

    heard = [*played.hears(2, [c2s(raw) for raw in live]), *played.later(3)]
    assert [f"None {spelled(step).decode()}" for step in came.split()] == heard


def test_a_change_of_the_lead_answers_nothing_twice() -> None:
    """What a former lead answered while another one led is answered."""
    probe, older = request("d", "server/discover"), INITIALIZE.replace(b"2025-11-25", b"2025-06-18")
    probed = c(probe), s(response("d")), c(older), s(WELCOME), c(INITIALIZED)
    ends = ([*probed, *recorded(f"?{name} !{name}")[len(OPENING) :]] for name in "ac")
    takes = cassette(*next(ends), ("take", None), *recorded("?b !b"), ("take", None), *next(ends))
    played = replay(takes, pace=Pace(Timing.parse("fixed:5")))
    played.hears(0, [c2s(probe)])
    played.hears(0.001, [c2s(INITIALIZE), c2s(INITIALIZED)])

    assert [f"None {raw.decode()}" for raw in (response("d"), WELCOME)] == played.later(1)
    assert [] == played.hears(2, [c2s(call("c", "c"))])
    assert [f"None {response('c', 'c').decode()}"] == played.later(3)


def test_a_change_of_the_lead_asks_anew() -> None:
    """A question with another id is another question: what follows waits for its answer."""
    asks = [request(n, "roots/list") for n in (7, 8)]
    first, second = (
        (*OPENING, c(call(1, "a")), s(ask), c(response(7 + n, {})), s(response(1, "a")))
        for n, ask in enumerate(asks)
    )
    played = replay(cassette(*first, ("take", None), *second, c(call(2, "b")), s(response(2))))
    played.heard(INITIALIZE)
    played.heard(INITIALIZED)
    assert asks[:1] == played.heard(call("a", "a"))
    assert [asks[1], response("b")] == played.heard(call("b", "b"))
    assert [response("a", "a")] == played.heard(response(8, {}))


def test_sessions_once() -> None:
    """With `once` a played episode is not played again: its requests are misses."""
    selection = SessionSelection(
        cassette(c(call(1, "a")), s(response(1))), PlayerOptions(sessions="once")
    )

    assert [response(5)] == replay(selection).heard(call(5, "a"))
    assert [(5, -31999)] == errors(replay(selection).heard(call(5, "a")))


@pytest.mark.parametrize(
    ("sessions", "live", "near"),
    [
        # It is another session: no option lets that answer.
        (2, call(5, "b", n=1), [(1, "in another recorded session", ())]),
        (2, call(5, "b", n=2), [(1, "in another recorded session", ())]),
        # It was played once, and nothing is left.
        (1, call(5, "a", n=1), [(1, "in another recorded session", (ANY_SESSION,))]),
        (
            1,
            call(5, "a", n=2),
            [
                (
                    1,
                    "in another recorded session",
                    (("ignore", "tools/call a $.arguments.n"), ANY_SESSION),
                )
            ],
        ),
    ],
)
def test_near_misses_in_other_sessions(
    sessions: int, live: bytes, near: list[tuple[int, str, Any]]
) -> None:
    """They say so, and what would let them answer."""
    takes = [[c(call(1, tool, n=1)), s(response(1)), ("take", None)] for tool in "ab"[:sessions]]
    recorded = cassette(*[line for one in takes for line in one][:-1])
    told: list[Miss | PlayerNote] = []
    selection = SessionSelection(recorded, PlayerOptions(sessions="once"))
    played = script(SessionPlayer(selection, told.append))
    played.heard(call(5, "a", n=1))
    if sessions == 1:
        played = script(SessionPlayer(selection, told.append))
    told.clear()
    played.heard(live)
    [miss] = told

    assert isinstance(miss, Miss)
    assert near == [(one.n, one.why, one.allow) for one in miss.near]


def test_sessions_never_see_each_others_answers() -> None:
    """Two sessions at once use the same ids and get their own answers."""
    selection = SessionSelection(
        cassette(
            c(call(1, "a")), s(response(1, {"n": 1})), c(call(2, "a")), s(response(2, {"n": 2}))
        ),
        PlayerOptions(),
    )
    one, two = replay(selection), replay(selection)

    assert [[response(1, {"n": n})] for n in (1, 1, 2, 2)] == [
        each.heard(call(1, "a")) for each in (one, two, one, two)
    ]


def capable(capabilities: Any) -> bytes:
    return request(1, "x", {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}})


def test_tiers_are_reported() -> None:
    """A match in spite of another client's capabilities is reported as a note; with `exact` it is a
    miss.
    """
    for exact, expected in ((False, [response(1)]), (True, None)):
        told: list[Miss | PlayerNote] = []
        selection = SessionSelection(
            cassette(c(capable({})), s(response(1))), PlayerOptions(exact=exact)
        )
        played = script(SessionPlayer(selection, told.append))
        answers = played.heard(capable({"roots": {}}))

        assert answers == expected if expected else [(1, -31999)] == errors(answers)
        assert [Miss if exact else PlayerNote] == [type(one) for one in told]


def test_a_miss() -> None:
    """What nothing matches is answered at once with -31999 and the near misses, and told."""
    told: list[Miss | PlayerNote] = []
    played = script(
        SessionPlayer(
            SessionSelection(
                cassette(c(call(1, "w", city="Oslo")), s(response(1))), PlayerOptions()
            ),
            told.append,
        )
    )
    [raw] = played.heard(call("q", "w", city="Rome"))
    error = json.loads(raw)["error"]

    assert (-31999, "q", 1) == (error["code"], json.loads(raw)["id"], player_of(played).missed)
    [near] = error["data"]["near"]
    assert [{"path": "$.arguments.city", "recorded": "Oslo", "live": "Rome"}] == near["differences"]
    assert ["tools/call"] == [one.method for one in told]


def test_a_miss_shows_no_live_secret() -> None:
    """A placeholder differs from no value, once bound from all others; what is secret by its name,
    by its format, by a header or by an earlier placeholder is shown as a recording would have it.
    """
    hole = "mcpmock:secret:password:1"
    told: list[Any] = []
    recorded = cassette(
        c(call(1, "login", password=hole)),
        s(response(1)),
        c(call(2, "w", city="Oslo", password=hole)),
        s(response(2)),
    )
    played = script(SessionPlayer(SessionSelection(recorded, PlayerOptions()), told.append))
    played.heard(call(5, "login", password="live-pa55word"))
    live = {"city": "Rome live-pa55word", "password": "other-pa55", "more": {"apiKey": "k3y"}}
    names = {"live-pa55word": 1, "ghp_" + "z3W4" * 9: {"a": 2}}
    [raw] = played.heard(call(6, "w", **live, see="ghp_" + "x1Y2" * 9, **names))
    [miss] = told

    shown = {one.path: one.live for one in miss.near[0].differences}
    assert {
        "$.arguments.city": "Rome mcpmock:secret:password:1",
        "$.arguments.password": "mcpmock:secret:password:2",
        "$.arguments.more": {"apiKey": "mcpmock:secret:api-key:3"},
        "$.arguments.see": "mcpmock:secret:github:4",
        "$.arguments['mcpmock:secret:password:1']": 1,
        "$.arguments.mcpmock:secret:github:5": {"a": 2},
    } == shown
    assert () == miss.allow
    for secret in ("live-pa55word", "other-pa55", "k3y", "x1Y2", "z3W4"):
        assert secret.encode() not in raw
        assert secret not in repr(miss)


def test_a_recorded_miss_of_an_older_version() -> None:
    """A cassette recorded behind a replay may hold the old code of a miss: an answer like any."""
    old = error(1, -32099, "mcpmock: nothing recorded answers it")
    selection = SessionSelection(cassette(*OPENING, c(call(1, "a")), s(old)), PlayerOptions())

    assert [old] == replay(selection).heard(call(1, "a"))


@pytest.mark.parametrize(("on_miss", "hung_up"), [("hang", False), ("close", True)])
def test_other_ways_to_miss(on_miss: str, hung_up: bool) -> None:
    """A miss may stay silent, or end the session."""
    played = play(c(call(1, "a")), s(response(1)), on_miss=on_miss)

    assert [] == played.heard(call(1, "b"))
    assert hung_up is (played.pipeline.hung_up is not None)


def test_a_missed_batch() -> None:
    """Each request of a batch that nothing matches gets its own error, in one batch."""
    [raw] = play(*OPENING).heard(batch(call(1, "a"), INITIALIZED, call("b", "b")))

    assert [(1, -31999), ("b", -31999)] == [
        (one["id"], one["error"]["code"]) for one in json.loads(raw)
    ]


def test_exceptions_that_are_no_misses() -> None:
    """A ping is answered with {}, and a probe with -32601, where they were not recorded."""
    played = play(*OPENING)

    assert [response(5)] == played.heard(request(5, "ping"))
    assert [(6, -32601)] == errors(played.heard(request(6, "server/discover", {"_meta": {}})))
    assert 0 == player_of(played).missed


def test_a_recorded_ping_and_probe() -> None:
    """Where they were recorded, they are answered as recorded."""
    events = (
        c(request(1, "server/discover")),
        s(response(1, {"a": 1})),
        c(request(2, "ping")),
        s(response(2, {"b": 1})),
    )
    played = play(*events)

    assert [response(5, {"a": 1})] == played.heard(request(5, "server/discover", {"x": 1}))
    assert [response(6, {"b": 1})] == played.heard(request(6, "ping"))


DEEP_MISS = b'{"id":1,"method":"x","params":%b}'


@pytest.mark.parametrize(
    "live",
    [
        b'{"id":1,"method":"\\ud800"}',
        b'{"id":1,"method":"x","params":{"a":"\\ud800"}}',
        *(
            DEEP_MISS % (b'{"a":' * depth + b"1" + b"}" * depth)
            for depth in (200, 300, 400, 450, 500, 900, 100_000)
        ),
        b'{"id":1,"method":"x","params":{"a":1e300,"b":%b,"c":NaN,"d":1e400}}' % (b"9" * 5000),
        b'{"id":{"a":[]},"method":"x"}',
        b'{"id":null,"method":"x"}',
        b'[{"id":1,"method":"\\ud800"}]',
    ],
    ids=lambda raw: f"{len(raw)}-{raw[:44].decode()}",
)
def test_no_request_stops_a_session(live: bytes) -> None:
    """Whatever a request holds, it is answered with a miss and the next one is answered."""
    recorded = b'{"id":1,"method":"x","params":%b}' % (b'{"a":' * 450 + b"2" + b"}" * 450)
    played = play(c(recorded), s(response(1)), c(call(2, "b")), s(response(2)))

    assert 1 == len(played.heard(live))
    assert [response(7)] == played.heard(call(7, "b"))


def test_a_miss_beside_lone_surrogates() -> None:
    """A recorded request with a lone surrogate is a near miss like another."""
    played = play(c(b'{"id":2,"method":"x","params":{"a":"\\udfff"}}'), s(response(2)))

    assert [(1, -31999)] == errors(played.heard(request(1, "x", {"a": 1})))


def test_redacted_values() -> None:
    """The first live value binds the placeholder, later uses must agree, and responses give it
    back.
    """
    hole = "mcpmock:secret:token:1"
    events = [
        line for n in (1, 2) for line in (c(call(n, "x", key=hole)), s(response(n, {"got": hole})))
    ]
    played = play(*events, s(LOG))

    assert [response(1, {"got": "hunter2"})] == played.heard(call(1, "x", key="hunter2"))
    assert [(2, -31999)] == errors(played.heard(call(2, "x", key="other")))
    assert [response(3, {"got": "hunter2"}), LOG] == played.heard(call(3, "x", key="hunter2"))


def test_redacted_values_in_repeated_answers() -> None:
    """They are those of the session, whichever call they came with."""
    hole = "mcpmock:secret:token:1"
    login = c(call(1, "login", key=hole)), s(response(1))
    played = play(*login, c(call(2, "who")), s(response(2, {"key": hole})), repeats="last")
    played.heard(call(1, "login", key="hunter2"))

    for id_ in (2, 3, 4):
        assert [response(id_, {"key": "hunter2"})] == played.heard(call(id_, "who"))


@pytest.mark.parametrize("key", ["x", "y"])
def test_redacted_values_before_equal_ones(key: str) -> None:
    """The first recorded call that fits is meant, be it redacted or not."""
    calls = [call(1, "a", key="mcpmock:secret:token:1"), call(2, "a", key="x")]
    lines = [line for n, raw in enumerate(calls, 1) for line in (c(raw), s(response(n, {"n": n})))]
    for order, first in ((lines, 1), ([*lines[2:], *lines[:2]], 2 if key == "x" else 1)):
        played = play(*OPENING, *order).abandon()
        played.heard(INITIALIZE)

        assert [response(7, {"n": first})] == played.heard(call(7, "a", key=key))
