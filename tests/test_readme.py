"""The README's examples are run: each `console` block, in order, in one folder, on ports that are
free in place of those that it names.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import pytest

LIMIT = 60.0
"""Seconds that a command may take."""
README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
PORT = re.compile(r"(?<=127\.0\.0\.1:)[0-9]+")
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", README, re.M | re.S)


@pytest.fixture(scope="module")
def ports() -> dict[str, str]:
    """For each port of this machine that the README names, one that nobody has right now."""
    named = sorted(set(PORT.findall(README)))
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in named]
        free = [str(listener.getsockname()[1]) for listener in listeners]
    return dict(zip(named, free, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reader types, with `mcpmock` and `python` being ours."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "bin").mkdir()
    for name, words in (
        ("mcpmock", [sys.executable, "-m", "mcpmock"]),
        ("python", [sys.executable]),
    ):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
        script.chmod(0o755)
    return folder


def expression(shown: str) -> str:
    """What is shown, as an expression: `...` stands for anything in a line, a line of it for any
    lines.
    """
    lines = []
    for line in shown.splitlines(keepends=True):
        part = re.sub(r"(?:\\ )+", r"\\s+", re.escape(line)).replace(re.escape("..."), ".*")
        lines.append("(?:.*\n)*" if line.strip() == "..." else part)
    return "".join(lines)


@pytest.mark.e2e
@pytest.mark.parametrize(("kind", "text"), BLOCKS, ids=[text.split("\n")[0] for _, text in BLOCKS])
def test_the_examples_are_true(kind: str, text: str, folder: Path, ports: dict[str, str]) -> None:
    """What the README shows is what comes."""
    text = PORT.sub(lambda named: ports[named[0]], text)
    if kind == "python":
        name = text.split("\n")[0].removeprefix("# ")
        (folder / name).write_text(text, "utf-8")
        return
    with ExitStack() as stack:
        for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, shown = step.partition("\n")
            process = typed(command.removesuffix(" &"), folder)
            if command.endswith(" &"):
                stack.callback(end, process)
                assert process.stdout is not None
                killer = Timer(LIMIT, process.kill)
                stack.callback(killer.cancel)
                killer.start()
                came = "".join(process.stdout.readline() for _ in shown.splitlines())
            else:
                came, _ = process.communicate(timeout=LIMIT)

            lines = sorted(came.splitlines()) if "..." not in shown else None
            assert lines == sorted(shown.splitlines()) or re.fullmatch(expression(shown), came), (
                came
            )


def typed(command: str, folder: Path) -> subprocess.Popen[str]:
    """A line as the reader's shell runs it."""
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    # The plugin of this tree, whatever is installed.
    environment["PYTEST_ADDOPTS"] = "-p no:mcpmock -p mcpmock.pytest_plugin"
    line = command if "|" in command else f"exec {command}"
    return subprocess.Popen(
        line, shell=True, cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> None:
    """What the reader's `kill %1` does."""
    process.terminate()
    process.communicate(timeout=10)
