"""A recording of every real server is held against that same server: nothing differs, but for what
the rules in here (and in the manual) let pass because it is never the same twice.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import MCPMOCK

from . import parts
from .http_processes import real_server, recording
from .parts import HTTP, SSE
from .test_sdk import Stage, needs

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

TIMES = 5 if os.environ.get("MCPMOCK_E2E_ALL") else 1
LIMIT = 120.0
RULES: dict[str, list[str]] = {
    "everything": [
        "tools/call get-resource-reference $.result.content[1].resource.text",
        "resources/read $.result.contents[*].text",
        "prompts/get resource-prompt $.result.messages[1].content.resource.text",
        "notifications/message $.params",
    ],
    "filesystem": ["tools/call get_file_info $.result"],
    "time": ["tools/call get_current_time $.result"],
}
"""What is never the same twice, by server: times, and log lines at random levels."""
PAIRS = [
    ("ts1", "everything", "stdio"),
    ("ts1", "filesystem", "stdio"),
    ("py1", "memory", "stdio"),
    ("ts2-auto", "time", "stdio"),
    ("fastmcp", "git", "stdio"),
    ("py2-auto", "workshop-py2", HTTP),
    ("py1", "everything", SSE),
]


def test_the_rules_are_in_the_manual() -> None:
    """Whoever tests such a server finds them there."""
    topic = (Path(__file__).parents[2] / "mcpmock/help/diff.md").read_text(encoding="utf-8")

    assert [] == [rule for rules in RULES.values() for rule in rules if f"'{rule}'" not in topic]


def verified(cassette: Path, name: str, *server: str) -> None:
    rules = [argument for rule in RULES.get(name, []) for argument in ("--ignore", rule)]
    command = [*MCPMOCK, "verify", str(cassette), *rules, *server]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, check=False,
        env=parts.environment(cassette.parent),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("client", "name", "transport"), PAIRS)
def test_the_server_is_itself(client: str, name: str, transport: str, tmp_path: Path) -> None:
    """Recorded, and then verified against the same server."""
    needs(client, name)
    stage = Stage(tmp_path)
    workdir = tmp_path / name
    if transport == "stdio":
        cassette = stage.cassette(client, name)
        for _ in range(TIMES):
            parts.prepare(name, workdir)
            verified(cassette, name, "--", *parts.server(name, workdir))
        return
    cassette = tmp_path / "a.jsonl"
    parts.prepare(name, workdir)
    with real_server(name, transport, workdir) as real, recording(cassette, real.url) as front:
        argv = parts.reach(client, parts.scenario(name), workdir, transport, front.url)
        subprocess.run(argv, check=True, capture_output=True, timeout=LIMIT)
    for _ in range(TIMES):
        parts.prepare(name, workdir)
        with real_server(name, transport, workdir) as real:
            verified(cassette, name, "--url", real.url, "--url-transport", transport)
