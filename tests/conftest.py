"""What holds for every test."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
from collections.abc import Callable, Iterator
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
MakeOnce = Callable[[str, Callable[[Path], object]], Path]
_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def pytest_collection_finish() -> None:
    """Spare the garbage collector everything that stays until the end. A pytest that a test runs in
    this process collects five times when it ends; among 10,000 tests that took 0.7 s.
    """
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def only_named_plugins() -> None:
    """The runs of pytest inside tests have the plugins that they name: loading all that is there
    takes twice as long as the rest of a start.
    """
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


@pytest.fixture(autouse=True, scope="module")
def what_stays() -> Iterator[None]:
    """The same for what a module leaves: reports, and what it keeps for its other tests. The syntax
    trees of the whole package, for one, made those five collections take 1.8 s.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Our modes take signals for good; the rest of the run, and every child, needs them again."""
    before = [signal.getsignal(signum) for signum in _TAKEN]
    yield
    for signum, handler in zip(_TAKEN, before, strict=True):
        signal.signal(signum, handler)


@pytest.fixture(autouse=True)
def scripts_end() -> Iterator[None]:
    """Each script of a test is over when the test is: nothing came that no step expected, and
    nothing more is due.
    """
    Script.running.clear()
    yield
    for script in Script.running:
        script.nothing_more()


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> MakeOnce:
    """Gives a folder by its name, which the first worker that asks for it makes."""
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent  # what is above is the worker's own

    def make(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = run / name, run / f"{name}.done"
        with (run / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                fill(folder)
                done.touch()
        return folder

    return make
