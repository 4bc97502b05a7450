"""Compressed bodies: the client gets the bytes, and the recording what they say."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.errors import RecordingIncomplete
from mcpmock.faults.control import run_of
from mcpmock.playback.player import PlayerOptions
from mcpmock.redaction.cassettes import scan_cassette
from mcpmock.rules.report import check_cassette
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from tests.redaction.canaries import CANARY, SPELLINGS, leaks
from tests.sessions.web import URL, Web, running, web
from tests.support import call, response
from tests.support.every import covering
from tests.support.http_upstream import STREAM, Asked, Reply, head

__all__ = ["web"]

CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15, "Deflate": -15}
"""By Content-Encoding, the window of zlib."""


def recorder(
    web: Web, file: Path, *faults: str, strict: bool = False
) -> Callable[[], Awaitable[int]]:
    run = run_of(faults or None, None)
    setup = Setup(
        front=web.front(),
        back=Url.parse(URL, None),
        recording=Recording(output=file, strict=strict),
        faults=run if faults else None,
        say=web.said.append,
    )
    return lambda: run_sessions(setup)


def player(web: Web, file: Path) -> Callable[[], Awaitable[int]]:
    replay = Replay(load(file), PlayerOptions(), lambda what: web.said.append(str(what)))
    web.announced.clear()
    return lambda: run_sessions(Setup(front=web.front(), replay=replay, say=web.said.append))


def answers_in(coding: str, *, stream: bool) -> Callable[[Asked, Reply], Awaitable[None]]:
    """Echo each call in a compressed body, flushed after each event."""

    async def script(asked: Asked, reply: Reply) -> None:
        body = (
            asked.body if asked.header("content-encoding") is None else gzip.decompress(asked.body)
        )
        message = json.loads(body)
        told = response(message["id"], message["params"]["arguments"])
        packer = zlib.compressobj(wbits=CODINGS[coding])
        if not stream:
            await reply.whole(packer.compress(told) + packer.flush(), content_encoding=coding)
            return
        await reply.raw(
            head(200, content_type=STREAM, content_encoding=coding, transfer_encoding="chunked")
        )
        for block in (b": hello\n\n", b"id: 1\ndata: %b\n\n" % told):
            data = packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)
            await reply.raw(b"%x\r\n%b\r\n" % (len(data), data))
        data = packer.flush()
        await reply.raw(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
        reply.kept = True

    return script


def said(body: bytes) -> dict[str, object]:
    """The message in a decoded answer."""
    text = next((li[6:] for li in body.split(b"\n") if li.startswith(b"data: ")), body)
    message: dict[str, object] = json.loads(text)
    return message


@pytest.mark.parametrize(
    ("asked", "stream", "coding"), covering(2, [None, "gzip, deflate, br"], [False, True], CODINGS)
)
async def test_canaries_in_compressed_bodies(
    web: Web, tmp_path: Path, coding: str, stream: bool, asked: str | None
) -> None:
    """The client gets the server's bytes; no spelling of a secret is left in the recording; a
    replay answers with the client's ids and values, in what its head says.
    """
    file, fields = tmp_path / "a.jsonl", {} if asked is None else {"accept_encoding": asked}
    web.server.script = answers_in(coding, stream=stream)
    login = call(1, "login", password=CANARY)
    calls = [call(n, "echo", text=spell(CANARY)) for n, spell in enumerate(SPELLINGS.values(), 2)]
    async with running(web, recorder(web, file)) as statuses:
        for raw in (login, *calls):
            answer = await web.posts(raw, **fields)
            packed = zlib.decompressobj(wbits=CODINGS[coding])
            plain = packed.decompress(answer.body)
            assert coding == dict(answer.headers)["content-encoding"]
            assert json.loads(raw)["params"]["arguments"] == said(plain)["result"]
    data = file.read_bytes()
    [take] = load(file).takes

    assert [0] == statuses
    assert not leaks(data, CANARY)
    assert [] == scan_cassette(data)
    assert [] == [
        v for v in check_cassette(load(file)).violations if v.violation.rule.name == "json-rpc"
    ]
    decoded = [event.decoded for event in take.events if event.d == "s2c" and event.payload]
    assert [coding.lower().removeprefix("x-")] * (len(calls) + 1) == decoded
    async with running(web, player(web, file)) as statuses:
        for raw in (login, *calls):
            live = json.loads(raw.replace(CANARY.encode(), b"live"))
            live["id"] = f"live-{live['id']}"
            answer = await web.posts(json.dumps(live).encode())
            assert "content-encoding" not in dict(answer.headers)
            assert live["id"] == said(answer.body)["id"]
    assert [0] == statuses


async def test_a_compressed_request(web: Web, tmp_path: Path) -> None:
    """It reaches the server as it came, is recorded decoded, and replays to a request that is
    compressed or not.
    """
    file = tmp_path / "a.jsonl"
    web.server.script = answers_in("gzip", stream=False)
    raw = call(1, "login", password=CANARY)
    packed = gzip.compress(raw)
    async with running(web, recorder(web, file)):
        await web.posts(packed, content_encoding="gzip")
    assert packed == web.server.asked[0].body
    assert not leaks(file.read_bytes(), CANARY)
    async with running(web, player(web, file)) as statuses:
        for body, fields in ((packed, {"content_encoding": "gzip"}), (raw, {})):
            answer = await web.posts(body, **fields)
            assert {"password": CANARY} == said(answer.body)["result"]
    assert [0] == statuses


UNDECODED = {
    "br": b"\x0b\x02\x80" + CANARY.encode(),
    "zstd": b"\x28\xb5\x2f\xfd" + CANARY.encode(),
    "gzip": CANARY.encode(),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("media", ["application/json", STREAM, "text/html"])
@pytest.mark.parametrize("coding", UNDECODED)
async def test_what_cannot_be_decoded_is_told(
    web: Web, tmp_path: Path, coding: str, media: str, strict: bool
) -> None:
    """The client gets it, the recording lacks it: one line, and an exit status that says so. With
    --strict it does not pass.
    """
    file, body = tmp_path / "a.jsonl", UNDECODED[coding]

    async def script(_asked: Asked, reply: Reply) -> None:
        await reply.whole(body, media=media, content_encoding=coding)

    web.server.script = script
    with pytest.RaisesGroup(RecordingIncomplete, flatten_subgroups=True):
        async with running(web, recorder(web, file, strict=strict)):
            answer = await web.posts(call(1, "a"))
            if not strict:
                assert body == answer.body
    [line] = web.said

    assert f"a body cannot be decoded from {coding}" in line
    assert CANARY.encode() not in file.read_bytes()
    assert 5 == RecordingIncomplete.exit_code


@pytest.mark.parametrize("coding", UNDECODED)
async def test_a_replay_refuses_what_it_cannot_decode(
    web: Web, tmp_path: Path, coding: str
) -> None:
    """A request in a coding that is none, or that nobody here knows, gets 415."""
    file = tmp_path / "a.jsonl"
    async with running(web, recorder(web, file)):
        await web.posts(call(1, "a"))
    async with running(web, player(web, file)):
        answer = await web.posts(UNDECODED[coding], content_encoding=coding)
    assert 415 == answer.status
    assert f"decoded from {coding}".encode() in answer.body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("error:code=-32000", ("error", {"code": -32000, "message": "Internal error"})),
        ("latency:latency=1ms", ("result", {"x": 1})),
        ("delay:match.tool=other", ("result", {"x": 1})),
    ],
)
async def test_faults_change_what_is_compressed(
    web: Web, tmp_path: Path, stream: bool, fault: str, told: tuple[str, object]
) -> None:
    """A fault sees messages, and the client gets what it made of them, decoded; so it gets the
    messages that no fault changes.
    """
    web.server.script = answers_in("gzip", stream=stream)
    async with running(web, recorder(web, tmp_path / "a.jsonl", fault)):
        answer = await web.posts(call(1, "a", x=1))

    assert "content-encoding" not in dict(answer.headers)
    assert told[1] == said(answer.body)[told[0]]
