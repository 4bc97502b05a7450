#!/usr/bin/env python3
"""Sends many messages both ways through `mcpmock record`, and compares every byte.

    tools/volume.py [--messages N] [--size BYTES]      (1,000,000 of about 100 bytes)

Each message goes to an echoing server and back, so the cassette holds all of them twice. Prints
seconds, messages a second, and the peak memory of the recorder with its growth over the last nine
tenths. Exit status 1 if a byte differs, if the cassette lacks a message, or if memory grew by more
than MAX_GROWTH_MIB. `mcpmock help reliability`: 10,000,000 messages of 100 bytes are row R1, 1,000
messages of a megabyte row R10.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.processes import (
    feeding,
    peak_memory,
    ready,
    record,
    running,
    scripted,
    stdin_of,
    stdout_of,
)

MAX_GROWTH_MIB = 16
_MANY = 1000
_READ = 1 << 20


def messages(count: int, size: int) -> Iterator[bytes]:
    """So many requests, a thousand at a time, each with its number and of about this size."""
    filler = b"z" * max(0, size - 60)
    for first in range(0, count, _MANY):
        numbers = range(first, min(first + _MANY, count))
        line = b'{"jsonrpc":"2.0","id":%d,"method":"m","params":{"s":"%b"}}\n'
        yield b"".join(line % (number, filler) for number in numbers)


def total(chunks: Iterator[bytes]) -> tuple[int, bytes]:
    """Their length and their digest."""
    length, digest = 0, hashlib.sha256()
    for chunk in chunks:
        length += len(chunk)
        digest.update(chunk)
    return length, digest.digest()


def recorded(cassette: Path) -> tuple[int, int]:
    """How many messages the cassette has in each direction, without loading it."""
    found = {b'"d":"c2s"': 0, b'"d":"s2c"': 0}
    with cassette.open("rb") as lines:
        for line in lines:
            for direction in found:
                found[direction] += direction in line[:60] and b'"m":' in line[:80]
    c2s, s2c = found.values()
    return c2s, s2c


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=100)
    args = parser.parse_args()
    length, digest = total(messages(args.messages, args.size))
    with tempfile.TemporaryDirectory() as folder:
        cassette = Path(folder) / "a.jsonl"
        with running(record(cassette, scripted("echo"))) as process:
            ready(process)
            began, early, came, echoed = time.monotonic(), 0, 0, hashlib.sha256()
            with feeding(stdin_of(process), messages(args.messages, args.size), close=False):
                while came < length:
                    data = stdout_of(process).read(_READ)
                    if not data:
                        break
                    echoed.update(data)
                    came += len(data)
                    if not early and came > length // 10:
                        early = peak_memory(process.pid)
            seconds = time.monotonic() - began
            late = peak_memory(process.pid)
            stdin_of(process).close()
            status = process.wait()
        counts = recorded(cassette)
    growth = (late - early) >> 20
    print(f"{args.messages:,} messages each way, {length >> 20:,} MiB: {seconds:.1f} s,")
    print(f"{2 * args.messages / seconds:,.0f} messages a second, {late >> 20} MiB (+{growth})")
    errors = []
    if (came, echoed.digest(), status) != (length, digest, 0):
        errors.append(f"bytes are missing or differ: {came} of {length}, exit status {status}")
    if counts != (args.messages, args.messages + 1):  # the server says one line before it echoes
        errors.append(f"the cassette has {counts} messages")
    if growth > MAX_GROWTH_MIB:
        errors.append(f"memory grew by {growth} MiB")
    print("\n".join(errors), end="\n" * bool(errors), file=sys.stderr)
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
