"""Faults in Python: what is taken, where they happen, and changing them meanwhile."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trio
from trio.testing import MockClock

import mcpmock
from mcpmock.api.thread_server import ThreadServer
from mcpmock.errors import CassetteError
from mcpmock.faults import Drop, Error, Latency, Plan, PlanError
from mcpmock.faults.control import is_file, plan_of, run_of
from mcpmock.protocol.messages import decode
from tests.support import INITIALIZE, c2s
from tests.support.weather import ASK, HELLO, exchange

FAILS = Error(code=-1, message="no luck", match={"tool": "get_weather"})
HEAD = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def error_in(raw: bytes) -> object:
    value = decode(raw)
    return value.get("error", {}).get("message") if isinstance(value, dict) else None


def test_what_is_taken(tmp_path: Path) -> None:
    """One, several, of any form; the last seed of a plan, unless another is given."""
    file = tmp_path / "p.toml"
    file.write_text('seed = 3\n[[fault]]\nkind = "drop"\n')

    assert Plan() == plan_of(None)
    for one in (Drop(), "drop", Plan(faults=(Drop(),))):
        assert Plan(faults=(Drop(),)) == plan_of(one)
    both = Plan(faults=(Drop(), FAILS), seed=3)
    assert both == plan_of([file, FAILS]) == plan_of([str(file), FAILS])
    assert 9 == plan_of(file, 9).seed
    assert is_file("p.toml")
    assert not is_file("drop")


def test_mistakes(tmp_path: Path) -> None:
    """They are told before anything runs."""
    with (
        pytest.raises(PlanError, match="did you mean latency"),
        mcpmock.serve("x", faults="latncy"),
    ):
        pass
    with pytest.raises(PlanError, match="No such file"):
        mcpmock.connect("x.jsonl", faults=tmp_path / "none.toml")
    with pytest.raises(CassetteError, match="no such file"):
        run_of(Latency(distribution="empirical", cassette="none.jsonl"))


@pytest.mark.parametrize("given", [3, ["drop", 3], {"kind": "drop"}])
def test_what_is_no_fault(given: Any) -> None:
    """Alone or among others, it is refused with what may be given."""
    with pytest.raises(TypeError, match="is not a fault; expected a plan"):
        plan_of(given)


def test_a_name_that_there_is_not() -> None:
    """It is none of the module, as Python asks for it."""
    assert not hasattr(mcpmock.faults, "Nothing")
    assert hasattr(mcpmock.faults, "EventOrder")


async def test_in_memory(weather: Path, autojump_clock: MockClock) -> None:
    """Also a delay, which is exact under a mock clock."""
    slow = Latency(latency="250ms", match={"method": "initialize"})
    async with mcpmock.replay(weather, faults=[slow, FAILS]) as server:
        channel, began = server.open(), trio.current_time()

        assert [HELLO] == await exchange(channel, c2s(INITIALIZE))
        assert 0.25 == trio.current_time() - began
        assert "no luck" == error_in((await exchange(channel, c2s(ASK)))[-1])
        assert (1, 1, 2) == tuple(map(server.faults.fired, ("latency", "error", None)))
        [_, receipt] = server.faults.receipts
        assert {
            "kind": "error",
            "fired": 1,
            "on": "request",
            "session": 1,
        }.items() <= receipt.items()


async def test_while_a_session_runs(weather: Path) -> None:
    """What is added fires from then on, and no more when it is gone; also where it asks how far
    the session is.
    """
    async with mcpmock.replay(weather, repeats="last") as server:
        channel = server.open()
        await exchange(channel, c2s(INITIALIZE))
        running = server.faults.add(
            Error(message="x", match={"era": "2025-*", "method": "tools/*"})
        )
        assert "x" == error_in((await exchange(channel, c2s(ASK)))[-1])
        server.faults.remove(running)
        server.faults.remove(running)
        assert error_in((await exchange(channel, c2s(ASK)))[-1]) is None
        assert 1 == running.fired
        assert ["fault error: fired 1 of 1 times that it matched"] == server.faults.summary()


@pytest.mark.e2e
def test_over_stdio_and_over_http(weather: Path) -> None:
    """The same faults, counted together; one added from here is seen over there."""
    with mcpmock.serve(weather, faults=FAILS) as server:
        lines = b"\n".join([INITIALIZE, ASK, b""])
        done = subprocess.run(server.command, input=lines, capture_output=True, timeout=20)
        assert "no luck" == error_in(done.stdout.splitlines()[-1])

        server.faults.add("error:message=away,method=initialize")
        post = urllib.request.Request(server.url, INITIALIZE, HEAD)
        with urllib.request.urlopen(post, timeout=20) as answer:
            assert b'"away"' in answer.read()
        assert [1, 1] == [tally["fired"] for tally in server.faults.tallies()]


def test_from_many_threads() -> None:
    """Nothing that was added or removed is lost, and what is worth a look fits what is armed."""
    run = run_of(None)
    control = ThreadServer(lambda: None, run).faults

    def change() -> None:
        for _ in range(50):
            control.remove(control.add(Drop()))
            control.add(Drop())

    threads = [Thread(target=change) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 200 == len(control.faults) == len(run.armed)
    assert 400 == len(control.ever())
    assert 400 == len({armed.number for armed in run.all()})


@pytest.mark.filterwarnings("ignore:mcpmock. fault .* never fired")
def test_owing(weather: Path) -> None:
    """What must have fired and has not."""
    with mcpmock.serve(weather, faults=[Drop(must_fire=True), "corrupt"], seed=5) as server:
        assert ["drop"] == server.faults.owing()
        assert 5 == server.faults.seed
        assert [] == server.faults.mistakes()
