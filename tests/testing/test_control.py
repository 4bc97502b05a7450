"""The servers of tests in other languages: what is asked, what fails a test, what is recorded."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcpmock.errors import McpMockError
from mcpmock.testing.control import KEYWORDS, ControlledServers, FailedTestError
from mcpmock.version import VERSION
from tests.support import INITIALIZE, request
from tests.support.http_caller import posts
from tests.support.slow_call import CASSETTE
from tests.support.weather import write_weather

ROME = request(7, "tools/call", {"name": "get_weather", "arguments": {"city": "Rome"}})
DEMO = [sys.executable, "-m", "mcpmock.demo.server"]


@pytest.fixture
async def servers() -> AsyncIterator[ControlledServers]:
    servers = ControlledServers()
    yield servers
    servers.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_weather(tmp_path / "weather.jsonl")
    (tmp_path / "slow.jsonl").write_bytes(CASSETTE)
    return tmp_path


async def start(servers: ControlledServers, folder: Path, **params: Any) -> dict[str, Any]:
    given = {"cassette": "weather.jsonl", "options": {}, "folder": str(folder), **params}
    started = await servers.answer("start", given)
    assert isinstance(started, dict)
    return started


async def ask(url: str, *messages: bytes) -> None:
    """A session over HTTP, whatever the answers are."""
    session = (await posts(url, INITIALIZE)).header("mcp-session-id")
    for message in messages:
        await posts(url, message, session)


async def test_a_server(servers: ControlledServers, folder: Path) -> None:
    """It is reached by URL and by command, and says what was called."""
    started = await start(servers, folder)
    await ask(started["url"])

    assert {"command", "args"} == started["stdio"].keys()
    assert not started["records"]
    calls: Any = await servers.answer("calls", {"server": 1})
    assert [("initialize", 0)] == [(call["method"], call["id"]) for call in calls]
    assert [] == await servers.answer("calls", {"server": 1, "method": "tools/call"})
    assert [] == await servers.answer("misses", {"server": 1})
    assert await servers.answer("stop", {"server": 1}) is None


async def test_a_miss(servers: ControlledServers, folder: Path) -> None:
    """It fails the test, with the text and the section of pytest."""
    started = await start(servers, folder)
    await ask(started["url"], ROME)
    with pytest.raises(FailedTestError) as failed:
        await servers.answer("stop", {"server": 1})
    text = "\n".join(failed.value.lines)

    assert text.startswith("mcpmock: 1 request matches nothing recorded in ")
    assert "to reproduce:" in text
    assert ["tools/call"] == [miss.method for miss in failed.value.misses]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"misses": "allow"}, None),
        ({"unused": "ignore", "misses": "allow"}, None),
        ({"unused": "fail", "misses": "allow"}, "2 recorded requests of"),
        ({"faults": "drop:tool=x,must_fire=true", "misses": "allow"}, "faults that must fire"),
    ],
)
async def test_what_fails_a_test(
    servers: ControlledServers, folder: Path, options: dict[str, Any], text: str | None
) -> None:
    """Misses that are not allowed, unused requests that are not, faults that never fired."""
    started = await start(servers, folder, options=options)
    await ask(started["url"], ROME)
    if text is None:
        await servers.answer("stop", {"server": 1})
        return
    with pytest.raises(FailedTestError, match=text):
        await servers.answer("stop", {"server": 1})


async def test_a_mock(servers: ControlledServers, folder: Path) -> None:
    """A file of answers written by hand is a server as well."""
    (folder / "mock.toml").write_text('[[tool]]\nname = "now"\nresult = "noon"\n')
    started = await start(servers, folder, cassette="mock.toml")
    await ask(started["url"])

    assert await servers.answer("stop", {"server": 1}) is None


def test_the_package_declares_what_there_is() -> None:
    """The types of the npm package have each option, and it has our version."""
    package = Path(__file__).parents[2] / "tools" / "npm"
    types = (package / "index.d.cts").read_text("utf-8")
    body = types.partition("export interface McpmockOptions {")[2].partition("\n}")[0]

    assert {*KEYWORDS, "race", "test"} == set(re.findall(r"^  (\w+)\?:", body, re.M))
    assert VERSION == json.loads((package / "package.json").read_text("utf-8"))["version"]


async def test_faults(servers: ControlledServers, folder: Path) -> None:
    """They are added and removed while the server runs, and counted."""
    started = await start(servers, folder, options={"faults": ["latency:latency=1ms"], "seed": 3})
    added = await servers.answer("faults.add", {"server": 1, "fault": "error:method=initialize"})
    await ask(started["url"])
    await servers.answer("faults.remove", {"server": 1, "fault": 1})

    assert {"fault": 1, "name": "error"} == added
    assert 1 == await servers.answer("faults.fired", {"server": 1, "name": "error"})
    with pytest.raises(McpMockError, match="no fault 2 was added"):
        await servers.answer("faults.remove", {"server": 1, "fault": 2})


async def test_races(servers: ControlledServers, folder: Path) -> None:
    """Each is a server that knows when the client has to cancel."""
    params = {"cassette": "slow.jsonl", "match": {"tool": "slow"}, "folder": str(folder)}
    all_ = await servers.answer("races", {**params, "reactions": ["silent"]})
    assert isinstance(all_, list)
    assert {(3, 0, 0)} <= {(one["k"], one["i"], one["j"]) for one in all_}
    await start(servers, folder, cassette="slow.jsonl", race=all_[0])
    with pytest.raises(McpMockError, match="the call that the race selects was not made"):
        await servers.answer("moment", {"server": 1, "patience": 0})


@pytest.mark.parametrize("passed", [True, False, None])
async def test_only_a_test_that_passes_replaces_a_cassette(
    servers: ControlledServers, folder: Path, passed: bool | None
) -> None:
    """Also where that is said later, or never."""
    new = folder / "new.jsonl"
    options = {"record": "none", "server": DEMO}
    started = await start(
        servers, folder, cassette="new.jsonl", options=options, mode="once", test="a test"
    )
    await ask(started["url"])
    assert started["records"]
    await servers.answer("stop", {"server": 1, "passed": None})
    assert not new.exists()
    if passed is None:
        servers.close()
    else:
        await servers.answer("settle", {"server": 1, "passed": passed})

    assert bool(passed) is new.exists()
    kept = new if passed else folder / "new.rej.jsonl"
    assert '"test":"a test"' in kept.read_text("utf-8").splitlines()[0]


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("start", {"cassette": "no.jsonl"}, "there is no cassette .*; record it with"),
        ("start", {"cassette": "no.jsonl", "options": {"server": ["x"]}}, "MCPMOCK_RECORD=once"),
        ("start", {"cassette": 5}, "^start: cassette: give a string$"),
        ("start", {"cassette": ""}, "cassette='': give the name of one cassette$"),
        ("start", {"cassette": None}, "^start: cassette: give a string$"),
        ("start", {"folder": 5}, "^start: folder: give a string$"),
        ("start", {"test": 5}, "^start: test: give a string$"),
        ("start", {"mode": ["all"]}, "^start: mode: give a string$"),
        ("start", {"options": {"ordr": "any"}}, r"no option ordr. Did you mean order\?"),
        ("start", {"options": {"order": "some"}}, "order"),
        ("start", {"options": {"match": 1}}, "match"),
        ("start", {"options": []}, "^start: options: give an object$"),
        ("start", {"options": None}, "^start: options: give an object$"),
        ("start", {"options": {"faults": "latenc:tool=x"}}, "latenc"),
        ("start", {"options": {"faults": {"a": 1}}}, "is not a fault"),
        ("start", {"options": {"record": "sometimes"}}, "no record mode 'sometimes'"),
        ("start", {"mode": "sometimes"}, "no record mode 'sometimes'"),
        ("start", {"options": {"record": "all"}}, "name one in the options, server"),
        (
            "start",
            {"options": {"server": ["x"], "serverUrl": "http://x.test"}},
            "^server and serverUrl ",
        ),
        ("start", {"options": {"unused": "no"}}, "no value of unused"),
        ("start", {"options": {"cassette": "b.jsonl"}}, "no option cassette"),
        ("start", {"race": {"i": 1}}, "give one of races"),
        *(
            ("start", {"race": {"match": {"tool": "x"}, **race}}, told)
            for race, told in (
                ({"i": "0", "j": 1, "k": 1, "reaction": "silent"}, "give one of races"),
                ({"i": True, "j": 1, "k": 1, "reaction": "silent"}, "give one of races"),
                ({"i": 0, "j": 1, "k": None, "reaction": "silent"}, "give one of races"),
                ({"i": 0, "j": 1, "k": 1, "reaction": 5}, "reaction: expected one of silent"),
                ({"match": {"tool": 5}}, "match.tool: expected a text, not 5"),
            )
        ),
        ("start", {"race": 3}, "^start: race: give an object$"),
        ("stop", {"server": 1}, "this server is stopped"),
        ("stop", {"server": []}, "^stop: server: give a whole number$"),
        ("stop", {"server": True}, "^stop: server: give a whole number$"),
        ("stop", {"server": 1, "passed": "no"}, "^stop: passed: give true or false$"),
        ("settle", {"server": 1, "passed": None}, "^settle: passed: give true or false$"),
        ("calls", {"server": 1, "tool": {}}, "^calls: tool: give a string$"),
        ("faults.add", {"server": 1, "fault": None}, r"^faults\.add: fault: give a string$"),
        ("faults.remove", {"server": 1, "fault": []}, r"^faults\.remove: fault: give a whole "),
        ("moment", {"server": 1, "patience": "5"}, "^moment: patience: give a number$"),
        ("races", {"match": 5}, "^races: match: give an object$"),
        ("races", {"match": {"tool": 5}}, r"match\.tool: expected a text, not 5"),
        ("races", {"match": {"nth": "x"}}, r"match\.nth: expected a whole number"),
        ("races", {"match": {"path": "$.a["}}, r"match\.path: no JSONPath"),
        ("races", {"match": {}, "reactions": 5}, "^races: reactions: give a list of strings$"),
        ("races", {"match": {}, "reactions": [5]}, "^races: reactions: give a list of strings$"),
        ("stop", {}, "stop: missing a required argument: 'server'"),
        ("stop", {"server": 1, "more": 2}, "unexpected keyword argument 'more'"),
        ("races", {"cassette": "slow.jsonl", "match": {"tool": "no"}}, "no answered call"),
        ("races", {"cassette": "slow.jsonl", "match": {"tol": "no"}}, "no key 'tol' of a match"),
        ("no", {}, "no method 'no': say one of start, stop, settle"),
        (None, {}, "no method None"),
    ],
)
async def test_what_is_wrong(
    servers: ControlledServers, folder: Path, method: str, params: dict[str, Any], text: str
) -> None:
    """An error in a line, and nothing has started."""
    base: dict[str, Any] = {"cassette": "weather.jsonl", "folder": str(folder)}
    defaults = {"start": {**base, "options": {}}, "races": base}
    with pytest.raises(McpMockError, match=text):
        await servers.answer(method, {**defaults.get(method, {}), **params})
