"""Servers with a URL, as processes: the real ones, and mcpmock in front or in place of one.

Each is started, waited for until it says where it listens, and ended for sure:

    with real_server("workshop-py2", "sse", workdir) as server:
        with recording(cassette, server.url) as recorder:
            ...                   # server.url, recorder.url
    assert recorder.exit_code == 0

`recording` and `proxying` pass on what clients say to a server, `replaying` takes its place.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.support.processes import END, MCPMOCK

from . import parts

START = 20.0
"""Seconds within which a server must say where it listens."""
_WHERE = re.compile(r"^listening on (http://\S+)$|(?:listening|running) on port (\d+)$")


class NotListeningError(Exception):
    """A server has ended, or said nothing, before it listened."""


@dataclass
class Served:
    """A running server: where it is, and what it has said."""

    process: subprocess.Popen[str]
    path: str
    url: str = ""
    lines: list[str] = field(default_factory=list)
    exit_code: int | None = None
    """How it ended on SIGTERM; set when the block of its `with` is over."""
    came: threading.Condition = field(default_factory=threading.Condition)

    @property
    def stderr(self) -> str:
        return "".join(self.lines)

    def listen(self, pipe: IO[str]) -> None:
        """Keep its stderr, line by line, to the end; a full pipe would block it."""
        for line in pipe:
            with self.came:
                self.lines.append(line)
                if not self.url and (found := _WHERE.search(line.rstrip())):
                    self.url = found[1] or f"http://127.0.0.1:{found[2]}{self.path}"
                self.came.notify_all()

    def wait(self, reader: threading.Thread) -> None:
        """Wait until it listens."""
        deadline = time.monotonic() + START
        with self.came:
            while not self.url:
                if time.monotonic() > deadline or not reader.is_alive():
                    raise NotListeningError(self.stderr)
                self.came.wait(0.1)


@contextmanager
def serving(
    argv: Sequence[str], *, path: str = "", env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """A server that listens for as long as the block lasts; SIGTERM ends it, or SIGKILL."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=env,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    assert process.stderr is not None
    served = Served(process, path)
    reader = threading.Thread(target=served.listen, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        served.wait(reader)
        yield served
    finally:
        _end(served, reader)
        process.stderr.close()


def _end(served: Served, reader: threading.Thread) -> None:
    process = served.process
    process.send_signal(signal.SIGTERM)
    try:
        served.exit_code = process.wait(END)
    except subprocess.TimeoutExpired:
        pass  # exit_code stays None: a test of mcpmock fails by it, a real server may
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the usual case: all have gone
    process.wait()
    reader.join()


@contextmanager
def real_server(name: str, transport: str, workdir: Path) -> Iterator[Served]:
    """A server of `parts.HTTP_SERVERS`, fresh."""
    parts.prepare(name, workdir)
    with server_on(free_port(), name, transport, workdir) as served:
        yield served


@contextmanager
def server_on(port: int, name: str, transport: str, workdir: Path) -> Iterator[Served]:
    """The same on a port of the test's choice, for one that is started again."""
    path = "/sse" if transport == parts.SSE else "/mcp"
    env = {**parts.environment(workdir), "PORT": str(port)}
    with serving(parts.server(name, workdir, transport), path=path, env=env) as served:
        yield served


def free_port() -> int:
    """A port that is free right now, for server-everything, which does not take port 0."""
    while True:
        # Below those that Linux gives to clients and to port 0 (ip_local_port_range, from 32768):
        # in the second that Node takes to start, another test could be given the same one.
        port = random.randrange(20_000, 32_768)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


@contextmanager
def recording(cassette: Path, url: str, *options: str) -> Iterator[Served]:
    """`mcpmock record --url` in front of a server."""
    argv = [*MCPMOCK, "record", "-o", str(cassette), "--url", url, *options]
    with serving(argv) as served:
        yield served


@contextmanager
def replaying(cassette: Path, *options: str) -> Iterator[Served]:
    """`mcpmock replay --listen` in place of a server."""
    argv = [*MCPMOCK, "replay", str(cassette), "--listen", "127.0.0.1:0", *options]
    with serving(argv) as served:
        yield served


@contextmanager
def proxying(*argv: str) -> Iterator[Served]:
    """`mcpmock proxy` for clients over HTTP; `argv` are its other options, and the server."""
    with serving([*MCPMOCK, "proxy", "--listen", "127.0.0.1:0", *argv]) as served:
        yield served


FORWARDING = ("record", "proxy")


def forwarding(how: str, cassette: Path, url: str) -> AbstractContextManager[Served]:
    """The command of FORWARDING that is called so; only `record` keeps a cassette."""
    return recording(cassette, url) if how == "record" else proxying("--url", url)
