#!/usr/bin/env python3
"""Lets recorders and fake servers run for a while under sessions, faults, leaves and kills.

    python tools/soak.py [--for 10m] [--clients N] [--seed S]
    python tools/soak.py --sessions 10000

Clients hold sessions over Streamable HTTP, HTTP+SSE and stdio: with `record --url` in front of a
server that closes its connections when it likes, with a second recorder that is killed (SIGKILL)
and started again on the same file, with `replay --listen` under faults, and with
`record -- COMMAND` that ends in every way. At the end, prints figures and what must hold:

* no answer belongs to another session or call (crossed), and no request reaches the server twice;
* a call without an answer has a reason: its own connection was closed by the server, or a kill;
* every answer that a client has read is in a cassette, in the session of its client;
* memory, tasks and descriptors of the processes that live from start to end stay flat.

With --sessions, one client holds so many sessions one after the other with each of the four
processes that live from start to end, without faults, and ends each as it should be.

Exit status 1 if one of these does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import trio

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import mcpmock  # noqa: E402
from mcpmock.protocol.transport_facts import NO_SESSION  # noqa: E402
from tests.e2e.http_processes import Served, serving  # noqa: E402
from tests.support import INITIALIZE, INITIALIZED, WELCOME, progress, request, response  # noqa: E402
from tests.support.http_caller import Caller, HungUpError, calling  # noqa: E402
from tests.support.http_upstream import Asked, Reply, upstream  # noqa: E402

FAULTS = (
    "latency:latency=5ms,probability=0.05",
    "duplicate:probability=0.01",
    "close_before_response:probability=0.01",
    "never_respond:probability=0.01",
)
CALLS = 5
ANSWER_TIMEOUT_S = 2.0
"""After that a client of the fake server takes an answer for lost."""
SESSION_LIMIT_S = 10.0
"""After that a session is given up: a fault may take its first answer."""
SAMPLES = 12
MAX_GROWTH_KIB = 4096
"""Memory that may come between the third and the last quarter. The first thousands of sessions fill
the allocator: what they leave in cycles is only freed by full collections.
"""
MAX_NEW_OBJECTS = 4000
"""Python's containers that may be there at the end, when all sessions have ended, and were not at
the beginning. 2,100 to 2,600 fill caches and make up the plan of a replay, after a minute as after
10 (5,130 sessions); one that is left of each session would be more.
"""
SESSION_TIMEOUT = "2s"
"""For sessions that their clients leave without a DELETE."""
SETTLE_S = 5.0
"""Until all of them have ended."""
# Started in place of `mcpmock`: on SIGUSR1 it says what it holds.
LAUNCHER = """
import gc, os, signal, sys
def report(*_):
    import trio
    gc.collect()
    objects = gc.get_objects()
    tasks = sum(type(o) is trio.lowlevel.Task for o in objects)
    pages = int(open("/proc/self/statm").read().split()[1])
    with open(os.environ["SOAK_STATE"] + ".new", "w") as file:
        file.write(f"{pages * 4} {tasks} {len(os.listdir('/proc/self/fd')) - 2} {len(objects)}")
    os.replace(file.name, os.environ["SOAK_STATE"])
signal.signal(signal.SIGUSR1, report)
from mcpmock.cli import main
main()
"""
STDIO_SERVER = """
import json, sys
for line in sys.stdin.buffer:
    n = json.loads(line)["id"]
    sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}\\n' % (n, n))
    sys.stdout.buffer.flush()
"""


@dataclass
class Tally:
    """What happened, and what must not happen."""

    figures: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    read: defaultdict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By cassette: the session and number of each answer that a client has read."""

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)


