"""Nothing on the wire stops a session: what crosses is byte for byte the same, and recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpmock.cassette.model import Take
from mcpmock.protocol.messages import C2S, S2C, Direction

from .processes import (
    crossed,
    feeding,
    peak_memory,
    reads,
    ready,
    record,
    replay,
    running,
    scripted,
    stdin_of,
    stdout_of,
    whole_take,
)
from .raw_client import Close, Lines, Send, Step, talk

pytestmark = pytest.mark.e2e

MIB = 1 << 20
DEEP = 100_000
FIELDS = {
    "invalid UTF-8": b'"\xff\xfe\xc3\x28"',
    "a truncated character": b'"\xe6\xbc"',
    "an encoded surrogate": b'"\xed\xa0\x80"',
    "NUL": b'"\x00"',
    "control characters": b'"\x01\x1b[31m\x7f\x0b\x0c"',
    "line separators": '"\u2028\u2029\u0085"'.encode(),
    "a lone CR": b'"\r"',
    "deep arrays": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "5,000 digits": b"9" * 5000,
    "NaN and its kin": b"[NaN,Infinity,-Infinity]",
    "numbers of all spellings": b"[1.0,1e2,-0,1E400,0.10,123456789012345678901]",
    "lone surrogates": rb'"\ud800 \udc00 x"',
    "escapes": rb'"\u00e9\/\u0041"',
    "duplicate keys": b'{"a":1,"a":2,"a":{"a":3,"a":4}}',
    "white space": b" {  \t} ",
    "not JSON": b"{]",
}
IDS = [
    b"null",
    b"1.5",
    b"1e2",
    b"-0",
    b"true",
    b"[]",
    b'{"a":1}',
    b'""',
    b'"1"',
    b"9" * 5000,
    b"NaN",
]
ODD = [
    *(b'{"jsonrpc":"2.0","method":"m","params":{"v":%b}}\n' % value for value in FIELDS.values()),
    *(b'{"jsonrpc":"2.0","id":%b,"method":"m"}\n' % value for value in IDS),
    *(b'{"jsonrpc":"2.0","id":%b,"result":{}}\n' % value for value in IDS),
    b'{"id":1,"jsonrpc":"2.0","id":2,"method":"m","method":"n"}\n',
    b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"bom"}\n',
    b'{"jsonrpc":"2.0","method":"crlf"}\r\n',
    b'{"jsonrpc":"2.0","method":"crcrlf"}\r\r\n',
    b"\n",
    b"\r\n",
    b" \t \n",
    b"\x00\n",
    b"a banner, \xff, and no JSON\n",
    b'[{"jsonrpc":"2.0","id":3,"method":"m"},{"jsonrpc":"2.0","method":"n"}]\n',
    b"[]\n",
    b"17\n",
    b'"text"\n',
    b'{"jsonrpc":"2.0","method":"glued"}{"jsonrpc":"2.0","method":"on"}\n',
    b'{"jsonrpc":"2.0","id":4,"result":"x',
]
"""Lines as they should not be; the last one is torn."""


def test_odd_bytes_cross_unchanged_both_ways(tmp_path: Path) -> None:
    """What the server hears and what the client hears is what was said, with us and without us."""
    said, log = tmp_path / "said", tmp_path / "log"
    said.write_bytes(b"".join(ODD))
    server = scripted("--log", log, "say", said)
    steps: list[Step] = [Lines(1), Send(b"".join(ODD)), Close()]
    heard = []
    for argv in (server, record(tmp_path / "a.jsonl", server)):
        log.unlink(missing_ok=True)
        spoken = talk(argv, steps)
        heard.append((spoken.stdout.partition(b"\n")[2], log.read_bytes(), spoken.exit_code))

    assert heard[0] == (b"".join(ODD), b"".join(ODD), 0)
    assert heard[1] == heard[0]
    take = whole_take(tmp_path / "a.jsonl")
    assert crossed(take, S2C).partition(b"\n")[2] == b"".join(ODD)
    assert crossed(take, C2S) == b"".join(ODD)


def in_turn() -> Iterator[Step]:
    """Each odd line, once the one before came back; the torn one last."""
    yield Lines(1)
    for count, line in enumerate(ODD, 2):
        yield Send(line)
        if line.endswith(b"\n"):
            yield Lines(count)
    yield Close()


def test_odd_lines_are_replayed_as_they_were(tmp_path: Path) -> None:
    """A replay gives a client that says the same odd lines the same odd answers, to the byte."""
    recorded = talk(record(tmp_path / "a.jsonl", scripted("echo")), in_turn())
    replayed = talk(replay(tmp_path / "a.jsonl", "-q"), in_turn())

    assert recorded.stdout.partition(b"\n")[2] == b"".join(ODD)
    assert replayed.stdout == recorded.stdout
    assert replayed.stderr == b""


def long_line(size: int) -> Iterator[bytes]:
    """A line of about so many bytes, in parts, so that nobody needs to hold it."""
    yield b'{"jsonrpc":"2.0","method":"m","params":"'
    for _ in range(size // MIB):
        yield b"0123456789abcdef" * (MIB // 16)
    yield b'"}\n'


def digest(chunks: Iterator[bytes]) -> tuple[int, str]:
    """The length and the digest of all these bytes."""
    size, total = 0, hashlib.sha256()
    for chunk in chunks:
        size += len(chunk)
        total.update(chunk)
    return size, total.hexdigest()


def line_from(pipe_reads: Iterator[bytes]) -> Iterator[bytes]:
    """What comes, until a line ends."""
    for data in pipe_reads:
        yield data
        if data.endswith(b"\n"):
            return


@pytest.mark.parametrize("megabytes", [60, 100])
def test_a_long_line_crosses_both_ways_in_bounded_memory(megabytes: int, tmp_path: Path) -> None:
    """Sixty and a hundred MiB, there and back: the same bytes, at most 200 MiB of memory."""
    with running(record(tmp_path / "a.jsonl", scripted("echo"))) as process:
        ready(process)
        with feeding(stdin_of(process), long_line(megabytes * MIB), close=False):
            echoed = digest(line_from(reads(stdout_of(process))))
        peak = peak_memory(process.pid)
        stdin_of(process).close()

        assert process.wait() == 0
    assert echoed == digest(long_line(megabytes * MIB))
    take = whole_take(tmp_path / "a.jsonl")
    for direction in (C2S, S2C):
        assert recorded_line(take, direction) == digest(long_line(megabytes * MIB))
    assert peak <= 200 * MIB


def recorded_line(take: Take, direction: Direction) -> tuple[int, str]:
    """Length and digest of the one long line that went this way, kept whole or not."""
    (event,) = [
        event
        for event in take.events
        if event.d == direction.value and len(event.payload or b"") > 1000
    ]
    if event.oversize is None:
        return digest(iter([event.payload or b"", b"\n"]))
    head = event.payload or b""
    body = b"".join(long_line(event.oversize.bytes))[:-1]
    assert body.startswith(head)
    assert hashlib.sha256(body).hexdigest() == event.oversize.sha256
    return event.oversize.bytes + 1, hashlib.sha256(body + b"\n").hexdigest()
