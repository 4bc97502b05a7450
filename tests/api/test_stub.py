"""What a stub takes, and what it becomes: over HTTP, over stdio and in memory."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

import mcpmock
from mcpmock.protocol.messages import decode
from mcpmock.stubs.builder import Stub, StubRoute
from mcpmock.stubs.script import (
    RouteKind,
    StubMessage,
    StubRecorded,
    StubRefusal,
    StubReply,
    StubSilence,
    StubStep,
)
from tests.stubs.stub_support import MODERN
from tests.support import INITIALIZE, INITIALIZED, c2s, request
from tests.support.weather import ASK, TOLD

CALL = request(5, "tools/call", {"name": "now"})


def steps(route: StubRoute) -> list[StubStep]:
    return route.script.entries[-1].steps


def test_one_chain_or_many_lines() -> None:
    """Both write the same, and a route is the stub it is of."""
    chain = Stub().tool("a").reply(1).tool("b").reply(2).tool("a").reply(3)
    lines = Stub()
    a = lines.tool("a")
    lines.tool("b").reply(2)
    a.reply(1).reply(3)

    assert repr(chain) == repr(lines) == "<Stub stub: tool a, tool b>"
    assert [[1, 3], [2]] == [[s.answer.value for s in e.steps] for e in lines.script.entries]  # type: ignore[union-attr]
    assert "(if city, ...)" in repr(Stub().tool("a").when(str, city="Oslo"))


def test_what_comes_before_a_reply_is_its_own() -> None:
    """Progress and notifications, each with its wait."""
    route = Stub().tool("a").progress(0.5, after="250ms").notify("x", {"y": 1}).reply("1", after=2)
    route.progress(1, 2, "m").error(-1, "no", [1]).hang().recorded().fail("bad")

    half = StubMessage(None, {"progress": 0.5}, 0.25)
    whole = StubMessage(None, {"progress": 1, "total": 2, "message": "m"})
    assert [
        StubStep(StubReply("1"), (half, StubMessage("x", {"y": 1})), 2),
        StubStep(StubRefusal(-1, "no", [1]), (whole,)),
        StubStep(StubSilence()),
        StubStep(StubRecorded()),
    ] == steps(route)[:4]


def test_values_are_copied() -> None:
    """What is changed afterwards changes no answer."""
    value = {"t": [1]}
    route = Stub().tool("a").reply(value)
    value["t"].append(2)

    assert StubReply({"t": [1]}) == steps(route)[0].answer


WORD: Any = "busy"
NUMBER: Any = 3
NOTHING: Any = None


async def late(_: Any) -> str:
    return "late"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: Stub(revision="2027-01-01"), "choose one of 2024-11-05"),
        (lambda: Stub(repeats="never"), "choose one of last, cycle, error"),
        (lambda: Stub().tool("a").reply("1", after="soon"), 'a duration as "250ms"'),
        (lambda: Stub().tool("a").reply("1", after=-1), "or a number of seconds"),
        (lambda: Stub().tool("a").progress(WORD), "progress 'busy': give a number"),
        (lambda: Stub().tool("a").error(WORD, NUMBER), "error message 3: give a string"),
        (lambda: Stub().tool("a").error(WORD, "x"), "error code 'busy': give a whole number"),
        (lambda: Stub().tool("a").fail(NUMBER), "fail 3: give a string"),
        (lambda: Stub().tool(NOTHING), "tool None: give a string"),
        (lambda: Stub().method(NOTHING), "method None: give a string"),
        (lambda: Stub().resource("a:{?q}"), "not .{[?]q}."),
        (lambda: Stub().tool("a").reply(late), "give a plain function"),
        (lambda: Stub().tool("a").reply(b"x"), "bytes are not JSON"),
        (lambda: Stub().tool("a").reply(object()), "object"),
        (lambda: Stub().tool("a").when(), "name the arguments"),
    ],
)
def test_mistakes(wrong: Any, why: str) -> None:
    """They are told in the line that makes them."""
    with pytest.raises((TypeError, ValueError), match=why):
        wrong()


def test_resources_take_bytes() -> None:
    """And templates are resources with variables."""
    stub = Stub().resource("a:b").reply(b"x").resource("a:{b}")

    assert [RouteKind.RESOURCE, RouteKind.TEMPLATE] == [entry.kind for entry in stub.script.entries]


def test_two_stubs(weather: Path) -> None:
    """One takes them all."""
    for path in (Path("a.jsonl"), "a.jsonl", "runs/a.jsonl.gz"):
        with pytest.raises(TypeError, match=rf"write mcpmock\.serve\('{path}', stub=stub\)"):
            Stub(path)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stub=stub"), mcpmock.serve(Stub(), stub=Stub()):
        pass


async def test_in_front_of_a_cassette(weather: Path) -> None:
    """What it knows it answers, all else the recording; the log has both."""
    stub = Stub().tool("now").reply("noon")
    async with mcpmock.replay(weather, stub=stub) as server:
        channel = server.open()
        heard: list[bytes] = []
        for raw in (INITIALIZE, INITIALIZED, CALL, ASK):
            channel.send_nowait([c2s(raw)])
        while TOLD not in heard:
            heard += [frame.raw for frame in await channel.receive()]

        assert any(b"noon" in raw for raw in heard)
        assert [] == server.misses
        server.assert_called("tools/call", tool="now", times=1)
        server.assert_order("initialize", "tools/call now", "tools/call get_weather")


async def test_its_waits_are_on_the_clock_of_the_caller(autojump_clock: MockClock) -> None:
    """Half a minute costs nothing on a mock clock; what hangs is given up by the caller."""
    stub = Stub().tool("now").reply("late", after="30s").hang()
    async with mcpmock.replay(stub) as server:
        channel = server.open()
        channel.send_nowait([c2s(CALL)])
        began = trio.current_time()

        assert b"late" in (await channel.receive())[0].raw
        assert 30 == trio.current_time() - began
        channel.send_nowait([c2s(CALL)])
        with trio.move_on_after(30) as scope:
            await channel.receive()
        assert scope.cancelled_caught


async def test_faults_see_its_answers(autojump_clock: MockClock) -> None:
    """They stand in front of it."""
    async with mcpmock.replay(
        Stub().tool("now").reply("noon"), faults="delay:delay=1h,method=tools/call"
    ) as server:
        channel = server.open()
        channel.send_nowait([c2s(CALL)])
        began = trio.current_time()

        assert b"noon" in (await channel.receive())[0].raw
        assert 3600 == trio.current_time() - began


@pytest.mark.e2e
def test_over_stdio() -> None:
    """A stub alone is a server to whoever starts the command."""
    with mcpmock.serve(Stub().tool("now").reply("noon")) as server:
        lines = b"\n".join([INITIALIZE, INITIALIZED, CALL, b""])
        done = subprocess.run(
            server.command, input=lines, capture_output=True, timeout=20, check=False
        )

    hello, told = [decode(line)["result"] for line in done.stdout.splitlines()]
    assert {"tools": {}} == hello["capabilities"]
    assert "noon" == told["content"][0]["text"]
    assert (0, b"") == (done.returncode, done.stderr)


@pytest.mark.e2e
@pytest.mark.parametrize("recorded", [False, True])
def test_over_http(recorded: bool, weather: Path) -> None:
    """Also for those that know no sessions; and beside what was recorded over HTTP."""
    stub = Stub().tool("now").reply("noon")
    file = Path(__file__).parents[2] / "cassettes" / "everything-http.jsonl"
    asked = request(5, "tools/call", {"name": "now", "_meta": MODERN})
    head = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "now",
    }
    with mcpmock.serve(file, stub=stub) if recorded else mcpmock.serve(stub) as server:
        post = urllib.request.Request(server.url, asked, head)
        with urllib.request.urlopen(post, timeout=20) as answer:
            assert b'"noon"' in answer.read()
        server.assert_called("tools/call", tool="now")
