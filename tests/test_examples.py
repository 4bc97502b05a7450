"""The examples in docstrings are run, and every public name has one: what `>>>` shows by doctest, a
test by pytest with the plugin. Both in a folder with two recordings of a weather server, `weather`
and `snow`, one of a slow tool, a plan `slow.toml`, and the command `mcpmock`.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio
import trio.testing

import mcpmock
from mcpmock import pytest_plugin
from mcpmock.api.server import ReplayServer, replay_options
from mcpmock.faults import Match
from mcpmock.faults.control import run_of
from mcpmock.faults.races.grid import Cell
from mcpmock.printable import shell_command
from mcpmock.testing.races import Race, Raced
from tests.support import INITIALIZE
from tests.support.slow_call import CASSETTE
from tests.support.weather import write_weather
from tests.test_pytest_plugin import PLUGIN

pytestmark = pytest.mark.e2e
CLASSES: tuple[type, ...] = (mcpmock.ReplayServer, mcpmock.faults.FaultControl, Race)
"""Whose members are public names of their own."""
PLAN = '[[fault]]\nkind = "latency"\nlatency = "250ms"\n'
ALONE = re.compile(r"^(?:from \w+ import |@pytest\.)", re.M)
TEST = re.compile(r"^(?:@pytest|async def test_|def test_)", re.M)


def members(cls: type) -> Iterator[tuple[str, str]]:
    """The public methods and properties of a class, with their words."""
    for name, found in inspect.getmembers(cls):
        if not name.startswith("_") and (inspect.isfunction(found) or isinstance(found, property)):
            yield f"{cls.__name__}.{name}", inspect.getdoc(found) or ""


def fixtures() -> Iterator[tuple[str, str]]:
    for node in ast.parse(inspect.getsource(pytest_plugin)).body:
        if isinstance(node, ast.FunctionDef) and _is_fixture(node):
            yield node.name, ast.get_docstring(node) or ""


def _is_fixture(node: ast.FunctionDef) -> bool:
    decorators = [ast.unparse(one) for one in node.decorator_list]
    return not node.name.startswith("_") and "pytest.fixture" in decorators


def words() -> dict[str, str]:
    """All public names, with their words."""
    found: dict[str, str] = {"mcpmock": mcpmock.__doc__ or "", **dict(fixtures())}
    for module in (mcpmock, mcpmock.faults):
        for name in set(module.__all__) - {"__version__"}:
            found[name] = inspect.getdoc(getattr(module, name)) or ""
    for cls in CLASSES:
        found[cls.__name__] = inspect.getdoc(cls) or ""
        found.update(members(cls))
    return found


WORDS = words()
SHOWN = sorted(name for name, text in WORDS.items() if ">>>" in text)


def shown_tests(text: str) -> str:
    """The tests among the words, as a module. Below a single line of words they are not indented,
    once the indentation of the whole is taken off.
    """
    if alone := ALONE.search(text):
        return text[alone.start() :]
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text + "\n", re.M)
    return "\n\n".join(found for block in blocks if TEST.search(found := textwrap.dedent(block)))


TESTED = sorted(name for name, text in WORDS.items() if shown_tests(text))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples are run."""
    weather = write_weather(tmp_path / "weather.jsonl")
    (tmp_path / "snow.jsonl").write_bytes(weather.read_bytes().replace(b"rain", b"snow"))
    (tmp_path / "slow.jsonl").write_bytes(CASSETTE)
    (tmp_path / "slow.toml").write_text(PLAN)
    script = tmp_path / "mcpmock"
    script.write_text(f'#!/bin/sh\nexec {shell_command([sys.executable])} -m mcpmock "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_name_has_an_example() -> None:
    """One that is run."""
    assert [] == sorted(set(WORDS) - set(SHOWN) - set(TESTED))


# Most examples show the faults of a server, and no client.
@pytest.mark.filterwarnings("ignore:mcpmock. fault .* never fired")
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(name: str, folder: Path) -> None:
    """It comes."""
    if "from mcp import" in WORDS[name]:
        pytest.importorskip("mcp.client")
    known: dict[str, Any] = {"mcpmock": mcpmock, "trio": trio, "subprocess": subprocess}
    known["HELLO"] = INITIALIZE + b"\n"
    if name.startswith("Race."):
        server = ReplayServer(mcpmock.load("slow.jsonl"), replay_options(), run_of(None))
        known["race"] = Race(Raced(Cell(1, 2, 3), "silent"), Match(tool="slow"), server)
    example = doctest.DocTestParser().get_doctest(WORDS[name], known, name, None, 0)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)

    assert not told, "".join(told)


def test_the_tests(folder: Path, pytester: pytest.Pytester, request: pytest.FixtureRequest) -> None:
    """They pass, each in a module of its own."""
    pytest.importorskip("mcp.client")
    for file in folder.glob("*.*"):
        if file.suffix in {".jsonl", ".toml"}:
            (pytester.path / file.name).write_bytes(file.read_bytes())
    for name in TESTED:
        module = pytester.path / f"test_{name.replace('.', '_')}.py"
        module.write_text(f"import mcpmock, pytest, subprocess\n\n{shown_tests(WORDS[name])}")
    (pytester.path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n"
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "anyio", "--tb=short")

    outcomes = result.parseoutcomes()
    assert {"passed"} == set(outcomes)
    assert outcomes["passed"] >= len(TESTED)


def test_modules() -> None:
    """`faults` is one, and its words are those of a module."""
    assert isinstance(mcpmock.faults, ModuleType)
