"""Many clients at once over HTTP, who all use the same ids: nobody gets an answer of somebody
else.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import INITIALIZED, request
from tests.support.every import EVERY
from tests.support.http_caller import Caller, at_once, calling
from tests.support.http_upstream import STREAM, Marking, MarkingStreams, answers_all, upstream
from tests.support.processes import scripted, whole_take

from .http_processes import FORWARDING, Served, forwarding, proxying, recording, replaying

pytestmark = pytest.mark.e2e

SESSIONS = int(os.environ.get("MCPMOCK_E2E_SESSIONS", "200" if EVERY else "50"))
CALLS = 3
MODERN = "2026-07-28"


def initialize(name: str) -> bytes:
    client = {"name": name, "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    return request(1, "initialize", params)


def call(n: int) -> bytes:
    """The same id and the same progress token in every session."""
    return request(1, "tools/call", {"name": "mark", "arguments": {"n": n}}, token=1)


async def opened(caller: Caller, name: str) -> str:
    """A session, ready to be used."""
    await caller.post(initialize(name))
    answer = await caller.answer()
    session = answer.header("mcp-session-id")
    assert session is not None
    assert "serverInfo" in answer.message["result"]
    await caller.post(INITIALIZED, session)
    assert (await caller.answer()).status == 202
    return session


async def called(caller: Caller, session: str, n: int) -> list[Any]:
    """All that a call gives: the progress it heard of, and the text of its result."""
    await caller.post(call(n), session)
    heard: list[Any] = []
    for message in await caller.messages():
        if "result" in message:
            assert message["id"] == 1
            heard.append(message["result"]["content"][0]["text"])
        else:
            assert message["params"]["progressToken"] == 1
            heard.append(message["params"]["progress"])
    return heard


@pytest.mark.parametrize("how", FORWARDING)
async def test_sessions_do_not_mix(tmp_path: Path, how: str) -> None:
    """Sessions with the same ids and tokens: each hears its own answers and progress,
    and each is a session of the cassette, with its own exchanges.
    """

    async def client(nth: int) -> None:
        async with calling(front.url) as caller:
            session = await opened(caller, f"c{nth}")
            for n in range(CALLS):
                assert await called(caller, session, n) == [n, f"c{nth} {n}"]

    async with upstream(Marking()) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            await at_once(SESSIONS, client)

    assert (front.exit_code, server.torn) == (0, [])
    assert len(server.asked) == SESSIONS * (2 + CALLS)
    if how == "record":
        opened_by = numbering(tmp_path / "a.jsonl")
        assert len(opened_by) == SESSIONS
        assert sessions_of(tmp_path / "a.jsonl") == {
            session: {f"c{nth}"} for session, nth in opened_by.items()
        }


def numbering(cassette: Path) -> dict[int, int]:
    """Which client opened which session of a cassette."""
    found = {}
    for event in whole_take(cassette).events:
        if event.d == "c2s" and b'"clientInfo"' in (event.payload or b""):
            name = json.loads(event.payload or b"")["params"]["clientInfo"]["name"]
            found[event.s] = int(name[1:])
    return found


def sessions_of(cassette: Path) -> dict[int, set[str]]:
    """Whose marks are in which session."""
    found: dict[int, set[str]] = {}
    for event in whole_take(cassette).events:
        if event.d == "s2c" and b'"text"' in (event.payload or b""):
            text = json.loads(event.payload or b"")["result"]["content"][0]["text"]
            found.setdefault(event.s, set()).add(text.split()[0])
    return found


async def recorded_calls(cassette: Path, orders: list[list[int]]) -> None:
    """Records clients, one after another, who make these calls each."""
    async with upstream(Marking()) as server:
        with recording(cassette, server.url) as recorder:
            for nth, order in enumerate(orders):
                async with calling(recorder.url) as caller:
                    session = await opened(caller, f"c{nth}")
                    for n in order:
                        await called(caller, session, n)


async def test_replayed_sessions_do_not_mix(tmp_path: Path) -> None:
    """Sessions with the same ids and tokens ask for the same things in orders of their
    own: each hears what it asked for, under an id of 128 bits that no other session has, and
    that was not recorded.
    """
    cassette = tmp_path / "a.jsonl"
    await recorded_calls(cassette, [list(range(8))])
    found: set[str] = set()

    async def client(nth: int) -> None:
        order = random.Random(nth).sample(range(8), CALLS)
        async with calling(player.url) as caller:
            session = await opened(caller, "c0")
            found.add(session)
            for n in order:
                assert await called(caller, session, n) == [n, f"c0 {n}"]

    with replaying(cassette) as player:
        await at_once(SESSIONS, client)

    assert player.exit_code == 0
    assert len(found) == SESSIONS
    assert all(re.fullmatch(r"[-0-9a-f]{32,36}", session) for session in found)
    assert "session-of-c0" not in found


async def on_a_stream(url: str, name: str, order: list[int]) -> None:
    """A client of HTTP+SSE: it hears its own answers, on its own stream."""
    async with calling(url) as stream, calling(url) as poster:

        async def post(body: bytes) -> None:
            await poster.ask("POST", endpoint, [("Content-Type", "application/json")], body)
            assert (await poster.answer()).status == 202

        await stream.ask("GET", headers=[("Accept", STREAM)])
        assert await stream.head() == 200
        endpoint = (await stream.event() or b"").split()[-1].decode()
        await post(initialize(name))
        assert (await stream.data())["result"]["serverInfo"]["name"] == name
        await post(INITIALIZED)
        for n in order:
            await post(call(n))
            heard, answer = await stream.data(), await stream.data()
            assert (heard["params"]["progressToken"], heard["params"]["progress"]) == (1, n)
            assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, f"{name} {n}")


@pytest.mark.parametrize("how", FORWARDING)
async def test_streams_do_not_mix(tmp_path: Path, how: str) -> None:
    """Sessions of HTTP+SSE with the same ids and tokens."""

    async def client(nth: int) -> None:
        await on_a_stream(front.url, f"c{nth}", [*range(CALLS)])

    async with upstream(MarkingStreams(), path="/sse") as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            await at_once(SESSIONS, client)

    assert (front.exit_code, server.torn) == (0, [])
    assert len(server.asked) == SESSIONS * (3 + CALLS)
    if how == "record":
        assert len(numbering(tmp_path / "a.jsonl")) == SESSIONS


async def test_replayed_streams_do_not_mix(tmp_path: Path) -> None:
    """Sessions of HTTP+SSE ask for the same things in orders of their own."""
    async with upstream(MarkingStreams(), path="/sse") as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            await on_a_stream(recorder.url, "c0", [*range(8)])

    async def client(nth: int) -> None:
        await on_a_stream(player.url, "c0", random.Random(nth).sample(range(8), CALLS))

    with replaying(tmp_path / "a.jsonl") as player:
        await at_once(SESSIONS, client)
    assert player.exit_code == 0


async def test_sessions_that_nobody_has(tmp_path: Path) -> None:
    """In a replay a session id that was never given, the recorded one, one that was deleted, and
    one with odd letters are all 404, and the session beside them goes on.
    """
    cassette = tmp_path / "a.jsonl"
    await recorded_calls(cassette, [[1, 2]])
    with replaying(cassette) as player:
        async with calling(player.url) as caller, calling(player.url) as other:
            mine, theirs = await opened(caller, "c0"), await opened(other, "c0")
            await other.ask("DELETE", headers=[("Mcp-Session-Id", theirs)])
            deleted = await other.answer()
            for session in ("0" * 32, "session-of-c0", "\xe9'\"<", mine[:-1], mine + "0"):
                await other.post(call(1), session)
                assert (await other.answer()).status == 404
            await other.post(call(1), theirs)
            again = await other.answer()

            assert await called(caller, mine, 1) == [1, "c0 1"]
    assert deleted.status in (200, 204, 405)
    assert again.status == (200 if deleted.status == 405 else 404)


def modern(nth: int) -> tuple[bytes, dict[str, str]]:
    """A call of the stateless revision, and its fields; all have the same id."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    params = {"name": "mark", "arguments": {"n": nth}, "_meta": meta}
    fields = {
        "mcp_protocol_version": MODERN,
        "mcp_method": "tools/call",
        "mcp_name": "mark",
    }
    return request(1, "tools/call", params), fields


