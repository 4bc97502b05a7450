#!/usr/bin/env python3
"""Measures what `record --url` keeps of a session that its client has deleted.

    tools/session_memory.py [--sessions 100000] [--from 2000]

A server and clients that say the least (raw bytes over sockets, in processes of their own) open
sessions one after the other, eight at a time: `initialize`, a ping, DELETE. The resident memory of
the recorder is read after the first sessions and at the end; the growth for each session in between
is printed. Exit status 1 if it is more than MAX_BYTES.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import multiprocessing.connection
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import trio

MAX_BYTES = 1024
AT_ONCE = 8
_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
)
_PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_WELCOME = (
    b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"serverInfo":{"name":"s","version":"1"}}}'
)
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n"
_LENGTH = re.compile(rb"(?i)content-length: *([0-9]+)")
_SESSION = re.compile(rb"(?i)mcp-session-id: *(\S+)")


async def message(stream: trio.SocketStream, held: bytearray) -> tuple[bytes, bytes] | None:
    """Read a head and its body; None at the end."""
    while (end := held.find(b"\r\n\r\n")) < 0:
        data = await stream.receive_some()
        if not data:
            return None
        held += data
    head = bytes(held[:end])
    found = _LENGTH.search(head)
    whole = end + 4 + (int(found[1]) if found else 0)
    while len(held) < whole:
        held += await stream.receive_some()
    body = bytes(held[end + 4 : whole])
    del held[:whole]
    return head, body


def serve(ready: multiprocessing.connection.Connection) -> None:
    """Answer as a server with sessions."""
    numbers = itertools.count(1)

    async def answer(stream: trio.SocketStream) -> None:
        held = bytearray()
        while asked := await message(stream, held):
            head, body = asked
            more, said = b"", b""
            if b'"initialize"' in body:
                more, said = b"Mcp-Session-Id: session-%032d\r\n" % next(numbers), _WELCOME
            elif head.startswith(b"POST"):
                said = b'{"jsonrpc":"2.0","id":1,"result":{}}'
            line = (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n"
            )
            await stream.send_all(line % (more, len(said)) + said)

    async def main() -> None:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        ready.send(listener.socket.getsockname()[1])
        await trio.serve_listeners(answer, [listener])

    trio.run(main)


async def hold(port: int, sessions: int) -> None:
    """Hold so many sessions, each over a connection of its own."""
    left = itertools.repeat(None, sessions)
    start = f"/mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode()

    async def one() -> None:
        stream, held = await trio.open_tcp_stream("127.0.0.1", port), bytearray()
        name = b""
        for method, body in ((b"POST", _INITIALIZE), (b"POST", _PING), (b"DELETE", b"")):
            kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
            fields = name + (kind if body else b"")
            await stream.send_all(b"%b %b%b\r\n%b" % (method, start, fields, body))
            told = await message(stream, held)
            assert told is not None
            assert told[0].startswith(b"HTTP/1.1 200"), told
            if found := _SESSION.search(told[0]):
                name = b"Mcp-Session-Id: %b\r\n" % found[1]
        await stream.aclose()

    async def several() -> None:
        for _ in left:
            await one()

    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(several)


def resident(pid: int) -> int:
    """Return the resident memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--from", type=int, default=2000, dest="first")
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mcpmock", "record", "-o", f"{folder}/a.jsonl"]
        url = f"http://127.0.0.1:{here.recv()}/mcp"
        with subprocess.Popen(
            [*command, "--url", url, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE
        ) as recorder:
            assert recorder.stderr is not None
            port = int(recorder.stderr.readline().rpartition(b":")[2].partition(b"/")[0])
            trio.run(hold, port, options.first)
            before = resident(recorder.pid)
            trio.run(hold, port, options.sessions - options.first)
            grown = resident(recorder.pid) - before
            recorder.terminate()
            last = recorder.stderr.read().decode().strip()
    each = grown / (options.sessions - options.first)
    print(f"{options.sessions} sessions: {before >> 20} MiB after {options.first}, ", end="")
    print(f"{each:.0f} B for each one more; {last}")
    sys.exit(int(each > MAX_BYTES))


if __name__ == "__main__":
    main()
