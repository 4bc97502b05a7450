"""Nothing on the wire stops a session: what crosses is byte for byte the same, and recorded."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpmock.cassette.model import Oversize, Take
from mcpmock.protocol.messages import C2S, S2C
from tests.support.processes import (
    MCPMOCK,
    crossed,
    feeding,
    peak_memory,
    read_line,
    reads,
    ready,
    record,
    replay,
    running,
    scripted,
    stdin_of,
    stdout_of,
    whole_take,
    write_all,
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
    "deep objects": b'{"a":' * (DEEP // 10) + b"1" + b"}" * (DEEP // 10),
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
ANSWERS = [b'{"jsonrpc":"2.0","id":%b,"result":{}}\n' % value for value in IDS]
ODD = [
    *(b'{"jsonrpc":"2.0","method":"m","params":{"v":%b}}\n' % value for value in FIELDS.values()),
    *(b'{"jsonrpc":"2.0","id":%b,"method":"m"}\n' % value for value in IDS),
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
DEEPEST = b'{"jsonrpc":"2.0","method":"m","params":%b1%b}\n' % (b'{"a":' * DEEP, b"}" * DEEP)


def test_odd_bytes_cross_unchanged_both_ways(tmp_path: Path) -> None:
    """What the server hears and what the client hears is what was said, with us and without us."""
    said, log = tmp_path / "said", tmp_path / "log"
    everything = b"".join([DEEPEST, *ANSWERS, *ODD])
    said.write_bytes(everything)
    server = scripted("--log", log, "say", said)
    steps: list[Step] = [Lines(1), Send(everything), Close()]
    heard = []
    for argv in (server, record(tmp_path / "a.jsonl", server)):
        log.unlink(missing_ok=True)
        spoken = talk(argv, steps)
        heard.append((spoken.stdout.partition(b"\n")[2], log.read_bytes(), spoken.exit_code))

    assert heard[0] == (everything, everything, 0)
    assert heard[1] == heard[0]
    take = whole_take(tmp_path / "a.jsonl")
    assert crossed(take, S2C).partition(b"\n")[2] == everything
    assert crossed(take, C2S) == everything


def in_turn() -> Iterator[Step]:
    """Each odd line, once the one before came back; the torn one last."""
    yield Lines(1)
    for count, line in enumerate(ODD, 2):
        yield Send(line)
        if line.endswith(b"\n"):
            yield Lines(count)
    yield Close()


def test_odd_lines_are_replayed_and_verified(tmp_path: Path) -> None:
    """A replay gives a client that says the same odd lines the same odd answers, to the byte. Sent
    to the same server again, the same odd lines come back: there is no difference.
    """
    cassette = tmp_path / "a.jsonl"
    recorded = talk(record(cassette, scripted("echo")), in_turn())
    replayed = talk(replay(cassette, "-q"), in_turn())

    assert recorded.stdout.partition(b"\n")[2] == b"".join(ODD)
    assert replayed.stdout == recorded.stdout
    assert replayed.stderr == b""
    pids = ("--ignore", "notifications/ready $.params.pids")
    command = [*MCPMOCK, "verify", str(cassette), *pids, "--", *scripted("echo")]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)

    assert (0, b"") == (done.returncode, done.stderr), done.stdout


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


@pytest.mark.parametrize(("megabytes", "bound"), [(60, 256), (100, 200)])
def test_a_long_line_crosses_both_ways_in_bounded_memory(
    megabytes: int, bound: int, tmp_path: Path
) -> None:
    """A long line, there and back: the same bytes in bounded memory, least where only its head is
    kept.
    """
    size = megabytes * MIB
    with running(record(tmp_path / "a.jsonl", scripted("echo"))) as process:
        ready(process)
        with feeding(stdin_of(process), long_line(size), close=False):
            echoed = digest(line_from(reads(stdout_of(process))))
        peak = peak_memory(process.pid)
        stdin_of(process).close()

        assert process.wait() == 0
    assert echoed == digest(long_line(size))
    check_recorded(whole_take(tmp_path / "a.jsonl"), b"".join(long_line(size)))
    assert peak <= bound * MIB


def check_recorded(take: Take, line: bytes) -> None:
    """Recorded both ways: whole up to 64 MiB, else with its head, its length and its digest."""
    raw = line[:-1]
    events = [event for event in take.events if len(event.payload or b"") > 1000]
    assert [event.d for event in events] == ["c2s", "s2c"]
    for event in events:
        if len(raw) <= 64 * MIB:
            assert event.payload == raw
        else:
            assert raw.startswith(event.payload or b"no payload")
            assert event.oversize == Oversize(len(raw), hashlib.sha256(raw).hexdigest())


FLOOD = b'{"jsonrpc":"2.0","method":"notifications/client","params":"%b"}\n' % (b"y" * 950)
VOLUME = 64 * MIB
ROOM = MIB
"""Bytes held for a slow reader before the other side is no longer read."""
PIPE = 1 << 16
"""Bytes that a pipe holds, and that one read takes."""


def test_both_sides_may_flood_at_once(tmp_path: Path) -> None:
    """64 MiB each way at the same time: nothing is lost, nothing waits for ever."""
    cassette, log = tmp_path / "a.jsonl", tmp_path / "log"
    count = VOLUME // len(FLOOD)
    with running(record(cassette, scripted("--log", log, "flood", VOLUME))) as process:
        received = bytearray(read_line(process))
        with feeding(stdin_of(process), [FLOOD * count]):
            received += b"".join(reads(stdout_of(process)))

        assert process.wait() == 0
    assert len(received) > VOLUME - PIPE
    assert log.read_bytes() == FLOOD * count
    take = whole_take(cassette)
    assert crossed(take, C2S) == FLOOD * count
    assert crossed(take, S2C) == received


def test_a_client_that_does_not_read_holds_the_server_back(tmp_path: Path) -> None:
    """At most 1 MiB is held beside what the pipes hold; once the client reads, all comes."""
    cassette = tmp_path / "a.jsonl"
    with running(record(cassette, scripted("flood", VOLUME))) as process:
        (server,) = ready(process)
        written = stalled(server)
        received = bytearray()
        while len(received) < VOLUME - PIPE:
            received += stdout_of(process).read(PIPE)
        stdin_of(process).close()
        received += b"".join(reads(stdout_of(process)))

        assert process.wait() == 0
    assert written <= ROOM + 3 * PIPE
    assert crossed(whole_take(cassette), S2C).endswith(received)


def stalled(pid: int) -> int:
    """How many bytes this process had written when it could write no more."""
    written = -1
    while written != (now := bytes_written(pid)):
        written = now
        threading.Event().wait(0.3)  # nothing tells that nothing will happen any more
    return written


def bytes_written(pid: int) -> int:
    rows = Path(f"/proc/{pid}/io").read_text("ascii").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("wchar"))


def test_standard_error_that_nobody_reads_does_not_hold_answers_back(tmp_path: Path) -> None:
    """A server that logs what fits into our hold is answered for all the same."""
    argv = record(tmp_path / "a.jsonl", scripted("log", ROOM))
    unread, stderr = os.pipe()
    with open(unread, "rb", buffering=0) as log, running(argv, stderr=stderr) as process:
        os.close(stderr)
        ready(process)
        write_all(stdin_of(process), FLOOD)

        assert read_line(process) == FLOOD
        stdin_of(process).close()
        assert b"".join(reads(log)) == b"n" * ROOM
        assert process.wait() == 0
