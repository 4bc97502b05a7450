"""Exploring the demo server in memory: every bug is found, shrunk and shown again; a sound server
passes; the same seed gives the same rows.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from ast import literal_eval
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from msgspec import structs
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.errors import CannotStart
from mcpmock.explore.arrangement import PROBE_ID
from mcpmock.explore.client_oracles import ClientBaseline, ClientRun
from mcpmock.explore.enumeration import Space
from mcpmock.explore.fault_set import chosen_kinds
from mcpmock.explore.oracles import SERVER_ORACLES, Baseline
from mcpmock.explore.results import Exploration, JudgedRun
from mcpmock.explore.variant import Variant, VariantChange
from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.kinds.order import Duplicate
from mcpmock.faults.match import Match
from mcpmock.faults.races.fault import CancelRace
from mcpmock.platforms import session_members
from mcpmock.protocol.messages import decode
from mcpmock.sessions import explore
from mcpmock.sessions.explore import (
    LEAST_TIMEOUT_S,
    ExploredPeer,
    Explorer,
    Limits,
    encoded_as,
    end_session,
    play_again,
)
from mcpmock.sessions.explore_client import ExploredClient
from mcpmock.sessions.explore_server import ExploredServer
from mcpmock.sessions.run import Run
from mcpmock.sessions.servers import Command
from mcpmock.sessions.take import Say
from mcpmock.trials.oracle import Broken
from tests.support import INITIALIZE, WELCOME, c, call, cassette, request, response, s
from tests.support.every import EVERY
from tests.support.explored import RECORDED, DemoInMemory, demo_server, explored, shown_again
from tests.support.processes import gone


@pytest.mark.parametrize(
    ("http", "only"), [(False, None), *((True, only) for only in ([None] if EVERY else [3, 5]))]
)
def test_a_sound_server_passes(tmp_path: Path, http: bool, only: int | None) -> None:
    """Nothing is broken or odd, whatever is tried, and no folder is made. Over HTTP two calls are
    tried, of which one asks; with MCPMOCK_E2E_ALL=1 all.
    """
    found, rows = explored(tmp_path, kinds="duplicate", only=only, jobs=4, http=http)

    assert [] == [row.value() for row in rows if row.verdict in ("broken", "odd")]
    assert (found.planned, 0, []) == (len(rows), found.status, list(tmp_path.iterdir()))


@pytest.mark.parametrize(
    ("bug", "oracle", "text"),
    [
        (
            "loses-overlapping-answer",
            "unanswered",
            "tools/call countdown #4 sent before the progress 1 of tools/call countdown #3",
        ),
        ("crashes-on-early-cancel", "ends-early", "tools/call countdown #3 cancelled at once"),
        (
            "swaps-progress-tokens",
            "rule:progress-increases",
            "tools/call countdown #4 sent before the progress 1 of tools/call countdown #3",
        ),
        (
            "deadlocks-when-asking",
            "unanswered",
            "tools/call confirm #6 sent before the question 1 of tools/call ask #5",
        ),
        ("leaks-task-per-cancel", "does-not-end", "tools/call countdown #3 cancelled at once"),
    ],
)
def test_a_bug_is_found_and_shrunk(tmp_path: Path, bug: str, oracle: str, text: str) -> None:
    """To one change, with the plan that shows it again: it fails, and a sound server passes it."""
    found, _ = explored(tmp_path, bug, only=5 if "asking" in bug else 3)
    first = found.failures[0]

    assert (1, oracle, "5 of 5") == (found.status, first.broken.oracle, first.again)
    assert f"recorded order, except: {text}" == first.variant.text
    assert first.variant.keep is not None
    assert len(first.variant.keep) < len(load(RECORDED).takes[0].events) / 2
    assert load(Path(first.cassette)).takes[0].events
    assert [oracle, None] == [shown_again(first.plan, one) for one in (bug, None)]


@pytest.mark.parametrize(
    ("bug", "oracle", "text"),
    [
        (
            "loses-overlapping-answer",
            "unanswered",
            "tools/call countdown #4 sent before the progress 1 of tools/call countdown #3",
        ),
        (
            "forgets-session-on-resume",
            "session-lost",
            "the connection of tools/call countdown #3 lost before its first message",
        ),
    ],
)
def test_a_bug_is_found_over_http(tmp_path: Path, bug: str, oracle: str, text: str) -> None:
    """A call that is lost, and a session that is forgotten when its client loses a connection."""
    found, _ = explored(tmp_path, bug, only=3, http=True)
    first = found.failures[0]

    assert (1, oracle, "5 of 5") == (found.status, first.broken.oracle, first.again)
    assert f"recorded order, except: {text}" == first.variant.text
    again = [shown_again(first.plan, one, http=True) for one in (bug, None)]
    assert [oracle, None] == again


@pytest.mark.parametrize(
    ("kinds", "only", "http", "places", "reached", "reaction"),
    [
        ("none", 3, False, ["at once"], True, "silent"),
        ("none", 3, False, ["behind message 3 of 4"], False, "silent"),
        ("none", 3, False, ["behind message 4 of 4"], True, "silent"),
        ("none", 3, False, ["12 before 8"], True, None),
        ("none", 3, True, ["behind message 1"], True, None),
        ("none", 7, True, ["before its first message"], False, None),
        ("none", 3, False, ["behind message 1"], False, None),
        ("duplicate", 3, False, ["at tools/call #3"], True, None),
        ("duplicate", 3, False, ["at tools/call #99"], False, None),
        ("duplicate", 3, False, ["at tools/call #3", "at once"], True, "silent"),
        ("duplicate", 3, False, ["at tools/call #99", "at once"], False, "silent"),
        ("duplicate", 3, False, ["at tools/call #3", "behind message 3 of 4"], False, "silent"),
        ("duplicate", 3, True, ["at tools/call #99", "behind message 1"], False, None),
    ],
)
def test_what_a_run_reached(
    kinds: str, only: int, http: bool, places: list[str], reached: bool, reaction: str | None
) -> None:
    """A run says whether all its changes took place, and what the server did behind a cancel."""
    space = space_of(kinds, only, resumes=True)
    known = {c.at: c for one in space.variants() for c in one.changes}
    if kinds == "duplicate":
        nowhere = Duplicate(match={"id": 99}, toward="server")
        known["at tools/call #99"] = attrs.evolve(known["at tools/call #3"], fault=nowhere)
    run = judged(load(RECORDED), *(known[place] for place in places), http=http)

    assert (reached, reaction) == (run.reached, run.reaction)


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ([INITIALIZE, call(2, "a"), request(3, "tools/list")], "ping"),
        ([request(1, "tools/list", {"cursor": "x"}), call(2, "a")], "tools/list"),
        ([request(1, "server/discover"), call(2, "a")], "server/discover"),
        ([request(1, "resources/read"), call(2, "a")], None),
    ],
)
def test_what_is_asked_behind_a_cancel(recorded: list[bytes], asked: str | None) -> None:
    """A request that changes nothing, with its params: without a handshake, which has a ping, one
    that was recorded.
    """
    lines = [line for n, one in enumerate(recorded, 1) for line in (c(one), s(response(n)))]
    events = cassette(*lines).takes[0].events
    [cancel] = next(Space(side="server", events=events, kinds=[], only=2).variants()).changes
    run = judged(cassette(*lines), cancel)
    assert run.cassette is not None
    sent = [decode(event.payload) for event in run.cassette.takes[0].events if event.payload]
    found = [one for one in sent if one.get("id") == decode(PROBE_ID) and "method" in one]

    assert [asked] * bool(asked) == [one["method"] for one in found]
    assert [{"cursor": "x"}] * (asked == "tools/list") == [
        one["params"] for one in found if "params" in one
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no client is explored there")
@pytest.mark.parametrize(
    ("program", "broken", "status"),
    [
        ("exit 0", [], 0),
        ("exec sleep 60", ["hang"], -9),
        ("sleep 60 & sleep 60", ["hang"], -9),
        ("sleep 60 & exit 0", ["leaves-process"], 0),
    ],
)
async def test_a_client_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch, program: str, broken: list[str], status: int
) -> None:
    """It is ended at the limit, and the run says so; nothing of it is left."""
    monkeypatch.setattr(explore, "LEFTOVER_TIMEOUT_S", 0.1)
    peer = ExploredClient(cassette=load(RECORDED), words=["sh", "-c", program])
    peer.baseline = ClientBaseline.of([ClientRun(cassette=load(RECORDED), status=0)])
    before = len(os.listdir("/proc/self/fd"))
    run = await peer.run(Variant(), 0.1 if broken == ["hang"] else 60.0)

    assert broken == [one.oracle for one in run.broken]
    assert run.cassette is not None
    assert ("stdio", status) == (run.cassette.takes[0].transport, run.status)
    assert before >= len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(sys.platform == "win32", reason="no client is explored there")
@pytest.mark.parametrize(("name", "status"), [("none", 127), ("plain", 126)])
async def test_a_client_that_cannot_start(tmp_path: Path, name: str, status: int) -> None:
    """It ends the exploration, as a shell would."""
    (tmp_path / "plain").touch()
    peer = ExploredClient(cassette=load(RECORDED), words=[str(tmp_path / name)])
    with pytest.RaisesGroup(CannotStart, flatten_subgroups=True) as refused:
        await peer.begin()

    [error] = refused.value.exceptions
    assert isinstance(error, CannotStart)
    assert status == error.exit_code


async def test_what_a_server_leaves_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that it started and did not end are named."""
    monkeypatch.setattr(explore, "LEFTOVER_TIMEOUT_S", 0.1)
    answers = [WELCOME, response(decode(PROBE_ID))]
    program = "".join(f"read -r _; echo '{one.decode()}'; " for one in answers)
    server = Command(
        ["sh", "-c", f"{program} cat >/dev/null; sleep 60 </dev/null >/dev/null 2>&1 &"]
    )
    peer = ExploredServer(cassette=cassette(c(INITIALIZE), s(WELCOME)), server=server)
    run = await peer.run(Variant(), LEAST_TIMEOUT_S)

    left = [one.text for one in run.broken if one.oracle == "leaves-process"]
    assert ["it left a process behind: sleep"] == left