class Server:
    """A server of both transports. It closes connections when it likes, and counts its requests."""

    def __init__(self, dice: random.Random, tally: Tally) -> None:
        self._dice, self._tally = dice, tally
        self._sessions = count(1)
        self._streams: dict[str, trio.MemorySendChannel[bytes]] = {}
        self.asked: Counter[tuple[str, int]] = Counter()

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        session = asked.header("mcp-session-id") or asked.target.partition("?sid=")[2]
        if asked.method == "GET":
            await self._stream(asked, reply)
        elif asked.method == "DELETE":
            await reply.whole()
        elif b'"id"' not in asked.body:
            await reply.whole(status=202)
        elif b'"initialize"' in asked.body and not asked.target.startswith("/messages"):
            await reply.whole(WELCOME, mcp_session_id=f"session-{next(self._sessions)}")
        else:
            await self._answer(asked, reply, session)

    async def _stream(self, asked: Asked, reply: Reply) -> None:
        if asked.target != "/sse":
            await reply.whole(status=405)
            return
        session = f"stream-{next(self._sessions)}"
        self._streams[session], answers = trio.open_memory_channel[bytes](100)
        await reply.open()
        await reply.event(b"/messages?sid=" + session.encode(), b"event: endpoint\n")
        async with trio.open_nursery() as nursery:

            async def tell() -> None:
                with suppress(trio.BrokenResourceError):  # the client has left
                    async for answer in answers:
                        await reply.event(answer, b"event: message\n")

            nursery.start_soon(tell)
            await reply.left()
            nursery.cancel_scope.cancel()
        del self._streams[session]

    async def _answer(self, asked: Asked, reply: Reply, session: str) -> None:
        n = asked.message["id"]
        self.asked[session, n] += 1
        answer = response(n, {"holder": holder_of(session), "n": n})
        if (stream := self._streams.get(session)) is not None:
            await reply.whole(status=202)
            stream.send_nowait(answer)
            return
        if self._dice.random() < 0.5:
            await reply.whole(answer)
        else:
            await reply.open()
            await reply.event(progress(n))
            await reply.event(answer)
            await reply.close()
        if self._dice.random() < 0.02:
            self._tally.figures["connections closed by the server"] += 1
            await reply.hang_up()


def holder_of(session: str) -> int:
    """The number in a session id. The id itself is redacted in a cassette, wherever it stands."""
    return int(session.rpartition("-")[2])


