"""Test suites as users write them, run as users run them: pytest in a virtual environment of its
own, where mcpmock was installed from a wheel.

    python = pythons("py2")  # a fixture of conftest.py
    run = run_suite(python, folder, {"test_a.py": text}, "-p", "asyncio")
    assert ({"passed": 4}, "") == (run.outcomes, run.left)

The environment is a thin one on top of a part (`parts`), so it costs milliseconds. Plugins are
loaded by name only, `ALL` of them or some: what is installed beside it must not matter. Whatever
warns is an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import attrs

from tests.support.weather import write_weather

from .parts import PARTS

ROOT = Path(__file__).parents[2]
SUITES = Path(__file__).parent / "suites"
ALL = "asyncio trio anyio xdist randomly recording"
"""The names of the plugins in part `py2`."""
SDK_LEAVES = "ignore:Async generator:ResourceWarning"
"""The SDK leaves its event streams to the garbage collector, and trio says so."""
_LIMIT = 100
_OTHER = """version: 1
interactions:
- request: {body: null, headers: {}, method: GET, uri: 'http://city.example/home'}
  response:
    body: {string: '{"city": "Oslo"}'}
    headers: {Content-Type: [application/json]}
    status: {code: 200, message: OK}
"""


def build(folder: Path, tree: Path = ROOT) -> None:
    """The wheel and the sdist of this tree, or of a copy of it."""
    python = str(PARTS / "py2" / "bin" / "python")
    command = [python, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=_LIMIT)


def environment(wheel: Path, part: str, folder: Path) -> None:
    """A new environment that has what the part has, and the wheel, whose requirements that is."""
    below = str(PARTS / part / "bin" / "python")
    subprocess.run([below, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=_LIMIT)
    python = folder / "bin" / "python"
    places = [_packages(below), _packages(str(python))]
    (Path(places[1]) / "part.pth").write_text(f"{places[0]}\n", "utf-8")
    pip = [str(PARTS / "pip" / "bin" / "pip"), "--python", str(python), "install", "-q"]
    options = ["--no-index", "--no-compile"]
    subprocess.run([*pip, *options, str(wheel)], check=True, timeout=_LIMIT)


def _packages(python: str) -> str:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    ran = subprocess.run([python, "-c", code], check=True, capture_output=True, timeout=_LIMIT)
    return ran.stdout.decode().strip()


@attrs.frozen
class Run:
    """What came of a run of pytest."""

    output: str
    left: dict[str, list[str]]
    """What it left running, by kind: nothing, where all is well."""

    @property
    def outcomes(self) -> dict[str, int]:
        """How many tests passed, failed, and so on; from pytest's last line."""
        last = self.output.rstrip().rpartition("\n")[2]
        return {what: int(n) for n, what in re.findall(r"(\d+) ([a-z]+)", last)}


def source(name: str) -> str:
    """A suite of suites/."""
    return (SUITES / f"{name}.py").read_text("utf-8")


def prepare(folder: Path, suites: Mapping[str, str]) -> None:
    """A user's folder: test modules by their names, and what they play. Empties it."""
    shutil.rmtree(folder)
    folder.mkdir()
    write_weather(folder / "cassettes" / "weather.jsonl")
    shutil.copy(ROOT / "cassettes" / "time.jsonl", folder / "cassettes")
    other = folder / "cassettes" / "test_beside_vcr" / "other.yaml"
    other.parent.mkdir()
    other.write_text(_OTHER, "utf-8")
    (folder / "what_is_left.py").write_text(source("what_is_left"), "utf-8")
    for name, text in suites.items():
        (folder / f"test_{name}.py").write_text(text, "utf-8")


def run_suite(
    python: Path, folder: Path, plugins: tuple[str, ...], *options: str, **environment: str
) -> Run:
    """Run pytest in a folder with these plugins of others, and ours."""
    names = [word for name in ("mcpmock", "what_is_left", *plugins) for word in ("-p", name)]
    strict = ("-W", "error", "-W", SDK_LEAVES, "--strict-markers", "--strict-config")
    left = folder / "left"
    left.mkdir(exist_ok=True)
    variables = {
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "",
        "LEFT": str(left),
        **environment,
    }
    command = [str(python), "-m", "pytest", *names, *strict, *options]
    ran = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=_LIMIT, check=False,
    )  # fmt: skip
    told = [json.loads(file.read_text("utf-8")) for file in left.glob("left-*.json")]
    assert told, ran.stdout
    kinds = {kind: found for one in told for kind, found in one.items() if found}
    return Run(ran.stdout, kinds)