@pytest.mark.parametrize(
    ("kinds", "http", "at", "waits"),
    [
        ("none", False, "at once", True),
        ("duplicate", False, "at tools/call #3", False),
        ("none", True, "behind message 1", False),
    ],
)
def test_how_long_a_late_answer_is_waited_for(kinds: str, http: bool, at: str, waits: bool) -> None:
    """Behind a cancel, as long as the call took when it was recorded, and a bit."""
    peer = ExploredServer(cassette=load(RECORDED), server=DemoInMemory())
    variants = space_of(kinds, 3, resumes=http).variants()
    change = next(c for one in variants for c in one.changes if c.at == at)
    took = peer._took[change.request]

    assert took > 0.0
    assert (1.2 * took + 0.02 if waits else 0.0) == peer._linger(Variant(changes=(change,)))


@pytest.mark.parametrize(
    ("in_full", "took", "seconds"),
    [(True, 0.0, 2.0), (True, 1.0, 5.0), (False, 0.0, 0.5), (False, 0.2, 1.0)],
)
def test_how_long_a_server_may_take_to_end(in_full: bool, took: float, seconds: float) -> None:
    """As long as any; less, once one that does not end was waited for, but as this one needs."""
    peer = ExploredServer(cassette=load(RECORDED), server=DemoInMemory())
    peer.baseline = Baseline(end_seconds=took)

    assert seconds == peer._end_timeout(in_full=in_full)


