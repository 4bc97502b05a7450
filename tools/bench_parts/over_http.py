"""The client over Streamable HTTP: keep-alive connections, one request at a time on each."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from types import SimpleNamespace
from typing import cast

from bench_parts.client import Flood, Session
from bench_parts.traffic import INITIALIZE, INITIALIZED, Group, check

FLOOD_CONNECTIONS = 16
_MAX_READ = 1 << 16
_POLL_INTERVAL_S = 0.001
_LISTENING = re.compile(rb"http://[\w.]+:(\d+)(/\S*)?\s")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)
_FIELDS = (
    "Host: 127.0.0.1:{port}\r\nUser-Agent: bench\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\n"
)


class HttpSession(Session):
    """A process that listens, and prints its URL to stderr."""

    good_ends = frozenset({0, 128 + signal.SIGINT, -signal.SIGINT})

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        began = time.perf_counter_ns()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  close() closes it
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr, env=env
        )
        super().__init__(process, began)
        self._port, self._head = 0, ""
        self._connection: Connection | None = None

    def listening(self) -> int:
        """The port, as soon as it accepts connections."""
        while (found := _LISTENING.search(self._stderr_text())) is None:
            self._pause()
        self._port = int(found[1])
        path = (found[2] or b"/mcp").decode()
        self._head = f"POST {path} HTTP/1.1\r\n{_FIELDS.format(port=self._port)}"
        while True:
            try:
                self._connect()
            except ConnectionRefusedError:
                self._pause()
            else:
                return self._port

    def ping_pong(self, requests: Sequence[bytes]) -> list[float]:
        self._connect()  # some servers close a connection that was idle for seconds
        return super().ping_pong(requests)

    def flood(self, groups: Sequence[Group]) -> Flood:
        requests = [line for group in groups for line in group.data.splitlines()]
        wires = [self._wire(request) for request in requests]
        with ExitStack() as stack:
            opened = [Connection(self._port) for _ in range(FLOOD_CONNECTIONS)]
            for connection in opened:
                stack.enter_context(closing(connection))
            began = time.perf_counter()
            answers = _ask_all(opened, wires)
            taken = time.perf_counter() - began
        for request, answer in zip(requests, answers, strict=True):
            self._check(request, answer)
        return Flood(len(wires), sum(map(len, wires)) + sum(map(len, answers)), taken)

    def close(self) -> None:
        super().close()
        self._stderr.close()

    def _send_initialize(self) -> None:
        self.listening()
        self._greeting = self._ask(self._wire(INITIALIZE))

    def _send_initialized(self) -> None:
        self._check(INITIALIZE, self._greeting)
        session = _parsed(self._greeting)[0].getheader("Mcp-Session-Id")
        if session is not None:
            self._head += f"Mcp-Session-Id: {session}\r\n"
        self._head += "MCP-Protocol-Version: 2025-06-18\r\n"
        accepted = self._ask(self._wire(INITIALIZED))
        if _parsed(accepted)[0].status != 202:
            raise RuntimeError(f"a notification was answered {accepted!r}")

    def _wire(self, request: bytes) -> bytes:
        body = request.rstrip()
        return f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _ask(self, wire: bytes) -> bytes:
        assert self._connection is not None
        self._connection.send(wire)
        while (answer := self._connection.receive()) is None:
            pass
        return answer

    def _check(self, request: bytes, answer: bytes) -> None:
        response, body = _parsed(answer)
        streamed = response.getheader("Content-Type", "").startswith("text/event-stream")
        check(request, _DATA.findall(body) if streamed else [body])

    def _end_input(self) -> None:
        self._disconnect()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.send_signal(signal.SIGINT)

    def _connect(self) -> None:
        self._disconnect()
        self._connection = Connection(self._port)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _pause(self) -> None:
        try:
            self._process.wait(_POLL_INTERVAL_S)
        except subprocess.TimeoutExpired:
            return
        raise RuntimeError(f"ended before it listened: {self._stderr_text()[-200:]!r}")

    def _stderr_text(self) -> bytes:
        return os.pread(self._stderr.fileno(), _MAX_READ, 0)


class Connection:
    """One socket, and the beginning of a response."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, wire: bytes) -> None:
        self._socket.sendall(wire)

    def receive(self) -> bytes | None:
        """Read once. Gives the response if it is complete."""
        data = self._socket.recv(_MAX_READ)
        if not data:
            raise RuntimeError("the connection ended without an answer")
        self._held += data
        if not _is_complete(self._held):
            return None
        answer, self._held = self._held, b""
        return answer


def _is_complete(response: bytes) -> bool:
    end = response.find(b"\r\n\r\n")
    if end < 0:
        return False
    length = _LENGTH.search(response, 0, end)
    if length is not None:
        return len(response) >= end + 4 + int(length[1])
    return response.endswith(b"\r\n0\r\n\r\n")


def _ask_all(connections: Sequence[Connection], wires: Sequence[bytes]) -> list[bytes]:
    """All answers, in the order of the requests; a free connection sends the next request."""
    answers = [b""] * len(wires)
    waiting = iter(enumerate(wires))
    at = {connection.fileno(): connection for connection in connections}
    asked: dict[int, int] = {}
    poll = select.poll()

    def ask_next(fd: int) -> None:
        for number, wire in waiting:
            asked[fd] = number
            at[fd].send(wire)
            return

    for fd in at:
        poll.register(fd, select.POLLIN)
        ask_next(fd)
    while asked:
        for fd, _ in poll.poll():
            answer = at[fd].receive()
            if answer is not None:
                answers[asked.pop(fd)] = answer
                ask_next(fd)
    return answers


def _parsed(answer: bytes) -> tuple[HTTPResponse, bytes]:
    # Of its socket HTTPResponse calls `makefile` and nothing else.
    file = SimpleNamespace(makefile=lambda _mode: io.BytesIO(answer))
    response = HTTPResponse(cast("socket.socket", file))
    response.begin()
    return response, response.read()
