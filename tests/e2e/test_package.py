"""What is published: the wheel and the sdist have what they need and no more, are the same bytes
whoever builds them, and the wheel works where there is nothing of this tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.weather import write_weather

from .conftest import Pythons
from .suite_runs import build

pytestmark = [pytest.mark.e2e, pytest.mark.parts]
ROOT = Path(__file__).parents[2]
TEST = """
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client

WAYS = {
    "in memory": lambda server: server.transport(),
    "by URL": lambda server: server.url,
    "over stdio": lambda server: stdio_client(server.stdio),
}

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.mcpmock("weather.jsonl")
async def test_it(mcpmock_server, way):
    async with Client(WAYS[way](mcpmock_server), mode="legacy") as client:
        result = await client.call_tool("get_weather", {"city": "Oslo"})
    assert result.content[0].text == "rain"
"""


def test_the_wheel_is_the_package(distributions: tuple[Path, Path]) -> None:
    """Every file of mcpmock/, the license, and what a wheel says of itself."""
    wheel, _ = distributions
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = archive.read(metadata).decode().partition("\n\n")[0].splitlines()
    info = metadata.removesuffix("/METADATA")
    about = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    package = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "mcpmock").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]

    assert {*package, *(f"{info}/{name}" for name in about)} == names
    assert "mcpmock/py.typed" in names
    assert {"License-Expression: MIT", "License-File: LICENSE"} <= set(said)


def test_the_sdist_is_the_tree(distributions: tuple[Path, Path]) -> None:
    """What it takes to build and test, and nothing that lies about."""
    _, sdist = distributions
    with tarfile.open(sdist) as archive:
        files = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    ours = {"mcpmock", "tests", "tools", "cassettes", "README.md", "LICENSE", "pyproject.toml"}
    hooks = {".pre-commit-hooks.yaml", ".github"}
    hidden = [path for path in files if any(part[0] in "._" for part in path.parts[1:-1])]

    assert {path.parts[0] for path in files} == ours | hooks | {"PKG-INFO", ".gitignore"}
    assert [] == hidden


def test_a_second_build_is_the_same(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """From a copy of the tree elsewhere, written at another time by a user with another umask."""
    copy = tmp_path / "copy"
    shutil.copytree(
        ROOT, copy, copy_function=shutil.copyfile,
        ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", ".hypothesis"),
    )  # fmt: skip
    for path in copy.rglob("*"):
        if path.is_file():
            executable = (ROOT / path.relative_to(copy)).stat().st_mode & 0o100
            path.chmod(0o700 if executable else 0o600)
    build(tmp_path / "built", copy)

    for first in distributions:
        assert first.read_bytes() == (tmp_path / "built" / first.name).read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("demo",), ("help",), ("help", "faults"), ("help", "changelog")],
    ids=" ".join,
)
def test_the_wheel_runs_alone(pythons: Pythons, arguments: tuple[str, ...], tmp_path: Path) -> None:
    """With nothing beside it but what it requires, in an empty folder."""
    done = ran(tmp_path, str(pythons("bare").parent / "mcpmock"), *arguments)

    assert (0, b"") == (done.returncode, done.stderr)
    assert done.stdout


def test_the_wheel_brings_the_pytest_plugin(pythons: Pythons, tmp_path: Path) -> None:
    """pytest finds it by itself; clients reach the fake server in each way."""
    write_weather(tmp_path / "weather.jsonl")
    (tmp_path / "test_a.py").write_text(TEST, "utf-8")
    done = ran(tmp_path, str(pythons("py2")), "-m", "pytest", "-q")

    assert b"3 passed" in done.stdout, done.stdout


def ran(folder: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
    return subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, timeout=60, check=False
    )
