"""Many clients at once over HTTP, who all use the same ids: nobody gets an answer of somebody else,
and what each asks reaches the server once.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import trio

from mcpmock.protocol.messages import C2S
from tests.helpers import INITIALIZED, dump, request, response

from .http_caller import Caller, HungUpError, calling
from .http_processes import Served, recording, replaying, serving
from .http_upstream import Asked, Marking, Reply, Upstream, answers_all, upstream
from .processes import MCPMOCK, scripted, whole_take

pytestmark = pytest.mark.e2e

SESSIONS = 200
CALLS = 3
MODERN = "2026-07-28"
TOGETHER = 60.0
"""Seconds for all of them; they take one or two."""


def initialize(name: str) -> bytes:
    client = {"name": name, "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    return request(1, "initialize", params)


def call(n: int) -> bytes:
    """The same id and the same progress token in every session."""
    return request(1, "tools/call", {"name": "mark", "arguments": {"n": n}}, token=1)


async def at_once(count: int, client: Any) -> None:
    """So many clients, started together."""
    with trio.fail_after(TOGETHER):
        async with trio.open_nursery() as nursery:
            for nth in range(count):
                nursery.start_soon(client, nth)


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


async def test_recorded_sessions_do_not_mix(tmp_path: Path) -> None:
    """Two hundred sessions with the same ids and tokens: each hears its own answers and progress,
    and each is a session of the cassette, with its own exchanges.
    """

    async def client(nth: int) -> None:
        async with calling(recorder.url) as caller:
            session = await opened(caller, f"c{nth}")
            for n in range(CALLS):
                assert await called(caller, session, n) == [n, f"c{nth} {n}"]

    async with upstream(Marking()) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            await at_once(SESSIONS, client)

    assert (recorder.exit_code, server.torn) == (0, [])
    assert len(server.asked) == SESSIONS * (2 + CALLS)
    assert sessions_of(tmp_path / "a.jsonl") == {
        session: {f"c{nth}"} for session, nth in numbering(tmp_path / "a.jsonl").items()
    }
    assert len(numbering(tmp_path / "a.jsonl")) == SESSIONS


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


async def marked(cassette: Path, orders: list[list[int]]) -> None:
    """Records clients, one after another, who make these calls each."""
    async with upstream(Marking()) as server:
        with recording(cassette, server.url) as recorder:
            for nth, order in enumerate(orders):
                async with calling(recorder.url) as caller:
                    session = await opened(caller, f"c{nth}")
                    for n in order:
                        await called(caller, session, n)


async def test_replayed_sessions_do_not_mix(tmp_path: Path) -> None:
    """Two hundred sessions with the same ids and tokens ask for the same things in orders of their
    own: each hears what it asked for, under an id of 128 bits that no other session has, and
    that was not recorded.
    """
    cassette = tmp_path / "a.jsonl"
    await marked(cassette, [list(range(8))])
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


async def test_sessions_that_nobody_has(tmp_path: Path) -> None:
    """In a replay a session id that was never given, the recorded one, one that was deleted, and
    one with odd letters are all 404, and the session beside them goes on.
    """
    cassette = tmp_path / "a.jsonl"
    await marked(cassette, [[1, 2]])
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
    """Two hundred stateless callers, each on a connection of its own: each gets its own answers."""

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
    """Two hundred callers of the stateless revision, all with one id, recorded and then replayed:
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
    """Two hundred callers with one id in front of one server over stdio: it hears each of them once,
    and each gets its own answers under its own id.
    """
    log = tmp_path / "log"
    server = scripted("--log", log, "rpc")
    argv = [*MCPMOCK, "proxy", "--listen", "127.0.0.1:0", "--", *server]
    with serving(argv) as proxy:
        await modern_callers(proxy)

    heard = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert proxy.exit_code == 0
    assert sorted(message["params"]["arguments"]["n"] for message in heard) == [
        *range(SESSIONS * 2)
    ]


async def test_sessions_in_front_of_processes(tmp_path: Path) -> None:
    """Each session has a process of its own, and the processes end when we do."""
    argv = [*MCPMOCK, "proxy", "--listen", "127.0.0.1:0", "--", *scripted("rpc")]

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

    with serving(argv) as proxy:
        await at_once(10, client)
    assert proxy.exit_code == 0


# Once, and no more than once.

EACH = 100


