"""Real workers of xdist: what tests on different workers leave over and record adds up.

What does not take workers is in tests/test_pytest_plugin.py; MCPMOCK_E2E_ALL=1 runs it with workers
too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mcpmock
from tests.support.every import EVERY
from tests.support.record_modes import SERVER, asked
from tests.support.weather import write_weather

from .parts import PARTS

PYTHON = PARTS / "py2" / "bin" / "python"
ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parts,
    pytest.mark.skipif(
        not (PARTS / "py2" / ".pins").exists(),
        reason="xdist is not installed: run tools/e2e_parts.sh py2",
    ),
]
SUITE = """
import os
import subprocess
import pytest

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\\n'
)
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n'
CALL = (
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call",'
    b'"params":{"name":"get_weather","arguments":{"city":"Oslo"}}}\\n'
)

def ask(server, *lines):
    done = subprocess.run(server.command, input=b"".join(lines), capture_output=True, timeout=20)
    assert done.stdout.count(b'"result"') == len(lines)
"""
LEFT = """
pytestmark = pytest.mark.mcpmock("weather.jsonl", unused="fail")

def test_lists(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, LIST)

def test_calls(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, CALL)
"""
MARKED = """
@pytest.mark.mcpmock("shared.jsonl", server={server})
@pytest.mark.parametrize("n", range(4))
def test_it(mcpmock_server, n):
    ask(mcpmock_server, INITIALIZE, *[LIST] * (n + 1))
"""


def run(folder: Path, source: str, *options: str) -> tuple[int, str]:
    """The exit status and what was printed. Nothing may warn."""
    (folder / "test_a.py").write_text(SUITE + source)
    (folder / "pytest.ini").write_text("[pytest]\n")
    words = ["-p", "no:cacheprovider", "-p", "mcpmock.pytest_plugin", "-p", "xdist"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        [PYTHON, "-W", "error", "-m", "pytest", *words, "-n", "2", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("-k", "calls")] if EVERY else [()])
def test_leftovers_add_up(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Two tests on one cassette, on two workers: nothing is left over that a
    test asked or might have asked.
    """
    write_weather(tmp_path / "cassettes" / "weather.jsonl")
    status, text = run(tmp_path, LEFT, *options)

    assert 0 == status, text
    assert f"{2 - ('-k' in options)} passed" in text


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ("", 1, "1 recorded request of cassettes/weather.jsonl not sent: tools/call"),
        ("def test_crashes(mcpmock_server):\n    os._exit(1)", 1, "1 failed, 2 passed in"),
        ("def test_fails(mcpmock_server):\n    assert False", 1, "1 failed, 2 passed in"),
        ("def test_skips(mcpmock_server):\n    pytest.skip()", 0, "2 passed, 1 skipped in"),
    ][: 4 if EVERY else 2],
    ids=["passes", "crashes", "fails", "skips"][: 4 if EVERY else 2],
)
def test_only_tests_that_passed(tmp_path: Path, more: str, status: int, words: str) -> None:
    """What no test asked is an error, unless a test that did not pass may have asked it: then a
    line says that it was not judged.
    """
    write_weather(tmp_path / "cassettes" / "weather.jsonl")
    source = LEFT.replace("INITIALIZE, CALL", "INITIALIZE, LIST") + more
    code, text = run(tmp_path, source)

    assert status == code, text
    assert words in text, text
    assert ("not judged" in text) is bool(more)


def test_tests_that_record_one_cassette(tmp_path: Path) -> None:
    """Each has its take in it, whichever worker recorded it; the next run starts nothing."""
    started, script = tmp_path / "started", tmp_path / "server.py"
    script.write_text(SERVER.format(started=str(started)))
    source = MARKED.format(server=[sys.executable, "-I", "-S", str(script)])
    for mode, starts in (("once", 4), ("none", 0), ("all", 4)):
        code, text = run(tmp_path, source, f"--mcp-record={mode}")
        assert 0 == code, text
        assert starts == (len(started.read_text()) if started.exists() else 0), mode
        started.unlink(missing_ok=True)
        takes = mcpmock.load(tmp_path / "cassettes" / "shared.jsonl")
        assert [2, 3, 4, 5] == sorted(asked(takes)), mode

    assert ["shared.jsonl"] == [file.name for file in (tmp_path / "cassettes").iterdir()]