@dataclass
class Process:
    """A process of ours over HTTP, and what it held each time that it was asked."""

    name: str
    state: Path
    served: Served
    samples: list[tuple[int, int, int, int]] = field(default_factory=list)

    async def sample(self) -> None:
        self.state.unlink(missing_ok=True)
        self.served.process.send_signal(signal.SIGUSR1)
        with trio.move_on_after(10):
            while not self.state.exists():  # noqa: ASYNC110 (another process makes it)
                await trio.sleep(0.01)
            kib, tasks, descriptors, objects = map(int, self.state.read_text().split())
            self.samples.append((kib, tasks, descriptors, objects))

    def judge(self, tally: Tally) -> None:
        kib, tasks, descriptors, objects = zip(*self.samples, strict=True)
        quarter = max(1, len(kib) // 4)
        before = kib[-2 * quarter : -quarter] or kib
        growth = statistics.median(kib[-quarter:]) - statistics.median(before)
        print(
            f"{self.name:12} KiB {kib[0]} .. {kib[-1]} (last quarter {growth:+.0f}), "
            f"objects {objects[0]} .. {objects[len(objects) // 2]} .. {objects[-1]}, "
            f"tasks {tasks[0]} .. {tasks[-1]}, descriptors {descriptors[0]} .. {descriptors[-1]}"
        )
        tally.check(growth <= MAX_GROWTH_KIB, f"{self.name}: memory grows by {growth:.0f} KiB")
        more = objects[-1] - objects[0]
        tally.check(more <= MAX_NEW_OBJECTS, f"{self.name}: {more} more objects")
        tally.check(tasks[-1] <= tasks[0], f"{self.name}: {tasks[-1]} tasks are left")
        tally.check(descriptors[-1] <= descriptors[0], f"{self.name}: descriptors are left")


@contextmanager
def mcpmock_process(folder: Path, name: str, *argv: str) -> Iterator[Process]:
    launcher, state = folder / "launcher.py", folder / f"{name}.state"
    launcher.write_text(LAUNCHER)
    env = {**os.environ, "SOAK_STATE": str(state), "PYTHONPATH": str(ROOT)}
    with serving([sys.executable, str(launcher), *argv], env=env) as served:
        yield Process(name, state, served)


@dataclass
class Soak:
    """One run: who is there, and until when."""

    folder: Path
    seconds: float
    clients: int
    dice: random.Random
    faults: Sequence[str] = FAULTS
    """Of the fake servers."""
    calls: int = CALLS
    """Of a session."""
    tally: Tally = field(default_factory=Tally)
    urls: dict[str, str] = field(default_factory=dict)
    """By cassette or process: where it listens now; empty while it is down."""
    kills: int = 0
    until: float = 0.0

    @property
    def going(self) -> bool:
        return time.monotonic() < self.until

    async def run(self) -> None:
        async with self.lasting() as (url, lasting):
            self.until = time.monotonic() + self.seconds
            async with trio.open_nursery() as nursery:
                for _ in range(self.clients):
                    for hold, name in self.held():
                        nursery.start_soon(self.repeat, hold, name)
                    nursery.start_soon(self.repeat, self.session, "victim")
                nursery.start_soon(self.repeat, self.stdio, "stdio")
                nursery.start_soon(self.kill_and_restart, url)
                nursery.start_soon(self.watch, lasting)
        hung = self.tally.figures["calls without an answer: steady"]
        by_server = self.tally.figures["connections closed by the server"]
        self.tally.check(hung <= by_server, f"{hung} calls of {by_server} closes got nothing")
        for name in ("steady", "steady-sse", "victim"):
            self.look_into(name)

    async def run_in_a_row(self, sessions: int) -> None:
        """So many with each process, the processes side by side."""
        async with self.lasting() as (_, lasting), trio.open_nursery() as nursery:
            for process, (hold, name) in zip(lasting, self.held(), strict=True):
                nursery.start_soon(self.hold_in_a_row, process, partial(hold, whole=True), sessions)
                self.tally.figures[f"sessions: {name}"] = sessions

    async def hold_in_a_row(
        self, process: Process, hold: Callable[[str], Awaitable[None]], sessions: int
    ) -> None:
        for n in range(1, sessions + 1):
            await hold(process.name)
            if n % max(1, sessions // SAMPLES) == 0:
                await process.sample()

    def held(self) -> list[tuple[Callable[..., Awaitable[None]], str]]:
        """How sessions are held with each of the lasting processes."""
        return [
            (self.session, "steady"),
            (self.stream_session, "steady-sse"),
            (self.replayed, "replay"),
            (self.replayed_stream, "replay-sse"),
        ]

    @asynccontextmanager
    async def lasting(self) -> AsyncIterator[tuple[str, list[Process]]]:
        """The server's URL, and the processes that must stay flat meanwhile."""
        server = Server(self.dice, self.tally)
        async with upstream(server) as up:
            sse = up.url.replace("/mcp", "/sse")
            with (
                self.started("steady", "record", "--url", up.url) as steady,
                self.started("steady-sse", "record", "--url", sse) as steady_sse,
            ):
                await self.session("steady")
                await self.stream_session("steady-sse")
                recorded = [await self.one_recording(kind) for kind in (up.url, sse)]
                with (
                    self.replaying("replay", recorded[0]) as fake,
                    self.replaying("replay-sse", recorded[1]) as fake_sse,
                ):
                    lasting = [steady, steady_sse, fake, fake_sse]
                    await trio.sleep(SETTLE_S)
                    await self.sample(lasting)
                    yield up.url, lasting
                    await trio.sleep(SETTLE_S)
                    await self.sample(lasting)
        for process in lasting:
            process.judge(self.tally)
        twice = [key for key, times in server.asked.items() if times > 1]
        self.tally.check(not twice, f"asked twice: {twice[:3]}")

    @contextmanager
    def started(self, name: str, command: str, *argv: str) -> Iterator[Process]:
        out = ("-o", str(self.folder / f"{name}.jsonl")) if command == "record" else ()
        words = (*out, "--session-timeout", SESSION_TIMEOUT, *argv)
        with mcpmock_process(self.folder, name, command, *words) as process:
            self.urls[name] = process.served.url
            yield process
            self.urls[name] = ""

    def replaying(self, name: str, cassette: Path) -> AbstractContextManager[Process]:
        faults = [word for fault in self.faults for word in ("--fault", fault)]
        return self.started(
            name, "replay", "--listen", "127.0.0.1:0", "--seed", "1", *faults, str(cassette)
        )

    async def one_recording(self, url: str) -> Path:
        """A cassette of one session, for the fake servers."""
        kind = "sse" if url.endswith("/sse") else "http"
        with self.started(f"sample-{kind}", "record", "--url", url):
            hold = self.stream_session if kind == "sse" else self.session
            await hold(f"sample-{kind}", whole=True)
        return self.folder / f"sample-{kind}.jsonl"

    async def repeat(self, hold: Callable[[str], Awaitable[None]], name: str) -> None:
        while self.going:
            if name == "stdio" or self.urls.get(name):
                broken = True
                with trio.move_on_after(SESSION_LIMIT_S):
                    try:
                        await hold(name)
                        broken = False
                    except (HungUpError, OSError, trio.BrokenResourceError):
                        pass
                self.tally.figures[f"sessions broken off: {name}"] += broken
            self.tally.figures[f"sessions: {name}"] += 1
            await trio.sleep(self.dice.uniform(0, 0.05))

    async def session(self, name: str, *, whole: bool = False) -> None:
        """Streamable HTTP: calls, and an end: a DELETE, a leave in the middle, or nothing."""
        async with self.connection(name) as caller:
            await caller.post(INITIALIZE)
            session = (await caller.answer()).header("mcp-session-id") or ""
            await caller.post(INITIALIZED, session)
            await caller.answer()
        end = 1.0 if whole else self.dice.random()
        n = 0
        while n < self.calls:
            async with self.connection(name) as caller:
                while n < self.calls:
                    n += 1
                    await caller.post(request(n, "tools/call", {"name": "echo"}), session)
                    if n == self.calls and end < 0.1:
                        await caller.leave(reset=end < 0.05)
                        self.tally.figures["clients that left in a call"] += 1
                        return
                    try:
                        messages = await caller.messages()
                    except HungUpError:
                        self.tally.figures[f"calls without an answer: {name}"] += 1
                        break
                    self.answered(name, session, n, messages[-1])
        if end >= 0.3:
            async with self.connection(name) as caller:
                await caller.ask("DELETE", headers=[("Mcp-Session-Id", session)])
                await caller.answer()

    async def stream_session(self, name: str, *, whole: bool = False) -> None:
        """HTTP+SSE: the same."""
        async with self.connection(name) as stream:
            await stream.ask("GET", headers=[("Accept", "text/event-stream")])
            await stream.head()
            endpoint = (await stream.event() or b"").partition(b"data: ")[2].decode().strip()
            session = endpoint.partition("?sid=")[2]
            for n in range(1, self.calls + 1):
                body = request(n, "tools/call", {"name": "echo"})
                async with self.connection(name) as caller:
                    fields = [("Content-Type", "application/json")]
                    await caller.ask("POST", endpoint, fields, body)
                    await caller.answer()
                if not whole and n == self.calls and self.dice.random() < 0.1:
                    await stream.leave(reset=self.dice.random() < 0.5)
                    self.tally.figures["clients that left in a call"] += 1
                    return
                self.answered(name, session, n, await stream.data())

    def answered(self, name: str, session: str, n: int, message: dict[str, object]) -> None:
        said = message.get("result", {})
        holder = holder_of(session)
        right = message.get("id") == n and said == {"holder": holder, "n": n}
        self.tally.check(right, f"crossed: {session} {n} got {message}")
        self.tally.figures[f"calls answered: {name}"] += 1
        self.tally.read[name].append((holder, n))

    async def replayed(self, name: str, *, whole: bool = True) -> None:  # noqa: ARG002 (it always is)
        """A session with a fake server; an answer that comes is the right one."""
        async with self.connection(name) as caller:
            await caller.post(INITIALIZE)
            session = (await caller.answer()).header("mcp-session-id") or ""
        for n in range(1, self.calls + 1):
            with trio.move_on_after(ANSWER_TIMEOUT_S):
                try:
                    async with self.connection(name) as caller:
                        await caller.post(request(n, "tools/call", {"name": "echo"}), session)
                        messages = await caller.messages()
                except HungUpError:
                    continue
                ids = [message["id"] for message in messages if "id" in message]
                self.tally.check(set(ids) <= {n}, f"crossed in a replay: {n} got {messages}")
                self.tally.figures[f"calls answered: {name}"] += 1
        async with self.connection(name) as caller:
            await caller.ask("DELETE", headers=[("Mcp-Session-Id", session)])
            await caller.answer()

    async def replayed_stream(self, name: str, *, whole: bool = True) -> None:  # noqa: ARG002
        async with self.connection(name) as stream:
            await stream.ask("GET", headers=[("Accept", "text/event-stream")])
            await stream.head()
            endpoint = (await stream.event() or b"").partition(b"data: ")[2].decode().strip()
            for n in range(1, self.calls + 1):
                async with self.connection(name) as caller:
                    fields = [("Content-Type", "application/json")]
                    body = request(n, "tools/call", {"name": "echo"})
                    await caller.ask("POST", endpoint, fields, body)
                    await caller.answer()
                with trio.move_on_after(ANSWER_TIMEOUT_S) as waited:
                    block = await stream.event()
                    if block is None:
                        return
                    if b'"id"' not in block:  # the endpoint once more: a fault
                        continue
                    message = json.loads(block.partition(b"data: ")[2])
                    self.tally.check(message["id"] <= n, f"crossed in a replay: {message}")
                    self.tally.figures[f"calls answered: {name}"] += 1
                if waited.cancelled_caught:
                    return

    async def stdio(self, _name: str) -> None:
        """`record -- COMMAND`, ended by its client, by SIGTERM or by SIGKILL."""
        cassette = self.folder / "stdio.jsonl"
        server = [sys.executable, "-S", "-c", STDIO_SERVER]
        argv = [sys.executable, "-m", "mcpmock", "record", "--overwrite", "-o", str(cassette), "--"]
        process = await trio.lowlevel.open_process(
            [*argv, *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        read, data = 0, b""
        for n in range(1, self.dice.randrange(20, 60)):
            await process.stdin.send_all(request(n, "ping") + b"\n")
            while b"\n" not in data:
                data += await process.stdout.receive_some()
            line, _, data = data.partition(b"\n")
            self.tally.check(json.loads(line)["id"] == n, f"stdio: {n} got {line!r}")
            read = n
        match self.dice.randrange(3):
            case 0:
                await process.stdin.aclose()
            case 1:
                process.terminate()
            case _:
                process.kill()
                self.tally.figures["kills: stdio"] += 1
        await process.wait()
        await process.stdin.aclose()
        await process.stdout.aclose()
        events = [event for take in mcpmock.load(cassette).takes for event in take.events]
        kept = sum(event.d == "s2c" and bool(event.payload) for event in events)
        self.tally.check(kept >= read, f"stdio: {read} answers read, {kept} in the cassette")
        self.tally.figures["calls answered: stdio"] += read

    async def kill_and_restart(self, url: str) -> None:
        """The second recorder: killed about every sixth of the time, at most every 5 s."""
        while self.going:
            with self.started("victim", "record", "--url", url) as process:
                life = time.monotonic() + max(5.0, self.seconds / 6)
                while self.going and time.monotonic() < life:  # noqa: ASYNC110 (it is real time)
                    await trio.sleep(0.05)
                if self.going:
                    self.urls["victim"] = ""
                    self.kills += 1
                    process.served.process.kill()

    async def watch(self, processes: list[Process]) -> None:
        while self.going:
            await trio.sleep(self.seconds / SAMPLES)
            await self.sample(processes)

    async def sample(self, processes: list[Process]) -> None:
        for process in processes:
            await process.sample()

    @asynccontextmanager
    async def connection(self, name: str) -> AsyncIterator[Caller]:
        if not self.urls[name]:
            raise HungUpError("closed")
        async with calling(self.urls[name]) as caller:
            yield caller

    def look_into(self, name: str) -> None:
        """Every answer that was read is in the cassette, in one session of its own."""
        found: set[tuple[int, int]] = set()
        for take in mcpmock.load(self.folder / f"{name}.jsonl").takes:
            holders: defaultdict[int, set[int]] = defaultdict(set)
            for event in take.events:
                if event.d == "s2c" and event.payload and b'"holder"' in event.payload:
                    said = json.loads(event.payload)["result"]
                    found.add((said["holder"], said["n"]))
                    holders[event.s].add(said["holder"])
            holders.pop(NO_SESSION, None)  # a recorder that was started again knows no old session
            shared = [number for number, several in holders.items() if len(several) > 1]
            self.tally.check(not shared, f"{name}: several sessions recorded as one: {shared[:3]}")
            places = Counter(holder for several in holders.values() for holder in several)
            mixed = [holder for holder, times in places.items() if times > 1]
            self.tally.check(not mixed, f"{name}: a session recorded as several: {mixed[:3]}")
        lost = set(self.tally.read[name]) - found
        self.tally.check(not lost, f"{name}: read and not in the cassette: {sorted(lost)[:3]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--for", dest="time", default="60s", metavar="TIME", help="as 60s or 10m")
    parser.add_argument("--clients", type=int, default=3, metavar="N", help="of each kind")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--sessions", type=int, metavar="N", help="only so many in a row with each")
    options = parser.parse_args()
    seconds = float(options.time[:-1]) * {"s": 1, "m": 60, "h": 3600}[options.time[-1]]
    with tempfile.TemporaryDirectory(prefix="mcpmock-soak-") as folder:
        soak = Soak(Path(folder), seconds, options.clients, random.Random(options.seed))
        if options.sessions is None:
            trio.run(soak.run)
        else:
            soak.faults, soak.calls = (), 1
            trio.run(soak.run_in_a_row, options.sessions)
    for name, number in sorted(soak.tally.figures.items()):
        print(f"{number:8} {name}")
    print(f"{soak.kills:8} kills of a recorder over HTTP")
    for what in soak.tally.wrong[:20]:
        print(f"WRONG: {what}")
    print("wrong" if soak.tally.wrong else "nothing crossed, nothing lost, all flat")
    return int(bool(soak.tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
