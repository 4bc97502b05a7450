"""A real `mcpmock login` at authorization servers that flood it: the rows of
`tests/logins/hostile_answers.py` that need memory or a real connection.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.logins.hostile_answers import ROWS
from tests.logins.memory_issuer import AUTHORIZE, ORIGIN, Answer, Answers, MemoryIssuer
from tests.support.every import EVERY
from tests.support.processes import END, MCPMOCK

from .test_oauth import BROWSER, World

pytestmark = pytest.mark.e2e

MAX_GROWTH_KIB = 16 << 10
"""How much more memory than a login that succeeds: the bounds of an answer and of its parts."""
NAMES = ["issuer-bomb", "device-code-flood"]
if EVERY:
    NAMES += [
        "resource-flood", "registration-flood", "registration-method", "registration-id-flood",
        "token-bomb", "token-echo",
    ]  # fmt: skip
"""All are shown in memory, too (tests/logins/test_hostile_issuers.py)."""

# Linux counts what a process had before it became another program: not ours, but a small one.
MEASURED = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


def handler_of(issuer: MemoryIssuer) -> type[BaseHTTPRequestHandler]:
    """The same answers over a socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            origin = f"http://{self.headers['Host']}"
            path, _, query = self.path.partition("?")
            if path == AUTHORIZE:
                asked = {name: values[-1] for name, values in parse_qs(query).items()}
                back = urlencode({"code": "SECRET-code", "state": asked["state"]})
                self.send_response(302)
                self.send_header("Location", f"{asked['redirect_uri']}?{back}")
                self.end_headers()
                return
            answer = issuer.answers.get(path, Answer(status=404))
            assert isinstance(answer, Answer)
            body = answer.body
            if not isinstance(body, bytes) and not callable(body):
                body = json.dumps(body).replace(ORIGIN, origin).encode()
            self.send_response(answer.status)
            for name, text in answer.fields.items():
                self.send_header(name, text)
            self.end_headers()
            try:
                for piece in body() if callable(body) else [body]:
                    self.wfile.write(piece)
            except ConnectionError:
                pass  # it has read enough

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_arguments: object) -> None:
            pass

    return Handler


@contextmanager
def listening(changes: Mapping[str, Answers]) -> Iterator[str]:
    """The URL of a server with these answers."""
    handler = handler_of(MemoryIssuer.changed(changes))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


def log_in(home: Path, url: str, *options: str) -> tuple[int, str, int]:
    """Exit status, standard error, and the most memory that the process had, in KiB."""
    (home / "browser.py").write_text(BROWSER)
    world = World(home, cast("Any", SimpleNamespace(url=url)))
    argv = [sys.executable, "-c", MEASURED, *MCPMOCK, "login", url, *options]
    done = subprocess.run(
        argv, env=world.env, capture_output=True, text=True, timeout=END, check=False
    )
    return done.returncode, done.stderr, int(done.stdout)


@pytest.fixture(scope="module")
def normal_kib(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The memory of a login that succeeds: mostly the SDK and what it imports."""
    with listening({}) as url:
        status, said, peak = log_in(tmp_path_factory.mktemp("home"), url)
    assert 0 == status, said
    assert "SECRET" not in said
    return peak


@pytest.mark.parametrize("name", NAMES)
def test_a_flood(name: str, tmp_path: Path, normal_kib: int) -> None:
    """One line, no secret, and hardly more memory than a login takes."""
    row = ROWS[name]
    with listening(row.changes) as url:
        options = ["--device"] if row.how == "device" else []
        status, said, peak = log_in(tmp_path, url, *options)

    *before, line = said.splitlines()
    place = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
    print(f"{name}: {peak} KiB, {peak - normal_kib} more than {normal_kib}")
    assert 1 == status
    assert row.words.replace(ORIGIN, place) in line
    assert len(before) <= 1
    assert "SECRET" not in said
    assert "Traceback" not in said
    assert peak - normal_kib < MAX_GROWTH_KIB
