"""The client's tour, with the real server: what it receives, in which order, and what ends it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.e2e
SERVER = [sys.executable, "-m", "mcpmock.demo.server"]
CRASHING = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(7)"]
ASKING = [
    sys.executable,
    "-c",
    """if True:
    import sys
    sys.stdin.readline()
    print('{"jsonrpc":"2.0","id":1,"method":"no/such"}', flush=True)
    sys.exit("-32601" not in sys.stdin.readline())""",
]


def run(command: list[str], *options: str) -> tuple[int, list[Any], bytes]:
    """Exit status, what the client saw, and stderr."""
    argv = [sys.executable, "-m", "mcpmock.demo.client", *options, "--", *command]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=30)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def about(saw: list[Any]) -> str:
    """Each thing seen, by its method alone."""
    names = [seen.get("asked") or seen.get("notified") or seen["answered"] for seen in saw]
    return " ".join(names).replace("notifications/", "").replace("tools/call ", "")


def test_tour() -> None:
    """Two tours see the same: progress and questions before their answer, errors as answers, a slow
    call overtaken, and a cancelled one never answered.
    """
    status, saw, stderr = run(SERVER)

    assert (0, 33, b"mcpmock demo server ready\n") == (status, len(saw), stderr)
    seen = about(saw)
    assert "progress progress progress countdown" in seen
    assert "sampling/createMessage ask elicitation/create confirm roots/list roots" in seen
    assert "resources/updated touch" in seen
    assert seen.endswith("ping echo slow ping ping")
    assert [-32602, -32601] == [one["error"]["code"] for one in saw if "error" in one]
    assert (status, saw, stderr) == run(SERVER)


def test_one_city() -> None:
    """With `--city` it only asks for the weather there."""
    assert "initialize message weather" == about(run(SERVER, "--city", "Lima")[1])


def test_unknown_question() -> None:
    """A question that it does not know is answered with an error."""
    assert (0, "no/such") == (run(ASKING)[0], about(run(ASKING)[1]))


@pytest.mark.parametrize(("command", "status"), [(CRASHING, 7), (["/no/such/command"], 127)])
def test_server_dies(command: list[str], status: int) -> None:
    """A server that ends early, or cannot be started, ends the client with that status."""
    assert (status, []) == run(command)[:2]
