"""Exploring the demo server in memory: every bug is found, shrunk and shown again; a sound server
passes; the same seed gives the same rows.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.explore.enumeration import Space
from mcpmock.explore.oracles import SERVER_ORACLES
from mcpmock.explore.results import Exploration, JudgedRun
from mcpmock.explore.variant import Variant
from mcpmock.sessions.explore import LEAST_TIMEOUT_S, ExploredPeer, Explorer, Limits
from mcpmock.trials.oracle import Broken
from tests.support.explored import RECORDED, explored, shown_again


@pytest.mark.parametrize("http", [False, True])
def test_a_sound_server_passes(tmp_path: Path, http: bool) -> None:
    """Nothing is broken or odd, whatever is tried, and no folder is made."""
    found, rows = explored(tmp_path, kinds="duplicate", jobs=4, http=http)

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


class BusyMachine(ExploredPeer):
    """A peer that hangs in every variant of these steps."""

    slowest = 0.0
    oracles = SERVER_ORACLES

    def __init__(self, *hangs: str) -> None:
        self.hangs = hangs

    async def begin(self) -> list[Broken]:
        return []

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        await trio.sleep(hang_limit)
        hung = variant.step in self.hangs
        broken = [Broken("unanswered", "ping", "ping is not answered")] if hung else []
        return JudgedRun(variant=variant, reached=True, broken=broken)

    def command(self, plan: Path) -> str:
        return f"drive {plan}"


class SlowServer(BusyMachine):
    """A peer that hangs once; from then on it is only slower than a shortened time."""

    ran = 0

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        await trio.sleep(hang_limit)
        self.ran += 1
        slow = hang_limit < LEAST_TIMEOUT_S and variant.step in self.hangs
        call = "ping" if self.ran == 1 else "tools/list"
        broken = [Broken("unanswered", call, "no answer")] if self.ran == 1 or slow else []
        return JudgedRun(variant=variant, reached=True, broken=broken)


class Unsteady(BusyMachine):
    """A peer that breaks an oracle in some of its runs, one after the other: where there is an
    `x`.
    """

    def __init__(self, oracle: str, runs: str) -> None:
        self.oracle, self.runs = oracle, iter(runs)

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        await trio.sleep(hang_limit)
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
    space = Space(side="server", events=load(RECORDED).takes[0].events, kinds=[], only=10)
    explorer = Explorer(
        peer=peer(*given),
        space=space,
        limits=Limits(runs=runs),
        output=tmp_path,
        progress=said.append,
    )

    async def explore() -> Exploration:
        return await explorer.explore(trio.Event())

    found = trio.run(explore, clock=MockClock(autojump_threshold=0))
    assert f"{runs} runs of {runs}" == said[runs - 1]
    assert confirmed == [one.confirmed for one in found.failures]
    assert int(any(confirmed)) == found.status