class Counting:
    """A script that answers each request as its body asks for."""

    def __init__(self) -> None:
        self.came: defaultdict[int, trio.Event] = defaultdict(trio.Event)
        """Set when the request with this number has come."""

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        message = asked.message
        n, how = message["id"], message["method"]
        self.came[n].set()
        match how:
            case "json":
                await reply.whole(response(n))
            case "stream":
                await reply.open()
                await reply.event(response(n))
                await reply.close()
            case "json and close":
                reply.last_word(response(n))
            case "nothing":
                await reply.hang_up()
            case _:
                await reply.left()


async def asked_by(url: str, counting: Counting, nth: int, sent: list[int]) -> None:
    """A client that asks for everything, in an order of its own."""
    dice = random.Random(nth)
    kinds = ["json", "stream", "json and close", "nothing", "leave", "reset"]
    hows = [*kinds, "json", "json", "stream", "json and close"]
    dice.shuffle(hows)
    for place, how in enumerate(hows):
        n = nth * len(hows) + place
        sent.append(n)
        async with calling(url) as caller:
            await caller.post(request(n, how))
            if how in ("leave", "reset"):
                await counting.came[n].wait()
                await caller.leave(reset=how == "reset")
            elif how == "nothing":
                with pytest.raises(HungUpError):
                    await caller.answer()
            else:
                assert b'"result"' in (await caller.answer()).body


async def test_each_request_reaches_the_server_once(tmp_path: Path) -> None:
    """A thousand requests: answers in JSON and in event streams, clients that leave, servers that
    answer and then close their connection, or close it without an answer. The server is asked a
    thousand times, and the cassette says so.
    """
    counting = Counting()
    sent: list[int] = []
    async with upstream(counting) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:

            async def client(nth: int) -> None:
                await asked_by(recorder.url, counting, nth, sent)

            await at_once(EACH, client)

    assert (recorder.exit_code, server.torn) == (0, [])
    assert heard_by(server) == sorted(sent)
    assert recorded_in(tmp_path / "a.jsonl") == sorted(sent)


@pytest.mark.parametrize("reset", [False, True])
async def test_connections_that_the_server_gave_up(tmp_path: Path, reset: bool) -> None:
    """A kept connection that the server has closed or reset meanwhile is not used again: every
    request is answered, and reaches the server once.
    """
    replies: list[Reply] = []

    async def script(asked: Asked, reply: Reply) -> None:
        replies.append(reply)
        await answers_all(asked, reply)

    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            async with calling(recorder.url) as caller:
                for n in range(20):
                    await caller.post(request(n, "m"))
                    assert (await caller.answer()).status == 200
                    await replies[-1].hang_up(reset=reset)

    assert heard_by(server) == list(range(20))
    assert server.connections == 20


def heard_by(server: Upstream) -> list[int]:
    return sorted(asked.message["id"] for asked in server.asked)


def recorded_in(cassette: Path) -> list[int]:
    events = whole_take(cassette).events
    payloads = [event.payload for event in events if event.d == "c2s" and event.payload]
    return sorted(json.loads(payload)["id"] for payload in payloads)


async def test_clients_that_leave_at_once(tmp_path: Path) -> None:
    """A client that asks and leaves in the same moment is heard at most once, and every exchange of
    the cassette ends.
    """
    cassette = tmp_path / "a.jsonl"

    async def client(nth: int) -> None:
        async with calling(recorder.url) as caller:
            await caller.post(request(nth, "json"))
            await caller.leave(reset=nth % 2 == 0)

    async with upstream(Counting()) as server:
        with recording(cassette, server.url) as recorder:
            await at_once(EACH, client)
            async with calling(recorder.url) as caller:
                await caller.post(dump({"jsonrpc": "2.0", "id": EACH, "method": "json"}))
                assert (await caller.answer()).status == 200
    events = whole_take(cassette).events
    begun = [
        e.x for e in events if e.frame is not None and e.d == "c2s" and "method" in str(e.http)
    ]
    ended = {e.x for e in events if isinstance(e.end, str)}

    assert recorder.exit_code == 0
    assert len(heard_by(server)) == len(set(heard_by(server)))
    assert set(begun) == ended
    assert sorted(recorded_in(cassette))[-1] == EACH
    assert C2S in {e.frame.direction for e in events if e.frame and e.end == "closed"}