async def modern_callers(served: Served, calls: int = 2) -> None:
    """Stateless callers, each on a connection of its own: each gets its own answers."""

    async def client(nth: int) -> None:
        async with calling(served.url) as caller:
            for n in range(nth * calls, (nth + 1) * calls):
                body, fields = modern(n)
                await caller.post(body, **fields)
                *_, message = await caller.messages()
                assert message["id"] == 1
                assert message["result"]["given"]["arguments"] == {"n": n}

    await at_once(SESSIONS, client)


async def test_stateless_callers_do_not_mix(tmp_path: Path) -> None:
    """Callers of the stateless revision, all with one id, recorded and then replayed:
    each gets the answer to what it asked.
    """
    cassette = tmp_path / "a.jsonl"
    async with upstream(answers_all) as server:
        with recording(cassette, server.url) as recorder:
            await modern_callers(recorder)
    with replaying(cassette) as player:
        await modern_callers(player)

    assert (recorder.exit_code, player.exit_code) == (0, 0)
    assert len(server.asked) == len(set(server.bodies())) == SESSIONS * 2


async def test_stateless_callers_share_a_process(tmp_path: Path) -> None:
    """Callers with one id in front of one server over stdio: it hears each of them
    once, and each gets its own answers under its own id.
    """
    log = tmp_path / "log"
    with proxying("--", *scripted("--log", log, "rpc")) as proxy:
        await modern_callers(proxy)

    heard = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert proxy.exit_code == 0
    assert sorted(message["params"]["arguments"]["n"] for message in heard) == [
        *range(SESSIONS * 2)
    ]


async def test_sessions_in_front_of_processes() -> None:
    """Each session has a process of its own, and the processes end when we do."""

    async def client(nth: int) -> None:
        async with calling(proxy.url) as caller:
            await caller.post(initialize(f"c{nth}"))
            session = (await caller.answer()).header("mcp-session-id")
            assert session is not None
            for n in range(CALLS):
                await caller.post(request(1, "m", {"n": f"{nth} {n}"}), session)
                *_, message = await caller.messages()
                assert message["id"] == 1
                assert message["result"]["given"] == {"n": f"{nth} {n}"}
                assert message["result"]["nth"] == n + 1

    with proxying("--", *scripted("rpc")) as proxy:
        await at_once(10, client)
    assert proxy.exit_code == 0
