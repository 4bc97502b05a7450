"""Faults of bytes and processes, over real pipes and sockets: what the other side of them sees.

All kinds through all modes are in tests/fault_matrix, with both ends in memory; MCPMOCK_E2E_ALL=1
runs every pair here too.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h11
import pytest
import trio

from tests.support import INITIALIZED, OPENING, call, cassette_bytes, response
from tests.support.every import EVERY
from tests.support.http_caller import Answer, HungUpError, calling, posts
from tests.support.http_upstream import Asked, Reply, answers_all, upstream
from tests.support.processes import END, MCPMOCK, running, scripted

from .http_processes import proxying, replaying

pytestmark = pytest.mark.e2e
CALLS = [call(n, "x") for n in range(1, 9)]
ASKED = b"".join(raw + b"\n" for raw in (OPENING[0][1], INITIALIZED, *CALLS))
NOT_SLOW = 0.3
"""Seconds that the faults below take; how much longer it is, is the machine's."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    calls = [
        line for n, raw in enumerate(CALLS, 1) for line in (("c2s", raw), ("s2c", response(n)))
    ]
    path.write_bytes(cassette_bytes(*OPENING, *calls))
    return path


def command(how: str, file: Path, *faults: str) -> list[str]:
    """A replay, or a proxy in front of a server that answers everything."""
    words = ["--seed", "5", *(word for fault in faults for word in ("--fault", fault))]
    if how == "replay":
        return [*MCPMOCK, "replay", str(file), *words]
    return [*MCPMOCK, "proxy", *words, "--", *scripted("rpc")]


def ids(output: bytes) -> list[int]:
    """Which answers came, in full lines."""
    assert not output or output.endswith(b"\n")
    return [json.loads(line)["id"] for line in output.splitlines() if b'"id"' in line]


GOING = [
    ("exit:code=7,tool=x,nth=2,toward=client,stderr=panic", [0, 1], 7, b"panic\n"),
    ("down:code=3,stderr=no", [], 3, b"no\n"),
    ("exit:signal=9,tool=x,nth=1,toward=client", [0], 137, b""),
    ("reset_peer:tool=x,nth=2", [0, 1], 0, b""),
]
"""Faults, which answers come before, the exit status, and what is said last."""


@pytest.mark.parametrize(
    ("how", "fault", "came", "status", "last_words"),
    [
        (how, *going)
        for number, going in enumerate(GOING)
        for place, how in enumerate(("replay", "proxy"))
        if EVERY or number % 2 == place
    ],
)
def test_the_server_goes_away(
    how: str, file: Path, fault: str, came: list[int], status: int, last_words: bytes
) -> None:
    """Whatever its client does: it has not said that it was done."""
    stderr = file.with_suffix(".log")
    with running(command(how, file, fault), stderr=stderr) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(ASKED)
        except BrokenPipeError:
            assert "down" in fault
        said = b"".join(iter(lambda: process.stdout.read(1 << 16), b""))  # type: ignore[union-attr]

        assert (came, status) == (ids(said), process.wait(END))
    assert last_words in stderr.read_bytes()


@pytest.mark.parametrize("how", ["replay", "proxy"])
def test_its_output_ends_and_it_does_not(how: str, file: Path) -> None:
    """It is there until its client leaves."""
    with running(command(how, file, "half_close:tool=x,nth=1")) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ASKED)
        said = b"".join(iter(lambda: process.stdout.read(1 << 16), b""))  # type: ignore[union-attr]

        assert [0, 1] == ids(said)
        assert None is process.poll()
        process.stdin.close()
        assert 0 == process.wait(END)


