"""Servers that say too much, too little, or no HTTP: what their clients hear of it, and that the
next client hears the answer to its own request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from tests.support import request, response
from tests.support.http_caller import HungUpError, calling, posts
from tests.support.http_upstream import Asked, Reply, answers_all, upstream
from tests.support.processes import whole_take

from .http_processes import FORWARDING, forwarding, recording

pytestmark = pytest.mark.e2e

MIB = 1 << 20

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
OK = ANSWER + b"Content-Length: %d\r\n\r\n%b"


def ok(n: int | str) -> bytes:
    body = response(n)
    return OK % (len(body), body)


ODD_ANSWERS: dict[str, tuple[bytes, Sequence[int | str]]] = {
    "an answer to nobody behind it": (ok(1) + ok(666), [200]),
    "a torn answer behind it": (ok(1) + b"HTTP/1.1 200 OK\r\nX-Evil: ", [200]),
    "two lengths": (ANSWER + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", [502]),
    "no HTTP": (b"220 smtp.example ESMTP\r\n\r\n", [502]),
    "half a head": (ANSWER, ["closed", "reset"]),
    "less than its length": (OK % (99, response(1)), ["closed", "reset"]),
    "a chunk that is none": (
        ANSWER + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        ["closed", "reset"],
    ),
    "a folded field": (ANSWER + b"X-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\n{}", [200, 502]),
    "a head of a megabyte": (ANSWER + b"X: " + b"a" * MIB + b"\r\n\r\n", [502]),
    "nothing but its end": (ANSWER + b"\r\n" + response(1), [200]),
    "a word before it": (b"HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n" + ok(1), [200]),
}


@pytest.mark.parametrize("how", FORWARDING)
async def test_odd_answers(tmp_path: Path, how: str) -> None:
    """An answer that is none is a 502, one that is cut is cut for the client too, and what a server
    says behind its answer is nobody's.
    """
    found: dict[str, int | str] = {}

    async def script(asked: Asked, reply: Reply) -> None:
        if asked.message["id"] == 1:
            await reply.raw(ODD_ANSWERS[asked.message["method"]][0])
            await reply.hang_up()
        else:
            await answers_all(asked, reply)

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            for name in ODD_ANSWERS:
                async with calling(front.url) as caller:
                    await caller.post(request(1, name))
                    try:
                        answer = await caller.answer()
                        found[name] = answer.status
                        assert answer.header("x-evil") is None
                    except HungUpError as gone:
                        found[name] = gone.how
                next_one = await posts(front.url, request(2, "ping"))
                assert json.loads(next_one.body)["id"] == 2

    assert {name: how for name, how in found.items() if how not in ODD_ANSWERS[name][1]} == {}
    assert front.exit_code == 0
    assert server.torn == []
    if how == "record":
        assert whole_take(tmp_path / "a.jsonl").sealed


async def test_a_server_that_speaks_while_nobody_asks(tmp_path: Path) -> None:
    """What comes on a kept connection while no request is open is nobody's answer: that connection
    is not used again.
    """
    idle, idling = trio.open_memory_channel[Reply](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await answers_all(asked, reply)
        idle.send_nowait(reply)

    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            async with calling(recorder.url) as caller:
                for n in range(5):
                    await caller.post(request(n, "m"))
                    assert (await caller.answer()).message["id"] == n
                    await (await idling.receive()).raw(ok("unasked"))
    assert server.connections == 5
    assert b"unasked" not in (tmp_path / "a.jsonl").read_bytes()
