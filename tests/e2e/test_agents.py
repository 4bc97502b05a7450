"""Real agents record a server through `mcpmock wrap`, and are answered from that recording: the
walk of a user who changes one line of a configuration, and nothing else.

An agent is a framework or a command line, unchanged, whose model is a script (`model_endpoint`).
One of each kind is run, and a test with one of them; MCPMOCK_E2E_ALL=1 runs all, which
tools/e2e_parts.sh agents installs. That the URL of a recorder or a replay may stand in place of a
server's is shown with clients of the SDKs, too (`test_sdk_http`).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cassette.file import load
from tests.support.every import EVERY

from .agents import AGENTS, configure, run_agent
from .http_processes import real_server, recording, replaying
from .model_endpoint import DONE, ToolCall, scripted_model
from .parts import HTTP, not_installed, prepare, server

pytestmark = [pytest.mark.parts, pytest.mark.timeout(600)]  # five starts of half a minute

PROGRAM = str(Path(sys.executable).with_name("mcpmock"))
NAMES = [*AGENTS] if EVERY else ["pydantic_ai", "copilot"]


@dataclass(frozen=True)
class Walk:
    """An agent with its home, and the folder that it looks at through the server `files`."""

    name: str
    home: Path
    workdir: Path
    config: Path

    @property
    def files(self) -> Path:
        return self.workdir / "files"

    @property
    def script(self) -> list[ToolCall]:
        """Seven calls; the last but one, which only reads, is asked again in replays."""
        folder = str(self.files)
        return [
            ToolCall("list_directory", {"path": folder}),
            ToolCall("list_allowed_directories", {}),
            ToolCall("search_files", {"path": folder, "pattern": "**/*.json"}),
            ToolCall("directory_tree", {"path": folder}),
            ToolCall("read_multiple_files", {"paths": [f"{folder}/poem.txt"]}),
            ToolCall("read_text_file", {"path": f"{folder}/poem.txt", "head": 1}),
            ToolCall("create_directory", {"path": f"{folder}/deep"}),
        ]

    @property
    def entry(self) -> object:
        """The server in the configuration: opencode and Qwen write other things into the file."""
        text = self.config.read_text("utf-8")
        value = tomllib.loads(text) if self.config.suffix == ".toml" else json.loads(text)
        keys = ("mcpServers", "mcp_servers", "mcp")
        return next(value[key]["files"] for key in keys if key in value)

    def mcpmock(self, *words: object, status: int = 0) -> str:
        """Run mcpmock as the user of this home."""
        done = subprocess.run(
            [PROGRAM, *map(str, words)],
            env={**os.environ, "HOME": str(self.home)},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout

    def wrap(self, *words: object) -> None:
        self.mcpmock("wrap", "files", "--config", self.config, "--yes", *words)

    def run(self, script: Sequence[ToolCall]) -> None:
        """Let the agent make these calls, and say that it is done."""
        with scripted_model(script) as model:
            done = run_agent(self.name, self.home, self.files, model.url)
        assert DONE in done.stdout, (done.stdout, done.stderr)
        assert done.returncode == 0

    def record(self) -> Path:
        """Make one more recording. Gives its file."""
        prepare("filesystem", self.workdir)
        before = set(self.recordings)
        self.run(self.script)
        (file,) = set(self.recordings) - before
        return file

    @property
    def recordings(self) -> list[Path]:
        return sorted((self.home / "recorded").glob("*.jsonl"))


def walk_of(name: str, workdir: Path, entry: dict[str, Any] | None = None) -> Walk:
    """The walk of an agent with a home of its own: its server is not wrapped yet."""
    for part, what in ((AGENTS[name].part, name), ("npm", "filesystem")):
        if reason := not_installed(part, what):
            pytest.skip(reason)
    home = workdir / f"home-{name}"
    home.mkdir(parents=True)
    prepare("filesystem", workdir)
    if entry is None:
        program, *arguments = server("filesystem", workdir)
        entry = {"command": program, "args": arguments}
    return Walk(name, home, workdir, configure(name, home, entry))


@pytest.fixture
def walk(request: pytest.FixtureRequest, tmp_path: Path) -> Walk:
    """The walk of the agent of this name."""
    return walk_of(request.param, tmp_path)


def missed(log: Path) -> list[str]:
    """What a replay reported: nothing but when it began."""
    return [line for line in log.read_text("utf-8").splitlines() if "Z mcpmock replay " not in line]


@pytest.mark.parametrize("walk", NAMES if EVERY else NAMES[1:], indirect=True)
def test_an_agent_is_answered_from_its_own_recording(walk: Walk) -> None:
    """Without a rule, though it puts ids of its own into each call and ends its server by signals;
    what only reads is answered once more. Two recordings are the same, but for a list that an agent
    asks for by chance.
    """
    before = walk.entry
    walk.wrap("-o", walk.home / "recorded")
    first, second = walk.record(), walk.record()
    walk.wrap("--replay", first)
    walk.run([*walk.script, walk.script[5]])

    assert missed(first.with_name(f"{first.stem}.replay.log")) == []
    walk.mcpmock("diff", "--fail-on", "risky", first, second)
    walk.mcpmock("verify", first, "--", *server("filesystem", walk.workdir))
    walk.mcpmock("unwrap", "files", "--config", walk.config, "--yes")
    assert walk.entry == before


@pytest.mark.parametrize(("recorder", "other"), [*pairwise(NAMES)])
def test_an_agent_is_answered_from_the_recording_of_another(
    recorder: str, other: str, tmp_path: Path
) -> None:
    """With one round of the rules that its misses propose, at most: they go into the cassette."""
    first, second = walk_of(recorder, tmp_path), walk_of(other, tmp_path)
    first.wrap("-o", first.home / "recorded")
    file = first.record()
    second.wrap("--replay", file)
    second.run(second.script)
    log = file.with_name(f"{file.stem}.replay.log")
    for line in missed(log):
        if "allow with `mcpmock " in line:
            second.mcpmock(*shlex.split(line.partition("`mcpmock ")[2].rpartition("`")[0]))
    log.unlink()
    second.run(second.script)

    assert [line for line in missed(log) if line.startswith("nothing recorded")] == []


REMOTE = [
    *(ToolCall("echo", {"message": str(n)}) for n in range(5)),
    ToolCall("get-sum", {"a": 1, "b": 2}),
    ToolCall("get-structured-content", {"location": "Chicago"}),
]
"""Seven calls of the server `everything`; the last, which only reads, is asked again in replays."""


@pytest.mark.parametrize("name", NAMES if EVERY else NAMES[1:])
def test_a_server_at_a_url(name: str, tmp_path: Path) -> None:
    """Its entry is wrapped into a proxy, and answered without a connection."""
    with real_server("everything", HTTP, tmp_path) as served:
        walk = walk_of(name, tmp_path, AGENTS[name].remote(served.url))
        before = walk.entry
        walk.wrap("-o", walk.home / "recorded")
        walk.run(REMOTE)
        walk.run(REMOTE)
        first, second = walk.recordings
        walk.mcpmock("verify", first, "--url", served.url)
    walk.mcpmock("diff", "--fail-on", "risky", first, second)
    walk.wrap("--replay", first)
    walk.run([*REMOTE, REMOTE[-1]])

    assert missed(first.with_name(f"{first.stem}.replay.log")) == []
    assert calls_in(first) == 7
    walk.mcpmock("unwrap", "files", "--config", walk.config, "--yes")
    assert walk.entry == before


@pytest.mark.skipif(not EVERY, reason="takes long: MCPMOCK_E2E_ALL=1")
@pytest.mark.parametrize("name", NAMES)
def test_the_url_of_the_recorder(name: str, tmp_path: Path) -> None:
    """It stands in the configuration in place of that of the server, then that of the replay."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    walk = walk_of(name, tmp_path, {"url": ""})
    with real_server("everything", HTTP, tmp_path) as served:
        for file in (first, second):
            with recording(file, served.url) as recorder:
                configure(name, walk.home, AGENTS[name].remote(recorder.url))
                walk.run(REMOTE)
            assert recorder.exit_code == 0, recorder.stderr
        # Gemini CLI resumes each stream: it is told what was sent before its stream was open, too.
        fail_on = "breaking" if name == "gemini" else "risky"
        walk.mcpmock("verify", "--fail-on", fail_on, first, "--url", served.url)
    walk.mcpmock("diff", "--fail-on", "risky", first, second)
    with replaying(first) as player:
        configure(name, walk.home, AGENTS[name].remote(player.url))
        walk.run([*REMOTE, REMOTE[-1]])

    assert player.exit_code == 0, player.stderr
    assert calls_in(first) == 7


def calls_in(cassette: Path) -> int:
    """How many calls of tools were recorded."""
    events = (event for take in load(cassette).takes for event in take.events)
    return sum(event.d == "c2s" and b'"tools/call"' in (event.payload or b"") for event in events)
