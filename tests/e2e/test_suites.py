"""Suites of users, with mcpmock installed from a wheel: every event loop, the SDKs of both versions
and FastMCP, in memory, over stdio and over a URL; beside every plugin that they may have.

Nothing of it may warn, and nothing may be left running. What only repeats itself is run with
MCPMOCK_E2E_ALL=1.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.every import EVERY

from .conftest import Pythons
from .suite_runs import ALL, Run, prepare, run_suite, source

pytestmark = [pytest.mark.parts, pytest.mark.e2e]
Suite = Callable[..., Run]

STRICT = ("-o", "asyncio_mode=strict", "-o", "asyncio_default_fixture_loop_scope=function")
AUTO = ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
ALONE = [
    ("sdk", "asyncio", STRICT, 4),
    ("auto", "asyncio", AUTO, 1),
    ("fastmcp", "asyncio", STRICT, 3),
    ("plain", "randomly", (), 6),
    ("plain", "xdist", ("-n2",), 6),
    ("beside_vcr", "recording", (), 3),
]
"""Suites that run with all plugins at once too."""


@pytest.fixture
def suite(pythons: Pythons, tmp_path: Path) -> Suite:
    """Runs suites of suites/, by their names."""

    def run(names: str, plugins: str, *options: str, part: str = "py2", **variables: str) -> Run:
        python = pythons(part)
        prepare(tmp_path, {name: source(name) for name in names.split()})
        variables = {"LOOP": "asyncio", **variables}
        return run_suite(python, tmp_path, tuple(plugins.split()), *options, **variables)

    return run


@pytest.mark.parametrize(
    ("names", "plugins", "options", "passed"),
    [
        ("auto", "trio", ("-o", "trio_mode=true"), 1),
        ("unused", "", (), 1),
        *(ALONE if EVERY else []),
    ],
)
def test_alone(
    suite: Suite, names: str, plugins: str, options: tuple[str, ...], passed: int
) -> None:
    """With one plugin, or none."""
    run = suite(names, plugins, *options)

    assert ({"passed": passed}, {}) == (run.outcomes, run.left), run.output


def test_on_anyio(suite: Suite) -> None:
    """Its plugin runs every test on asyncio and on trio."""
    run = suite("sdk", "anyio", LOOP="anyio")

    assert ({"passed": 8}, {}) == (run.outcomes, run.left), run.output


def test_all_at_once(suite: Suite) -> None:
    """Every plugin, two workers, a random order, both SDKs of today."""
    run = suite("sdk auto fastmcp plain beside_vcr", ALL, "-n2", *AUTO)

    assert ({"passed": 17}, {}) == (run.outcomes, run.left), run.output


@pytest.mark.parametrize(
    ("loop", "options", "passed"),
    [("anyio", (), 6), *([("asyncio", STRICT, 3), ("trio", (), 3)] if EVERY else [])],
)
def test_the_sdk_of_version_1(
    suite: Suite, loop: str, options: tuple[str, ...], passed: int
) -> None:
    """On every event loop."""
    run = suite("sdk_1", loop, *options, part="py1", LOOP=loop)

    assert ({"passed": passed}, {}) == (run.outcomes, run.left), run.output


@pytest.mark.parametrize(
    ("part", "loop", "clients", "mode"),
    [
        (*suite, mode)
        for suite, usual in [
            (("py2", "asyncio", "session sdk fastmcp"), "once"),
            (("py1", "anyio", "session"), "new_episodes"),
        ]
        for mode in ("once", "new_episodes", "all", "rewrite")
        if EVERY or mode == usual
    ],
)
def test_a_transport_records(
    suite: Suite, pythons: Pythons, tmp_path: Path, part: str, loop: str, clients: str, mode: str
) -> None:
    """One kind of object, whether a real server answers (a process, or at a URL) or the recording,
    for each client; what was recorded then replays.
    """
    passed = 2 * len(clients.split()) * (2 if loop == "anyio" else 1)
    options, more = STRICT if loop == "asyncio" else (), {"LOOP": loop, "CLIENTS": clients}
    run = suite("recorded", loop, f"--mcp-record={mode}", *options, part=part, **more)
    assert ({"passed": passed}, {}) == (run.outcomes, run.left), run.output

    again = run_suite(pythons(part), tmp_path, (loop,), *options, **more)
    assert ({"passed": passed}, {}) == (again.outcomes, again.left), again.output


@pytest.mark.skipif(not EVERY, reason="takes long: MCPMOCK_E2E_ALL=1")
@pytest.mark.parametrize("way", ["memory", "url"])
def test_a_hundred_tests(suite: Suite, way: str) -> None:
    """A hundred tests in one process do not disturb each other."""
    run = suite("hundred", "asyncio", *STRICT, WAY=way)

    assert ({"passed": 100}, {}) == (run.outcomes, run.left), run.output


@pytest.mark.parametrize("way", ["memory", *(["url", "stdio"] if EVERY else [])])
def test_a_miss_explains_itself(suite: Suite, pythons: Pythons, tmp_path: Path, way: str) -> None:
    """What was asked, what came nearest, the last messages, standard error, what went wrong on
    purpose with its seed, and a command that shows the same miss outside of the test.
    """
    run = suite("miss", "asyncio", *STRICT, WAY=way)

    assert ({"failed": 1}, {}) == (run.outcomes, run.left), run.output
    told = run.output.partition("- mcpmock -")[2]
    miss = [
        "nothing recorded in cassettes/time.jsonl answers tools/call get_current_time {",
        '  event 3: different; $.arguments.timezone: recorded "Asia/Tokyo", asked "Asia/Kyoto"',
    ]
    rest = [
        "last messages:\n",
        '  -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_current_time",',
        "standard error of the server:\n",
        "Tool 'get_current_time' failed:",
        "faults (seed 7):\n",
        "fault latency: fired 2 of 2 times that it matched\n",
        "to reproduce:\n",
    ]
    assert in_this_order(told, *miss, *rest), run.output

    command = told.partition("to reproduce:\n")[2].partition("\n")[0]
    path = f"{pythons('py2').parent}:{os.environ['PATH']}"
    shown = subprocess.run(
        command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (1, True) == (shown.returncode, "--seed 7" in command)
    assert in_this_order(shown.stderr, *miss), shown


def in_this_order(text: str, *parts: str) -> bool:
    """Whether the text has these parts, one after the other."""
    for part in parts:
        _, found, text = text.partition(part)
        if not found:
            return False
    return True
