"""What is done once for a run: by a run of pytest inside, and by plain calls for the workers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mcpmock.testing.plugin_session import EXPECTED, FOLDER, PluginSession
from mcpmock.testing.unused import CassetteUse

PLUGIN = ("-p", "mcpmock.pytest_plugin")


def report(test: str, *left: str) -> pytest.TestReport:
    """That of a test that passed, and did not ask these."""
    told = CassetteUse(
        cassette="/a", shown="a", unused="fail", left=[("1", dict.fromkeys(left, "m"))], idle=""
    )
    return pytest.TestReport(test, ("a.py", 1, test), {}, "passed", None, "call", mcpmock=told)


def test_what_workers_tell(pytester: pytest.Pytester) -> None:
    """Reports come first, and at the end of each worker which tests there were."""
    controller = PluginSession(pytester.parseconfig(*PLUGIN))
    controller.pytest_runtest_logreport(report("one", "1", "2"))
    controller.pytest_runtest_logreport(report("two", "2"))
    controller.pytest_testnodedown(SimpleNamespace())
    for expected in (["one", "two"], ["one", "two"]):
        node = SimpleNamespace(workeroutput={EXPECTED: {"/a": expected}})
        controller.pytest_testnodedown(node)
    assert ["two"] == [verdict.test for verdict in controller.unused.verdicts()]

    node = SimpleNamespace(workeroutput={EXPECTED: {"/a": ["crashed"]}})
    controller.pytest_testnodedown(node)
    assert [] == [*controller.unused.verdicts()]


def test_a_folder_for_workers(pytester: pytest.Pytester) -> None:
    """All have the same, and it is gone at the end."""
    controller = PluginSession(pytester.parseconfig(*PLUGIN))
    nodes = [SimpleNamespace(workerinput={}) for _ in range(2)]
    for node in nodes:
        controller.pytest_configure_node(node)
    [folder] = {node.workerinput[FOLDER] for node in nodes}
    assert Path(folder).is_dir()
    controller.pytest_unconfigure()

    assert not Path(folder).exists()