@pytest.mark.parametrize(
    ("hang_limit", "took", "seconds"),
    [(LEAST_TIMEOUT_S, 0.0, 2.0), (1.0, 0.0, 0.5), (1.0, 1.0, 5.0)],
)
async def test_a_server_is_given_the_time_to_end_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, hang_limit: float, took: float, seconds: float
) -> None:
    """The channel of each run is told."""
    opened: list[Any] = []
    real = Run.open_server

    async def open_server(run: Run) -> Any:
        opened.append(await real(run))
        return opened[-1]

    monkeypatch.setattr(Run, "open_server", open_server)
    peer = ExploredServer(
        cassette=cassette(c(INITIALIZE), s(WELCOME)),
        server=Command(["sh", "-c", f"read -r _; echo '{WELCOME.decode()}'"]),
        baseline=Baseline(end_seconds=took),
    )
    await peer.run(Variant(), hang_limit)

    assert [seconds] == [one.step_timeout for one in opened]


def client(program: str, *words: str) -> ExploredClient:
    """A program that gets the address of the fake server, and these words."""
    words = (sys.executable, "-Sc", program, "{url}", *words)
    return ExploredClient(cassette=load(RECORDED), words=words)


ASKS = """
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

_, url, *asked = sys.argv
head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
for body in asked:
    connection = HTTPConnection(urlsplit(url).netloc)
    connection.request("POST", urlsplit(url).path, body, head)
    answer = connection.getresponse()
    head.setdefault("Mcp-Session-Id", answer.headers["Mcp-Session-Id"])
    answer.read()
sys.exit("x" * 70_000 + "the end")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no client is explored there")
@pytest.mark.parametrize(
    ("asked", "failing", "broken"),
    [
        ([], ["never-connects", "exit-status"], []),
        ([INITIALIZE], ["exit-status"], []),
        ([INITIALIZE, request(9, "tools/none")], ["exit-status"], ["miss"]),
    ],
)
async def test_what_a_client_asks(
    asked: list[bytes], failing: list[str], broken: list[str]
) -> None:
    """It is recorded with its answers. In the recorded order its status has to be 0, and the end of
    what it prints is told.
    """
    peer = client(ASKS, *(one.decode() for one in asked))
    begun = await peer.begin()
    assert failing == [one.oracle for one in begun]
    assert (not asked) is any(one.text.endswith(": " + "x" * 65_528 + "the end") for one in begun)
    run = await peer.run(Variant(), 60.0)
    assert broken == [one.oracle for one in run.broken]
    unknown = "nothing recorded answers its tools/none"
    assert [unknown] * len(broken) == [one.text for one in run.broken]

    assert run.cassette is not None
    assert "streamable-http" == run.cassette.takes[0].transport
    events = run.cassette.takes[0].events
    assert asked == [one.payload for one in events if one.d == "c2s" and one.payload]
    assert len(asked) == len([one for one in events if one.d == "s2c" and one.payload])
    assert (1, "exit 1", 0.0 < peer.slowest) == (run.status, run.reaction, True)


@pytest.mark.skipif(sys.platform == "win32", reason="no client is explored there")
async def test_what_a_client_is_given(tmp_path: Path) -> None:
    """The address of its server in its words and in its environment; `{command}` alone is as many
    words as it has.
    """
    file = tmp_path / "given"
    names = ["MCPMOCK_URL", "MCPMOCK_COMMAND"]
    program = f"import os, sys; print(sys.argv[1:], *map(os.getenv, {names}), sep='\\n')"
    words = [sys.executable, "-Sc", program, "at {url}", "{command}", "run {command}"]
    peer = ExploredClient(
        cassette=load(RECORDED), words=["sh", "-c", f'exec "$@" >{file}', "sh", *words]
    )
    await peer.run(Variant(), 60.0)

    said, url, command = file.read_text().splitlines()
    parts = json.loads(command)
    *given, last = literal_eval(said)
    assert ([f"at {url}", *parts], ["run", *parts]) == (given, shlex.split(last))
    assert url.startswith("http://127.0.0.1:")


def test_how_a_client_is_shown_again() -> None:
    """By a command that names the plan and the client."""
    peer = ExploredClient(cassette=load(RECORDED), words=["sh", "-c", "a b"])
    shown = f"mcpmock explore {peer.cassette.name} --client --faults p.toml -- sh -c 'a b'"
    assert shown == peer.command(Path("p.toml"))


class Prepared(ExploredClient):
    """A client whose runs take a second each, and give these statuses and receipts."""

    def __init__(self, *runs: tuple[int, list[dict[str, Any]]]) -> None:
        super().__init__(cassette=load(RECORDED), words=["a"])
        self.runs, self.played = iter(runs), list[Variant]()

    async def _play(self, variant: Variant, hang_limit: float) -> ClientRun:
        self.played.append(variant)
        status, receipts = next(self.runs)
        await trio.sleep(1)
        return ClientRun(cassette=self.cassette, status=status, receipts=tuple(receipts))


def fault(one: Fault) -> VariantChange:
    return VariantChange(kind=one.kind, at="", text="", fault=one)


def race(i: int, j: int) -> VariantChange:
    return fault(CancelRace(i=i, j=j, match={"method": "tools/call", "nth": 2}))


def drew(**drawn: int) -> dict[str, Any]:
    return {"kind": "cancel_race", "drawn": drawn}


MOVED = VariantChange(kind="order", at="", text="", move="5 before 3")
DUPLICATED = fault(Duplicate())
LEFT = {"kind": "duplicate"}
MET = (0, [drew(i=0, j=0)])


@pytest.mark.parametrize(
    ("changes", "cancels", "runs", "reached", "reaction"),
    [
        ([], False, [(0, [])], True, "exit 0"),
        ([MOVED], False, [(0, [])], True, "exit 0"),
        ([DUPLICATED], False, [(0, [LEFT])], True, "exit 0"),
        ([DUPLICATED], False, [(0, [drew(i=0)])], False, "exit 0"),
        ([MOVED, DUPLICATED], False, [(0, [])], False, "exit 0"),
        ([race(1, 2)], True, [(0, []), (3, [LEFT, drew(i=1, j=2)])], True, "exit 3"),
        ([race(1, 2)], False, [MET, (0, [drew(i=1, j=2)])], True, "exit 0"),
        ([race(1, 2)], False, [MET, (0, [drew(i=1, j=1), drew(i=2, j=2)])], False, "exit 0"),
        ([race(1, 2)], False, [MET, (0, [{"kind": "cancel_race"}])], False, "exit 0"),
        ([race(1, 2)], False, [(0, [LEFT])], False, "the client does not cancel it"),
        ([race(1, 2)], False, [(0, [drew(k=1)])], False, "the client does not cancel it"),
        ([race(1, 2), DUPLICATED], True, [MET, (0, [drew(i=1, j=2)])], False, "exit 0"),
        ([race(1, 2), DUPLICATED], True, [MET, (0, [drew(i=1, j=2), LEFT])], True, "exit 0"),
    ],
)
async def test_what_a_run_of_a_client_reached(
    autojump_clock: MockClock,
    changes: list[VariantChange],
    cancels: bool,
    runs: list[tuple[int, list[dict[str, Any]]]],
    reached: bool,
    reaction: str,
) -> None:
    """All faults fired, a race in its cell. A race is run only with a client that cancels the
    request, in the recorded order or in its plainest race, which is run first.
    """
    peer = Prepared(*runs)
    peer.baseline = ClientBaseline(cancelled=frozenset([("tools/call", 2)] if cancels else []))
    run = await peer.run(Variant(step="pairs", changes=tuple(changes)), 60.0)

    assert (reached, reaction, len(runs)) == (run.reached, run.reaction, len(peer.played))


async def test_the_plainest_race_of_a_request(autojump_clock: MockClock) -> None:
    """It is run once for all races of the request, which wait for it; how it ends is no failure of
    them.
    """
    peer = Prepared((4, [drew(i=0, j=0)]), (4, []), (5, []))
    peer.baseline = ClientBaseline(statuses=frozenset([0]))
    found = list[JudgedRun]()

    async def run(change: VariantChange) -> None:
        found.append(await peer.run(Variant(changes=(change,)), 60.0))

    async with trio.open_nursery() as nursery:
        for j in (1, 2):
            nursery.start_soon(run, race(0, j))

    assert 2.0 == trio.current_time()
    assert [[], ["exit-status"]] == sorted([b.oracle for b in one.broken] for one in found)
    [plainest] = peer.played[0].changes
    assert isinstance(plainest.fault, CancelRace)
    assert (0, 0, "silent") == (plainest.fault.i, plainest.fault.j, plainest.fault.reaction)


def space_of(kinds: str, only: int, *, resumes: bool = False) -> Space:
    events, tried = load(RECORDED).takes[0].events, chosen_kinds(kinds, "server")
    return Space(side="server", events=events, kinds=tried, only=only, resumes=resumes)


def judged(recorded: Cassette, *changes: VariantChange, http: bool = False) -> JudgedRun:
    """One run against the demo server, on a clock of its own."""

    async def play() -> JudgedRun:
        async with demo_server(None, http=http) as server:
            explored = ExploredServer(cassette=recorded, server=server)
            await explored.begin()
            return await explored.run(Variant(step="pairs", changes=changes), LEAST_TIMEOUT_S)

    return trio.run(play, clock=MockClock(autojump_threshold=0))


async def test_a_server_that_is_sure_to_fail() -> None:
    """It is not started to find out."""

    class Refused(DemoInMemory):
        def check(self, say: Say) -> None:
            raise CannotStart("server", "not found", found=False)

    with pytest.raises(CannotStart):
        await ExploredServer(cassette=load(RECORDED), server=Refused()).begin()


def test_an_answer_behind_a_cancel_is_odd(tmp_path: Path) -> None:
    """Up to 2025-11-25 it is advised against only; with `strict` it is a failure."""
    found, _ = explored(tmp_path, "answers-after-cancel", only=7)
    strict, _ = explored(tmp_path, "answers-after-cancel", only=7, strict=True)

    assert (0, [], ["tools/call slow"]) == (
        found.status,
        found.failures,
        [one.place for one, _, _ in found.odd],
    )
    assert (1, ["late"]) == (strict.status, [f.broken.oracle for f in strict.failures])


def test_same_seed_same_rows(tmp_path: Path) -> None:
    """And the same failures; also with several at once, and with pairs."""
    runs = []
    for jobs in (1, 3):
        found, rows = explored(
            tmp_path, "swaps-progress-tokens", "drop", 3, seed=7, runs=30, jobs=jobs
        )
        failures = [failure.value() for failure in found.failures]
        runs.append(([row.value() for row in rows], failures))

    assert runs[0] == runs[1]
    assert {"cells", "faults", "orders", "pairs"} == {row["step"] for row in runs[0][0]}
    assert ["rule:progress-increases"] == [one["oracle"] for one in runs[0][1]]


@pytest.mark.parametrize(
    ("limits", "pairs"),
    [({}, False), ({"runs": 5}, False), ({"runs": 100}, True), ({"seconds": 20.0}, True)],
)
def test_pairs_are_tried_within_a_limit(
    tmp_path: Path, limits: dict[str, Any], pairs: bool
) -> None:
    """Behind all single changes, as far as a number or a time allows; without either, not at
    all.
    """
    _, rows = explored(tmp_path, only=7, **limits)
    steps = [row.run.variant.step for row in rows]

    assert pairs is ("pairs" in steps)
    assert steps == sorted(steps, key="pairs".__eq__)


class BusyMachine(ExploredPeer):
    """A peer that hangs in every variant of these steps."""

    slowest = 0.0
    oracles = SERVER_ORACLES

    def __init__(self, *hangs: str) -> None:
        self.hangs = hangs
        self.waited = list[float]()

    async def begin(self) -> list[Broken]:
        return []

    async def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        await trio.sleep(seconds)

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        await self.wait(hang_limit)
        hung = variant.step in self.hangs
        broken = [Broken("unanswered", "ping", "ping is not answered")] if hung else []
        return JudgedRun(variant=variant, reached=True, broken=broken)

    def command(self, plan: Path) -> str:
        return f"drive {plan}"

    def encoded(self, cassette: Cassette) -> bytes:
        raise AssertionError("unreachable because no run has a recording")


def explored_by(
    peer: ExploredPeer,
    output: Path,
    say: Callable[[str], None] = lambda _: None,
    stop_at: float = inf,
    **limits: Any,
) -> Exploration:
    """Explores a peer on a clock of its own."""
    explorer = Explorer(peer=peer, space=PING, limits=Limits(**limits), output=output, progress=say)

    async def explore() -> Exploration:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:

            async def set_later() -> None:
                await trio.sleep_until(trio.current_time() + stop_at)
                stop.set()

            nursery.start_soon(set_later)
            found = await explorer.explore(stop)
            nursery.cancel_scope.cancel()
        return found

    return trio.run(explore, clock=MockClock(autojump_threshold=0))


PING = Space(side="server", events=load(RECORDED).takes[0].events, kinds=[], only=10)


@pytest.mark.parametrize(
    ("slowest", "given", "limits"),
    [
        (0.0, None, [10.0, 1.0]),
        (1.0, None, [10.0, 5.0]),
        (5.0, None, [25.0, 25.0]),
        (0.0, 0.5, [0.5, 0.5]),
        (0.0, 60.0, [60.0, 1.0]),
    ],
)
def test_how_long_a_silence_is_waited_for(
    tmp_path: Path, slowest: float, given: float | None, limits: list[float]
) -> None:
    """As long as the user says, and as long as a slow peer needs; once one was waited for in full,
    the next are waited for as long as a peer of this speed needs.
    """
    peer = BusyMachine("cells", "orders")
    peer.slowest = slowest
    explored_by(peer, tmp_path, runs=2, timeout=given)

    assert limits == peer.waited[:2]


def test_one_silence_is_waited_for_in_full(tmp_path: Path) -> None:
    """Whatever comes behind it; then each run and rerun takes as long as this peer needs."""
    peer = Unsteady("unanswered", "x.")
    found = explored_by(peer, tmp_path, runs=3)

    assert [10.0, 1.0, 1.0, *[1.0] * found.reruns] == peer.waited
    assert sum(peer.waited) == found.seconds


class Loud(BusyMachine):
    """A peer that fails with what it says, at a call with an id that is no text."""

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        drop = Drop(match=Match(id="\ud800"))
        change = VariantChange(kind="drop", at="", text="a\ud800\nb = 1", fault=drop)
        broken = [Broken("ends-early", "x", "c\x1b[m\r\n[[fault]]")]
        return JudgedRun(variant=Variant(changes=(change,)), reached=True, broken=broken)


def test_a_plan_says_what_failed_in_comments(tmp_path: Path) -> None:
    """Whatever the program said, or the recording has."""
    [failure] = explored_by(Loud(), tmp_path, runs=1).failures
    lines = Path(failure.plan).read_text("utf-8").splitlines()

    assert lines[0].endswith(r": a\ud800\u000ab = 1")
    assert r"# c\u001b[m\u000d\u000a[[fault]]" == lines[1]
    assert r'match = { id = "\ud800" }' == lines[-1]
    assert lines[2].startswith("seed = ")


class Failing(BusyMachine):
    """A peer that breaks these oracles in the recorded order."""

    def __init__(self, *oracles: str) -> None:
        super().__init__()
        self.begun = [Broken(one, "", "") for one in oracles]

    async def begin(self) -> list[Broken]:
        return self.begun


@pytest.mark.parametrize(
    ("breaks", "told", "failed"),
    [
        ([], [], False),
        (["rule:a"], ["rule:a"], False),
        (["rule:a", "ends-early", "wrong-answer"], ["ends-early", "wrong-answer"], True),
    ],
)
def test_a_recorded_order_that_fails(
    tmp_path: Path, breaks: list[str], told: list[str], failed: bool
) -> None:
    """Nothing else is run then. A rule that is broken there is no failure of another order."""
    found = explored_by(Failing(*breaks), tmp_path, runs=1)
    clock = MockClock(autojump_threshold=0)
    again = trio.run(play_again, Failing(*breaks), Variant(step="cells"), clock=clock)

    assert (told, failed) == ([one.oracle for one in found.baseline], found.baseline_failed)
    assert len(found.rows) == (not failed)
    assert found.untried == ([] if failed else [*PING.untried()])
    assert [told if failed else [], not failed] == [
        [one.oracle for one in again.broken],
        again.variant.step == "cells",
    ]


@pytest.mark.parametrize(
    ("limits", "rows", "seconds", "said"),
    [
        ({}, 3, 30.0, "3 runs of 3"),
        ({"runs": 2}, 2, 20.0, "2 runs of 2"),
        ({"seconds": 25.0}, 3, 30.0, "3 runs of ?"),
        ({"seconds": 20.0}, 2, 20.0, "2 runs of ?"),
        ({"seconds": 25.0, "jobs": 2}, 6, 30.0, "6 runs of ?"),
        ({"seconds": 25.0, "runs": 1}, 1, 10.0, "1 runs of ?"),
        ({"runs": 3, "stop_at": 25.0}, 2, 25.0, "2 runs of 3"),
    ],
)
def test_when_exploring_ends(
    tmp_path: Path, limits: dict[str, Any], rows: int, seconds: float, said: str
) -> None:
    """Behind all variants, so many of them, the first that is over behind a time, or at once."""
    told = list[str]()
    found = explored_by(BusyMachine(), tmp_path, told.append, **limits)

    assert (rows, seconds, said) == (len(found.rows), found.seconds, told[-1])
    assert found.stopped is ("stop_at" in limits)


@pytest.mark.parametrize(("redaction", "kept"), [("off", True), ("mcpmock-1", False)])
def test_recordings_of_runs_are_redacted_as_the_cassette(redaction: str, kept: bool) -> None:
    """A secret of a run is left only where the cassette may hold it too."""
    like = cassette()
    like.takes[0].header = structs.replace(like.takes[0].header, redaction=redaction)
    run = cassette(s(response(1, {"token": "correct-horse-battery"})))

    assert kept is (b"battery" in encoded_as(run, like))


@pytest.mark.skipif(sys.platform == "win32", reason="no client is explored there")
@pytest.mark.parametrize(
    ("program", "left"), [("sleep 60 & sleep 60 &", ["sleep", "sleep"]), ("sleep 0.1 &", [])]
)
async def test_what_a_program_leaves_behind(
    monkeypatch: pytest.MonkeyPatch, program: str, left: list[str]
) -> None:
    """Processes that are still there after a moment are named and killed."""
    monkeypatch.setattr(explore, "LEFTOVER_TIMEOUT_S", 0.1 if left else 60.0)
    child = await trio.lowlevel.open_process(["sh", "-c", program], start_new_session=True)
    await child.wait()
    pids = [pid for pid, _ in session_members(child.pid)]

    assert left == [*await end_session(child.pid)]
    assert gone(pids, 20.0)


class SlowServer(BusyMachine):
    """A peer that hangs once; from then on it is only slower than a shortened time."""

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        await self.wait(hang_limit)
        first = len(self.waited) == 1
        slow = hang_limit < LEAST_TIMEOUT_S and variant.step in self.hangs
        call = "ping" if first else "tools/list"
        broken = [Broken("unanswered", call, "no answer")] if first or slow else []
        return JudgedRun(variant=variant, reached=True, broken=broken)


class Unsteady(BusyMachine):
    """A peer that breaks an oracle in some of its runs, one after the other: where there is an
    `x`.
    """

    def __init__(self, oracle: str, runs: str) -> None:
        super().__init__()
        self.oracle, self.runs = oracle, iter(runs)

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        await self.wait(hang_limit)
        fails = next(self.runs, "") == "x"
        broken = [Broken(self.oracle, "ping", "as it says")] if fails else []
        return JudgedRun(variant=variant, reached=True, broken=broken)


@pytest.mark.parametrize(
    ("peer", "given", "runs", "confirmed"),
    [
        (BusyMachine, ["cells"], 1, [True]),
        (BusyMachine, ["cells", "baseline"], 1, [False]),
        (SlowServer, ["cells", "orders"], 2, [False, False]),
        (Unsteady, ["unanswered", "x....."], 1, [False]),
        (Unsteady, ["unanswered", "x...x."], 1, [True]),
        (Unsteady, ["does-not-end", "x.x.x."], 1, [False]),
        (Unsteady, ["does-not-end", "x.xxx."], 1, [True]),
        (Unsteady, ["ends-early", "x....."], 1, [True]),
    ],
)
def test_what_fails_anyway_is_not_counted(
    tmp_path: Path, peer: type[BusyMachine], given: list[str], runs: int, confirmed: list[bool]
) -> None:
    """A matter of time accuses the machine where the recorded order shows it too by then, where it
    does not come again in the full time, or, at the end of a process, in most runs: it is told, and
    the exit status stays 0.
    """
    said: list[str] = []
    found = explored_by(peer(*given), tmp_path, said.append, runs=runs)

    assert f"{runs} runs of {runs}" == said[runs - 1]
    failures = len(confirmed)
    assert f"failures: {failures} of {failures} run again and shrunk" == said[-1]
    assert confirmed == [one.confirmed for one in found.failures]
    assert int(any(confirmed)) == found.status