def outcome(how: str, file: Path, *faults: str) -> tuple[int, bytes, bytes]:
    """The exit status and both outputs for a client that sends all requests at once."""
    done = subprocess.run(
        command(how, file, *faults), input=ASKED, capture_output=True, timeout=20, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_two_processes_give_the_same_bytes(file: Path) -> None:
    """Whatever is drawn; and a plan of which nothing fires changes nothing."""
    plan = ("corrupt:tool=x,probability=0.5", "truncate:tool=x,every=2", "drop:id=7")
    once, again = (outcome("replay", file, *plan) for _ in range(2))
    none, never = outcome("replay", file), outcome("replay", file, "drop:probability=0")

    assert once == again
    assert 0 == once[0]
    assert none[:2] == never[:2]
    assert none[1] != once[1]


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("replay", "pause:time=300ms,tool=x,nth=1"),
        ("proxy", "pause:time=300ms,tool=x,nth=1"),
        ("proxy", "slow_close:delay=300ms"),
    ],
)
def test_it_takes_its_time(how: str, file: Path, fault: str) -> None:
    """Everything comes, and not at once."""
    began = time.monotonic()
    _, said, _ = outcome(how, file, fault)

    assert list(range(9)) == ids(said)
    assert time.monotonic() - began >= NOT_SLOW


@pytest.mark.parametrize("how", ["replay", "proxy"])
def test_a_flood_of_standard_error(how: str, file: Path) -> None:
    """More than a pipe holds, and every answer in its place."""
    _, said, stderr = outcome(how, file, "stderr_flood:tool=x,nth=1,size=200KB")

    assert list(range(9)) == ids(said)
    assert 200_000 <= stderr.count(b"x") + stderr.count(b"mcpmock: ") * 10


async def serves(asked: Asked, reply: Reply) -> None:
    """Everything, in a session of its own."""
    if b'"initialize"' in asked.body:
        await reply.whole(OPENING[1][1], mcp_session_id="s")
    else:
        await answers_all(asked, reply)


@contextmanager
def listening(how: str, file: Path, url: str, *faults: str) -> Iterator[str]:
    """A URL with these faults."""
    words = [word for fault in faults for word in ("--fault", fault)]
    if how == "replay":
        with replaying(file, *words) as served:
            yield served.url
    else:
        with proxying("--url", url, *words) as served:
            yield served.url


async def opened(url: str) -> str:
    answer = await posts(url, OPENING[0][1])
    session = answer.header("mcp-session-id")
    assert session is not None
    return session


async def called(url: str, session: str, number: int) -> Answer | str:
    """The answer to a call, or how it failed."""
    async with calling(url) as caller:
        await caller.post(CALLS[number], session)
        try:
            return await caller.answer()
        except HungUpError as gone:
            return gone.how
        except h11.RemoteProtocolError:
            return "no HTTP"


BREAKING = (
    "reset_peer:id=1",
    "limit_data:bytes=9B,id=2",
    "malformed_chunk:id=3",
    "malformed_chunk:cut=true,id=4",
    "pause:time=300ms,id=5",
    "slow_close:delay=300ms,id=6",
    "limit_data:bytes=20B,toward=server,id=7",
    "exit:id=8",
)
"""What becomes of each of the calls, one after the other."""


@pytest.mark.parametrize("how", ["replay", "proxy"])
async def test_one_thing_after_the_other(how: str, file: Path) -> None:
    """Each call fails in a way of its own, and alone, until the session dies: of that it knows
    nothing any more, and another one can be opened.
    """
    async with upstream(serves) as server:
        with listening(how, file, server.url, *BREAKING) as url:
            session = await opened(url)
            said, took = [], []
            for number in (*range(8), 0):
                began = trio.current_time()
                said.append(await called(url, session, number))
                took.append(trio.current_time() - began)
            again = await posts(url, OPENING[0][1])

    assert ["reset", "closed", "no HTTP", "closed"] == said[:4]
    assert "closed" == said[6]
    answers = [one for one in said if isinstance(one, Answer)]
    assert [200, 200, 503, 404] == [answer.status for answer in answers], said
    assert [True, True] == [b'"id":%d,' % n in answers[n - 5].body for n in (5, 6)]
    assert min(took[4:6]) >= NOT_SLOW
    if how == "proxy":
        assert 200 == again.status
        assert ["received 20 bytes"] == [
            words for torn in server.torn for words in ("received 20 bytes",) if words in torn
        ]


@pytest.mark.parametrize("how", ["replay", "proxy"])
async def test_a_server_that_is_down(how: str, file: Path) -> None:
    """However often somebody asks."""
    async with upstream(serves) as server:
        with listening(how, file, server.url, "down") as url:
            statuses = [(await posts(url, OPENING[0][1])).status for _ in range(3)]

        assert ([503] * 3, []) == (statuses, server.asked)
