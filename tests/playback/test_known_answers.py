"""What is answered without a plan, in fixed conversations over pipes: the same bytes at the same
times as the player, wherever that takes over. (`tests/laws/test_known_answers.py` generates more.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec
import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.answer_index import index_answers
from mcpmock.playback.known_answers import EpisodeCursor
from mcpmock.playback.player import PlayerOptions
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import SessionSelection
from mcpmock.protocol.messages import C2S, Frame
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    OPENING,
    Line,
    c,
    c2s,
    call,
    cancelled,
    cassette,
    error,
    hangs_up,
    notification,
    progress,
    replay,
    request,
    response,
    s,
)
from tests.support.conversations import Planned

Said = Sequence[bytes | float]
"""What a client sends, and the seconds that it waits; nothing is the end of its input."""

END = b""
TAKE: Line = ("take", None)
ENDED: list[Line] = [("end", {"d": "c2s"}), ("end", {"d": "s2c"}), ("end", {"exit": 0})]
CHANGED = notification("notifications/roots/list_changed")
CHANGED_BY_NOTHING = notification("notifications/roots/list_changed", {})
SUBSCRIBED = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
HOLE = "mcpmock:secret:token:1"
ASKS, REPLY = request("r", "roots/list"), response("r", {"roots": []})
LIST, LISTED = request(3, "tools/list"), response(3, {"tools": []})
UNREAD: bytes = error(b"null")
LOGS: Line = ("stderr", "up\n")
OLD, NEW = "2025-06-18", "2025-11-25"
PROBES = [request(n, "server/discover", {"n": n}) for n in range(4)]


def told(id_: Any, name: str = "a", token: Any = None) -> bytes:
    """A call that wants progress."""
    return request(id_, "tools/call", {"name": name}, token=id_ if token is None else token)


def hello(name: str = "one", version: str = NEW, id_: Any = 0) -> bytes:
    client = {"name": name, "version": "1"}
    return request(id_, "initialize", {"protocolVersion": version, "clientInfo": client})


def welcome(version: str = NEW, **info: str) -> bytes:
    return response(0, {"protocolVersion": version, "serverInfo": info, "capabilities": {}})


def two_hellos(*first: Line, versions: tuple[str, str] = (NEW, NEW)) -> tuple[Line, ...]:
    """Two takes, the second of which begins with these."""
    one, two = versions
    took = c(hello("one", one)), s(welcome(one, name="s1"))
    return (*took, TAKE, *first, c(hello("two", two)), s(welcome(two, name="s2")))


def discovers(id_: int) -> tuple[Line, ...]:
    return c(PROBES[id_]), s(response(id_, {"n": id_}))


def heard(
    recorded: Cassette, said: Said, kind: type[SessionSelection]
) -> tuple[list[object], bool]:
    """Return all that a client gets, and when, and whether it was answered without a plan."""
    got: list[object] = []
    player = SessionPlayer(kind(recorded, PlayerOptions()), got.append)
    pipeline, now = Pipeline([player]), 0.0

    def note(batches: Sequence[Sequence[Frame]]) -> None:
        frames = [frame for frames in batches for frame in frames]
        got.extend((now, type(frame.fact), frame.raw) for frame in frames)

    note(pipeline.begin(now))
    for one in (*said, 10.0):
        if isinstance(one, bytes):
            note(pipeline.enter([c2s(one) if one else hangs_up(C2S)], now))
            continue
        until = now + one
        while (due := pipeline.next_due) is not None and due <= until:
            now = due
            note(pipeline.advance(now))
        now = until
    known = player._known is not None
    return [*got, player.leftovers(), player.missed, pipeline.hung_up], known


def recorded_order(*lines: Line) -> list[Any]:
    """Return what the client did."""
    asked = [raw for what, raw in lines if what == "c2s"]
    return [*asked, END] if ("end", {"d": "c2s"}) in lines else asked


ONE, OTHER = (c(call(1, "a")),), (c(call(2, "b")),)
TWO = *ONE, *OTHER
CROSSED = (*TWO, s(response(2, {"b": 1})), s(response(1, {"a": 1})))
TOLD = c(told(1)), s(progress(1)), s(response(1))
ASKED = c(call(1, "a")), s(ASKS), c(REPLY), s(LOG), s(response(1))
CANCELLED = c(told(1)), s(progress(1)), c(cancelled(1)), s(progress(1, 2)), s(response(1))
THREE = (*TWO, c(call(3, "c")), s(response(3)), s(response(2)), s(response(1)))
RESPELLED = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{},"name":"a"}}'

UNKNOWN = call("unknown", "z"), cancelled("unknown"), b"noise"
"""What only the player knows."""

TOLD_MORE = c(told(9)), s(progress(9)), s(response(9))
MANY = [call(n, f"{n}") for n in range(6)]
CONVERSATIONS: list[tuple[Sequence[Line], list[Said], list[Said]]] = [
    # Calls, one by one and together; with ids of the client's own, and in another order.
    (
        CROSSED,
        [
            [call(7, "a"), call("y", "b")],
            [call(2, "b"), call(1, "a")],
            [call(2, "a"), call(1, "b")],
            [call(1, "a"), 0.02, call(2, "b")],
            [call(1, "a"), END],
        ],
        [[call(1, "a"), 0.01, notification("ping"), 0.015, call(2, "b")]],
    ),
    (
        THREE,
        [
            [call(3, "c"), call(1, "a"), call(2, "b")],
            [call(1, "a"), call(3, "c"), call(2, "b")],
            [call(2, "b"), call(3, "c")],
            [call(3, "c"), call(2, "b"), 0.01, call(1, "a"), END],
        ],
        [],
    ),
    # A grace that was learned lasts.
    (
        (*map(c, MANY), *(s(response(n)) for n in range(6))),
        [[MANY[0], 0.02, MANY[1], 0.02, MANY[2], 0.02, MANY[3], 0.01, MANY[4]]],
        [[MANY[0], 0.02, MANY[1], 0.02, MANY[2], 0.02, MANY[3], UNKNOWN[0], MANY[4], 0.01]],
    ),
    (
        (*map(c, MANY), *TOLD_MORE, *(s(response(n)) for n in range(6))),
        [[MANY[0], 0.02, MANY[1], 0.02, MANY[2], 0.02, told(9), MANY[3], 0.01]],
        [],
    ),
    # The same call again; a call in other words.
    (
        (*ONE, s(response(1, {"n": 1})), c(call(2, "a")), s(response(2, {"n": 2}))),
        [[RESPELLED, call(2, "a")], [call("x", "a"), call("y", "a")]],
        [[call("x", "a"), call("y", "a"), call("z", "a")], [call(1, "a"), RESPELLED, RESPELLED]],
    ),
    (
        (c(RESPELLED), s(response(1, {"n": 1})), c(call(2, "a")), s(response(2, {"n": 2}))),
        [[call(2, "a"), RESPELLED], [call("x", "a"), call("y", "a")]],
        [[call(2, "a"), call(3, "a"), call(4, "a")]],
    ),
    # Progress, and what is behind it.
    (
        TOLD,
        [
            [told(1, token="t")],
            [told("x", token=9)],
            [call("x", "a")],
            [request(1, "tools/call", {"name": "a"})],
            [told("x"), END],
            [told(1), cancelled(1)],
        ],
        [],
    ),
    (
        (*TOLD, s(progress(1, 2)), c(told(2)), s(progress(2)), s(LOG), s(response(2))),
        [[told("x"), told("y")], [told(1), 0.001, told(2)], [told(1), 0.002, told(2)]],
        [],
    ),
    (
        (c(told(1)), *OTHER, s(progress(1)), s(response(2)), s(progress(1)), s(response(1))),
        [[told(5), call(6, "b")], [call(2, "b"), told(1)], [call(2, "b"), 0.021, told(1)]],
        [],
    ),
    (
        (
            *(*TOLD, c(told(2)), s(progress(2)), s(ASKS)),
            *(s(response(2)), c(REPLY), s(progress(2, 2))),
        ),
        [[told(1), 0.001, told(2), 0.0012, REPLY, 0.01]],
        [],
    ),
    (
        (c(call(1, "a", progressToken=1)), s(response(1))),
        [[call("x", "a", progressToken=1)]],
        [[call("x", "a", progressToken=2)]],
    ),
    # What the server asks within a call and outside of one, and asks again.
    (
        ASKED,
        [[REPLY, call(1, "a")], [call("x", "a"), error("r")]],
        [[call(1, "a"), 0.03, REPLY, REPLY], [call("x", "a"), response("q")]],
    ),
    (
        (s(ASKS), c(REPLY), *ONE, s(ASKS), c(REPLY), s(response(1))),
        [[REPLY, call(1, "a"), REPLY], [call(1, "a"), REPLY, REPLY]],
        [[response("q"), call(1, "a")], [error(b"null"), call(1, "a")]],
    ),
    ((*TWO, s(ASKS), s(response(2)), c(REPLY), s(response(1))), [[call(1, "a"), REPLY]], []),
    # Cancels, of the right call and of others.
    (
        CANCELLED,
        [[told("x"), cancelled("x")], [told(1), cancelled(1), cancelled(1)], [told(1), 0.03]],
        [
            [told(1), cancelled(2)],
            [told(1), notification("notifications/cancelled")],
            [cancelled(1), told(1)],
        ],
    ),
    (
        (*CROSSED, c(cancelled(1)), s(LOG), c(call(1, "c")), s(response(1))),
        [
            [call(1, "a"), cancelled(1), call(2, "b")],
            [call(1, "a"), call(2, "b"), cancelled(2), call(1, "c"), cancelled(1)],
            [call(9, "a"), call(9, "b"), cancelled(9), call(9, "c")],
            [call(9, "a"), cancelled(9), call(9, "b"), cancelled(9), call(8, "c"), cancelled(9)],
        ],
        [],
    ),
    (
        (*TWO, c(cancelled(2)), c(cancelled(2)), s(response(1))),
        [[call("x", "a"), call("y", "b"), cancelled("y"), cancelled("y"), cancelled("y")]],
        [],
    ),
    # Notifications of both sides, and standard error.
    (
        (LOGS, *OPENING, s(LOG), c(CHANGED), s(LOG), ("stderr", "changed\n"), *CROSSED),
        [
            [INITIALIZE, CHANGED, call(1, "a"), call(2, "b")],
            [INITIALIZE, CHANGED, INITIALIZED, call(1, "a"), 0.03],
            [INITIALIZE, CHANGED_BY_NOTHING, call(1, "a")],
        ],
        [[INITIALIZE, INITIALIZED, CHANGED, CHANGED, call(1, "a")]],
    ),
    (
        (*ONE, s(LOG), *OTHER, s(LOG), s(response(2)), s(LOG), LOGS, s(response(1))),
        [[call(2, "b"), call(1, "a")], [call(1, "a"), 0.03, call(2, "b")], [call(2, "b"), END]],
        [],
    ),
    (
        (s(LOG), *ONE, s(LOG), s(response(1)), c(CHANGED), s(LOG), *OTHER, s(LOG), s(response(2))),
        [[call(2, "b")], [call(1, "a"), call(2, "b")], [call(2, "b"), 0.01, CHANGED]],
        [],
    ),
    # A request where a notification was recorded, and the other way round.
    (
        (*OPENING, c(CHANGED), s(LOG), c(LIST), s(response(3))),
        [[INITIALIZE, CHANGED, LIST]],
        [
            [INITIALIZE, request(1, "notifications/roots/list_changed")],
            [INITIALIZE, notification("tools/list"), LIST],
        ],
    ),
    # Noise of the server, answers to nothing and late ones.
    (
        (*ONE, s(b"noise"), s(response(1)), s(b"more"), *OTHER, s(response(2))),
        [[call(2, "b"), call(1, "a")]],
        [],
    ),
    (
        (*ONE, s(UNREAD), s(response(1)), s(UNREAD), *OTHER, s(response(2))),
        [[call(2, "b"), call(1, "a")]],
        [],
    ),
    (
        (*ONE, s(response(1)), *OTHER, s(response(1, {"late": 1})), s(response(2))),
        [[call("x", "a"), call("y", "b")], [call(2, "b"), call(1, "a")]],
        [],
    ),
    # What names a subscription.
    ((*ONE, s(response(1, SUBSCRIBED))), [[call("live", "a")], [call(2, "a")]], []),
    ((*ONE, s(response(1, {"text": [SUBSCRIBED]}))), [[call("live", "a")]], []),
    # What was hidden: in answers, and in what the client asks.
    (
        (*TWO, s(response(2, {"token": HOLE})), s(response(1))),
        [[call("x", "a"), call("y", "b")], [call(2, "b")]],
        [],
    ),
    (
        (c(call(1, "a", key=HOLE)), s(response(1)), *OTHER, s(response(2, {"key": HOLE}))),
        [],
        [
            [call(1, "a", key="k"), call(2, "b")],
            [call(2, "b"), call(1, "a", key="k")],
            [call(1, "a", key=HOLE), call(2, "b")],
        ],
    ),
    (
        (*OTHER, s(response(2)), c(call(1, "b", key=HOLE)), s(response(1, {"key": HOLE}))),
        [[call(2, "b"), 0.01], [call("x", "b"), 0.01]],
        [[call(2, "b"), call(1, "b", key="k")], [call("x", "b"), call(2, "b")]],
    ),
    (
        (
            *(c(call(1, "a", key=HOLE)), s(response(1, {"n": 1}))),
            *(c(call(2, "a", key="k")), s(response(2, {"n": 2}))),
            *(c(call(3, "a", key="k")), s(response(3, {"n": 3}))),
        ),
        [],
        [[call(n, "a", key="k") for n in order] for order in [(1, 2), (2, 1), (3, 2, 1)]],
    ),
    (
        (*ONE, ("stderr", f"it is {HOLE}\n"), s(response(1)), s(LOG)),
        [[call("x", "a")]],
        [],
    ),
    # The ends.
    (
        (*CROSSED, *ENDED[:1], s(LOG), ("stderr", "bye\n"), *ENDED[1:]),
        [[call(1, "a"), END], [call(1, "a"), call(2, "b"), 0.03, END, call(3, "c")], [END, END]],
        [],
    ),
    ((*TOLD, *ENDED), [[told(1), 0.001, END], [told("x"), END]], []),
    (
        (*CROSSED, ("end", {"d": "c2s", "signal": 15}), ENDED[1], ("end", {"signal": 15})),
        [[call(1, "a"), call(2, "b"), END]],
        [],
    ),
    # Several recordings of one program.
    (
        (*OPENING, *CROSSED, TAKE, *OPENING, *ONE, s(response(1, {"n": 2})), c(LIST), s(LISTED)),
        [[INITIALIZE, call(2, "b"), call(1, "a")], [INITIALIZE, INITIALIZED, END]],
        [
            [INITIALIZE, INITIALIZED, call(1, "a"), LIST],
            [INITIALIZE, LIST, call(1, "a")],
            [INITIALIZE, INITIALIZED, LIST, call(2, "b")],
            [INITIALIZE, call(2, "c")],
        ],
    ),
    (
        (*CANCELLED, c(CHANGED), s(LOG), TAKE, *CANCELLED[:2], s(response(1)), c(LIST), s(LISTED)),
        [[told("x"), cancelled("x"), CHANGED], [told("x"), END]],
        [
            [told("x"), CHANGED, cancelled("x"), LIST],
            [told("x"), cancelled("x"), LIST],
            [told(1), notification("ping"), END],
        ],
    ),
    (
        (*CANCELLED, TAKE, *CANCELLED[:2], s(response(1)), c(CHANGED), c(LIST), s(LISTED)),
        [],
        [[told("x"), cancelled("x"), CHANGED], [told("x"), cancelled("x"), LIST]],
    ),
    (
        (*ASKED, *OTHER, s(response(2)), TAKE, *ASKED, c(CHANGED), s(LOG), c(LIST), s(LISTED)),
        [[call("x", "a"), REPLY, call("y", "b")]],
        [
            [call(1, "a"), REPLY, CHANGED, LIST],
            [call(1, "a"), REPLY, LIST],
            [call(1, "a"), CHANGED],
        ],
    ),
    (
        (*ONE, s(response(1)), c(CHANGED), s(LOG), TAKE, *ONE, s(LISTED), c(CHANGED_BY_NOTHING)),
        [],
        [[call(1, "a"), CHANGED], [call(1, "a"), CHANGED_BY_NOTHING]],
    ),
    # The nearest handshake leads, unless something has come of another already.
    (
        two_hellos(),
        [[hello("one", id_="x")], [hello("two", id_="x")], [hello("three"), END]],
        [[hello("two"), LIST], [hello("two"), CHANGED], [LIST, hello("two")]],
    ),
    ((*two_hellos(), c(LIST), s(LISTED)), [[hello("two", id_="x"), LIST]], [[LIST, hello("two")]]),
    ((LOGS, *two_hellos()), [[hello("one")]], [[hello("two")]]),
    (two_hellos(s(LOG)), [[hello("one")]], [[hello("two")]]),
    (
        (c(hello()), s(welcome(n="1")), c(hello("two")), s(welcome(n="2"))),
        [],
        [[hello("two"), hello()], [hello("three"), hello()]],
    ),
    ((c(CHANGED), *two_hellos(c(CHANGED))), [[CHANGED, hello()]], [[CHANGED, hello("two")]]),
    # The answer to a handshake names the revision that was asked for.
    (two_hellos(versions=(OLD, OLD)), [[hello("two", OLD)]], [[hello("one")], [hello("two")]]),
    (two_hellos(versions=(OLD, NEW)), [], [[hello(version=OLD)], [hello("two")]]),
    (two_hellos(versions=(NEW, OLD)), [], [[hello("two", OLD)], [hello(version=OLD)]]),
    (
        (*discovers(1), *ONE, s(response(1)), TAKE, *discovers(2)),
        [],
        [[PROBES[2], call(1, "a")], [PROBES[3]], [PROBES[1], call(1, "a")]],
    ),
    (
        (*discovers(1), *ONE, s(response(1))),
        [[PROBES[2], call(1, "a")]],
        [[PROBES[3], PROBES[1]]],
    ),
]


@pytest.mark.parametrize(("recorded", "known", "unknown"), CONVERSATIONS)
def test_what_a_client_gets(
    recorded: Sequence[Line], known: list[Said], unknown: list[Said]
) -> None:
    """Whether it says just what was recorded, or nearly; at once or with time between; and wherever
    something comes that is unknown. What is known needs no plan.
    """
    played, own = cassette(*recorded), list[Said]()
    for is_take, lines in groupby(recorded, TAKE.__eq__):
        own += [] if is_take else [recorded_order(*lines)]
    odd = [[*one[:n], UNKNOWN[n % 3], *one[n:]] for one in own for n in range(len(one) + 1)]
    odd += [[*one, UNKNOWN[0]] for one in known]
    apart = [[part for one in live for part in (one, 0.003)] for live in [*own, *known]]
    for live in [*own, *known, *unknown, *odd, *apart]:
        assert heard(played, live, SessionSelection)[0] == heard(played, live, Planned)[0], live
    for live in [*own[: bool(known)], *known]:
        assert heard(played, live, SessionSelection)[1], live
    for live in unknown:
        assert not heard(played, live, SessionSelection)[1], live


@pytest.mark.parametrize("kind", [SessionSelection, Planned])
def test_a_session_that_ended_was_played(kind: type[SessionSelection]) -> None:
    """The next clients get what nobody has got, as long as there is some."""
    takes = [(*ONE, s(response(1, {"n": n})), TAKE) for n in range(3)]
    selection = kind(cassette(*[line for take in takes for line in take][:-1]), PlayerOptions())
    answers = []
    for said in ([call(1, "a"), END], [call(1, "a")], [call(1, "a"), END], [END], [call(1, "a")]):
        played = replay(selection)
        answers.append([raw for one in said for raw in played.heard(one or hangs_up(C2S))])

    assert answers == [[response(1, {"n": n})] if n is not None else [] for n in (0, 1, 2, None, 1)]


def test_each_of_many_equal_calls_is_found_at_once() -> None:
    """However many of them were answered before, and cancelled."""

    class Counted(list[int]):
        reads = 0

        def __getitem__(self, at: Any) -> Any:
            self.reads += 1
            return super().__getitem__(at)

    numbers, lines = Counted(range(200)), [c(call(n, "a")) for n in range(200)]
    [recorded] = cassette(*lines).episodes()
    index = index_answers(recorded)
    assert index is not None
    cursor = EpisodeCursor(0, msgspec.structs.replace(index, replies={b"1": numbers}))
    named = []
    for number in range(200):
        assert cursor.find_reply(b"1") == number
        cursor.use(number, 0.0)
        assert cursor.find_call(b"%d" % number) == number
        named.append(cursor._named)

    assert numbers.reads < 2_000
    assert named == [*range(1, 201)]
