"""Other operating systems: only `platforms` names what one of them lacks, and each command works on
macOS and Windows or is refused in one line, before anything starts. The package is shown those
systems (`shown_platform`); it is not run there.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cassette.file import load

from .test_house import MODULES, ROOT, nodes

SHOWN = Path(__file__).with_name("shown_platform.py")
OVER_HTTP = ROOT / "cassettes/everything-http.jsonl"
_MODULES = {"fcntl", "termios", "resource", "pwd", "grp", "pty", "tty", "msvcrt"}
# Started as a file without site packages: it imports nothing of ours.
_APART = "mcpmock.channels.unix_client"
_CALLS = {"pidfd_open", "sigtimedwait", "killpg", "fork", "getuid", "geteuid", "pread", "pwrite"}
READING = (
    ("help", "faults"),
    ("faults",),
    ("show", "time.jsonl"),
    ("show", "--json", "time.jsonl"),
    ("report", "time.jsonl", "-o", "report.html"),
    ("check", "time.jsonl"),
    ("check", "--jobs", "2", "time.jsonl", "git.jsonl"),
    ("check", "no-such.jsonl"),
    ("stats", "--json", "time.jsonl", "git.jsonl"),
    ("diff", "time.jsonl", "git.jsonl"),
    ("convert", "time.jsonl", "--to", "har", "-o", "time.har"),
    ("fmt", "time.jsonl"),
    ("merge", "time.jsonl", "git.jsonl", "-o", "both.jsonl"),
    ("scan", "git.jsonl"),
    ("redact", "git.jsonl"),
    ("recover", "git.jsonl", "-o", "saved.jsonl"),
    ("rules", "time.jsonl"),
    ("--version",),
)
SERVER = ("--", sys.executable, "-c", "open('started', 'w')")
LISTEN = ("--listen", "127.0.0.1:0")
REFUSED: dict[str, list[tuple[str, ...]]] = {
    "darwin": [("replay", "time.jsonl", "--order", "any", *LISTEN, "--workers", "2")],
    "win32": [
        ("replay", "time.jsonl", "--order", "any", *LISTEN, "--workers", "2"),
        ("explore", "time.jsonl", *SERVER),
        ("explore", "time.jsonl", "--client", *SERVER),
        ("run", "claude"),
        ("wrap", "claude-code"),
    ],
}


def test_one_module_names_what_differs() -> None:
    """No module but `platforms` imports, calls or opens what one system lacks."""
    offenders = [
        f"{module}: {named}"
        for module, path in MODULES.items()
        if module not in ("mcpmock.platforms", _APART)
        for node in nodes(path)
        for named in _named(node)
    ]

    assert [] == offenders


def _named(node: Any) -> set[str]:
    match node:
        case ast.Import(names=names):
            return {alias.name for alias in names} & _MODULES
        case ast.ImportFrom(module=str(module), names=names):
            return {module, *(alias.name for alias in names)} & (_MODULES | _CALLS)
        case ast.Attribute(attr=attr, value=ast.Name(id="os" | "signal")):
            return {attr} & _CALLS
        case ast.Constant(value=str(text)) if re.match(r"/proc\b(?!.*\n)", text):
            return {text}
    return set()


def folder_of(tmp_path: Path, platform: str) -> Path:
    folder = tmp_path / platform
    folder.mkdir()
    for name in ("time.jsonl", "git.jsonl"):
        shutil.copy(ROOT / "cassettes" / name, folder)
    return folder


def run_all(folder: Path, platform: str, commands: Sequence[Sequence[str]]) -> list[list[Any]]:
    done = subprocess.run(
        [sys.executable, str(SHOWN), platform, "-"],
        input=json.dumps(commands).encode(),
        capture_output=True,
        cwd=folder,
        check=False,
    )
    assert b"" == done.stderr
    results: list[list[Any]] = json.loads(done.stdout)
    return results


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[list[Any]], dict[str, bytes]]:
    folder = folder_of(tmp_path_factory.mktemp("here"), "linux")
    return run_all(folder, "linux", READING), contents(folder)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_reading_commands_do_the_same_everywhere(
    tmp_path: Path, platform: str, here: tuple[list[list[Any]], dict[str, bytes]]
) -> None:
    """Status, output, errors and files are those of Linux."""
    folder = folder_of(tmp_path, platform)
    results, files = here
    found = run_all(folder, platform, READING)

    for command, one, other in zip(READING, results, found, strict=True):
        assert (command, one) == (command, other)
    assert files == contents(folder)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, platform: str) -> None:
    """With status 2 and what to do instead, before a server is started or a file is made."""
    folder = folder_of(tmp_path, platform)
    before = contents(folder)

    for command, result in zip(
        REFUSED[platform], run_all(folder, platform, REFUSED[platform]), strict=True
    ):
        status, output, errors = result
        assert (2, "", 1) == (status, output, errors.count("\n")), (command, result)
        assert "does not work on this operating system; " in errors, command
    assert before == contents(folder)


@contextmanager
def listening(folder: Path, platform: str, *words: str) -> Iterator[str]:
    """Run a command that listens, give its URL, and end it with SIGTERM."""
    with subprocess.Popen(
        [sys.executable, str(SHOWN), platform, *words], cwd=folder, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline().decode()
            found = re.search(r"http://\S+", line)
            assert found is not None, line
            yield found[0]
        except BaseException:
            process.kill()
            raise
        process.terminate()
        _, errors = process.communicate(timeout=30)
        assert (0, b"") == (process.returncode, errors)


def answered(url: str) -> bytes:
    """Return what a server answers to the first message of the recording."""
    events = load(OVER_HTTP).takes[0].events
    message = next(event.payload for event in events if event.d == "c2s" and event.payload)
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with urllib.request.urlopen(urllib.request.Request(url, bytes(message), headers)) as response:
        body: bytes = response.read()
    return body


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_a_page_is_served_everywhere(tmp_path: Path, platform: str) -> None:
    """`watch` of a file, until a stop signal."""
    folder = folder_of(tmp_path, platform)
    with (
        listening(folder, platform, "watch", "-q", "time.jsonl") as url,
        urllib.request.urlopen(url) as page,
    ):
        assert b"<!doctype html>" in page.read().lower()


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_http_is_replayed_and_recorded_everywhere(tmp_path: Path, platform: str) -> None:
    """`replay --listen`, and in front of it `record --url`."""
    folder = folder_of(tmp_path, platform)
    with (
        listening(folder, platform, "replay", "-q", str(OVER_HTTP), *LISTEN) as server,
        listening(folder, platform, "record", "-q", "-o", "n.jsonl", "--url", server) as recorder,
    ):
        answer = answered(recorder)

    assert b'"serverInfo"' in answer
    events = load(folder / "n.jsonl").takes[0].events
    assert {"c2s", "s2c"} <= {event.d for event in events if event.payload is not None}
