"""Which recordings several processes can replay, what the others are refused for, and how the
processes end.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import time

import attrs
import pytest

from mcpmock.errors import WrongUsage
from mcpmock.options.replay import Order
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions import workers
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup
from mcpmock.sessions.workers import check_stateless
from mcpmock.transports.session_router import TransportKind
from tests.support import INITIALIZE, WELCOME, Line, c, cassette, request, s
from tests.support.processes import gone
from tests.transports.serving import modern

assert sys.platform == "linux"  # as `workers` does
HTTP, SSE = TransportKind.STREAMABLE_HTTP, TransportKind.SSE
LEGACY = (c(INITIALIZE), s(WELCOME))
ASKING = (*LEGACY, s(request(1, "sampling/createMessage")))
MODERN = (c(modern(1, "tools/list")),)


def check(order: Order, kind: TransportKind, *events: Line) -> None:
    replay = Replay(cassette(*events), PlayerOptions(order=order), lambda _event: None)
    check_stateless(replay, kind)


def test_what_needs_no_session() -> None:
    """Stubs of any revision, and recordings of the one without sessions."""
    check("any", HTTP, *LEGACY)
    check("any", HTTP, *LEGACY, c(request(1, "tools/call", {"name": "sampling/createMessage"})))
    check("causal", HTTP, *MODERN)


@pytest.mark.parametrize(
    ("order", "kind", "events", "reason"),
    [
        ("causal", HTTP, LEGACY, "a revision before 2026-07-28 has sessions; add --order any"),
        ("any", SSE, LEGACY, "HTTP+SSE has sessions; add --transport streamable-http"),
        ("any", HTTP, ASKING, "in event 3 the server asks the client, whose answer may"),
    ],
)
def test_what_needs_one(order: Order, kind: TransportKind, events: list[Line], reason: str) -> None:
    """It is refused, with the option that would do."""
    with pytest.raises(
        WrongUsage, match=f"^--workers: the processes share no sessions, but {re.escape(reason)}"
    ):
        check(order, kind, *events)


@attrs.define
class Kernel:
    """The signals and children of this process, one after the other, on a clock of its own."""

    signals: list[int | subprocess.Popen[bytes]]
    """What `sigwait` gives; a child stands for a SIGCHLD as soon as it has ended."""
    pending: set[int]
    ending: list[subprocess.Popen[bytes]] = attrs.field(factory=list)
    """The children that end when they are to."""
    now: float = 0.0
    masks: list[int] = attrs.field(factory=list)

    def sigwait(self, _signals: set[int]) -> int:
        given = self.signals.pop(0)
        if isinstance(given, int):
            return given
        self.wait_for(given)
        return signal.SIGCHLD

    def wait_for_signal(self, signals: set[int], seconds: float) -> None:
        assert {signal.SIGCHLD} == signals
        if self.ending:
            self.wait_for(self.ending.pop())
        else:
            self.now += seconds

    def wait_for(self, child: subprocess.Popen[bytes]) -> None:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


SAID = "a worker has ended with status {}, and so do all others"


@pytest.mark.parametrize(
    ("first", "second", "comes", "pending", "status", "said"),
    [
        ("exit 3", 0, "first", set(), 3, [SAID.format(3)]),
        ("exit 0", 0, "first", set(), 1, [SAID.format(0)]),
        ("exit 1", 0, "first", set(), 1, [SAID.format(1)]),
        ("kill -9 $$", 0, "first", set(), 137, [SAID.format(137)]),
        ("kill -2 $$", 0, "first", {signal.SIGINT}, 130, []),
        (0, 0, signal.SIGTERM, set(), 0, []),
        (0, 0, signal.SIGINT, set(), 130, []),
        (0, 1, signal.SIGTERM, set(), 1, []),
        (1, 130, signal.SIGINT, set(), 1, []),
        ("exec sleep 60", 0, signal.SIGTERM, set(), 0, []),
    ],
)
def test_how_workers_end(
    monkeypatch: pytest.MonkeyPatch,
    first: str | int,
    second: str | int,
    comes: int | str,
    pending: set[int],
    status: int,
    said: list[str],
) -> None:
    """Together: at a stop signal, or when one ends by itself. Those that do not are killed. A
    number is a worker that ends with that status, as soon as it is to.
    """
    before = len(os.listdir("/proc/self/fd"))
    told, children = list[str](), list[subprocess.Popen[bytes]]()
    kernel = Kernel([], pending)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda how, _signals: kernel.masks.append(how))
    monkeypatch.setattr(signal, "sigwait", kernel.sigwait)
    monkeypatch.setattr(signal, "sigpending", lambda: kernel.pending)
    monkeypatch.setattr(workers, "wait_for_signal", kernel.wait_for_signal)
    monkeypatch.setattr(time, "monotonic", lambda: kernel.now)
    monkeypatch.setattr(workers, "fork_process", lambda: children[-1].pid)
    made = workers._Workers(told.append)
    for one in (first, second):
        script = f"read -r _; exit {one}" if isinstance(one, int) else one
        children.append(subprocess.Popen(["sh", "-c", script], stdin=made.watched))
        assert made.fork()
        if isinstance(one, int):
            kernel.ending.append(children[-1])
    kernel.signals.append(children[0] if isinstance(comes, str) else comes)

    assert (status, said) == (made.wait(), told)
    assert gone([child.pid for child in children], 20.0)
    assert [signal.SIG_BLOCK] == kernel.masks
    os.close(made.watched)
    assert before >= len(os.listdir("/proc/self/fd"))
    for child in children:
        child.wait()


def test_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It serves until the first process is gone, which here it is at once."""
    masks, announced = list[int](), list[object]()
    monkeypatch.setattr(signal, "pthread_sigmask", lambda how, _signals: masks.append(how))
    monkeypatch.setattr(workers, "fork_process", lambda: 0)
    before = len(os.listdir("/proc/self/fd"))
    front = HttpFront(announce=lambda url, token: announced.append((url[:17], token)))
    replay = Replay(cassette(*MODERN), PlayerOptions(), lambda _event: None)
    setup = Setup(front=front, replay=replay, say=print)

    assert 0 == workers.run_workers(setup, 2)
    gc.unfreeze()
    assert [("http://127.0.0.1:", None)] == announced
    assert [signal.SIG_BLOCK, signal.SIG_UNBLOCK] == masks
    assert before + 1 >= len(os.listdir("/proc/self/fd"))  # what it watches the first process by


def test_the_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It forks so many, listens to nobody itself, and ends as they do."""
    forked = list[int]()

    def fork(made: workers._Workers) -> bool:
        forked.append(made.watched)
        return True

    def wait(made: workers._Workers) -> int:
        os.close(made._alive)
        return 7

    monkeypatch.setattr(signal, "pthread_sigmask", lambda _how, _signals: None)
    monkeypatch.setattr(workers._Workers, "fork", fork)
    monkeypatch.setattr(workers._Workers, "wait", wait)
    before = len(os.listdir("/proc/self/fd"))
    replay = Replay(cassette(*MODERN), PlayerOptions(), lambda _event: None)
    setup = Setup(front=HttpFront(), replay=replay, say=print)

    assert 7 == workers.run_workers(setup, 3)
    gc.unfreeze()
    assert 3 == len(forked)
    os.close(forked[0])
    assert before >= len(os.listdir("/proc/self/fd"))
