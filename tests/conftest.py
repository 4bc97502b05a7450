"""What holds for every test."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import Script

# The same examples in every run, so that CI is deterministic; no deadline, because a busy machine
# is no failure; no data base of examples in the tree.
settings.register_profile("ci", derandomize=True, max_examples=100, deadline=None, database=None)
# `pytest --hypothesis-profile=nightly`: other examples in every run, and a hundred times as many.
settings.register_profile("nightly", max_examples=10_000, deadline=None, database=None)
settings.load_profile("ci")
# A shell starts a job in the background with SIGINT ignored, and every child inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
_FOLDERS = count(1)
_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WITH_PROCESSES = ("e2e", "parts", "windows")
_ONLY_WITH_PROCESSES = re.compile("({0})( or ({0}))*".format("|".join(_WITH_PROCESSES)))
_NAMES_MARK = re.compile(r"\b({})\b".format("|".join(_WITH_PROCESSES)))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what `-m "e2e or parts"` deselects as a whole: collecting that takes 5 s."""
    if not _ONLY_WITH_PROCESSES.fullmatch(config.option.markexpr):
        return None
    if not collection_path.match("test_*.py"):
        return None
    return True if not _NAMES_MARK.search(collection_path.read_text("utf-8")) else None


def pytest_deselected(items: list[pytest.Item]) -> None:
    """See that a module whose tests have such a mark names it, because it is not read otherwise."""
    marked = (item for item in items if any(map(item.get_closest_marker, _WITH_PROCESSES)))
    for path in {item.path for item in marked}:
        if not _NAMES_MARK.search(path.read_text("utf-8")):
            raise pytest.UsageError(f"{path} names no mark of its tests with processes")


def pytest_collection_finish() -> None:
    """Spare the garbage collector everything that stays until the end. A pytest that a test runs in
    this process collects five times when it ends; among 10,000 tests that took 0.7 s. The runs of
    pytest inside tests have the plugins that they name: loading all that is there takes twice as
    long as the rest of a start.
    """
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    gc.freeze()


# What holds for every test is in hooks: as fixtures it took a quarter of the time of small tests.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Our modes take signals for good; the rest of the run, and every child, needs them again. And
    the garbage collector is spared what a module leaves: reports, and what it keeps for its other
    tests. The syntax trees of the whole package, for one, made the five collections of a pytest
    inside a test take 1.8 s.
    """
    before = [signal.getsignal(signum) for signum in _TAKEN]
    Script.running.clear()
    result = yield
    for signum, handler in zip(_TAKEN, before, strict=True):
        signal.signal(signum, handler)
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    """Each script of a test is over when the test is: nothing came that no step expected, and
    nothing more is due.
    """
    yield
    for script in Script.running:
        script.nothing_more()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As that of pytest, which looks for a free name among all that there are: of 2,000 that took
    2 ms for each.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}.{next(_FOLDERS)}"
    folder.mkdir(mode=0o700)
    return folder
