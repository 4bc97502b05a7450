"""Every end-to-end test leaves no process behind; what is built once for all workers of a run."""

from __future__ import annotations

import fcntl
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.processes import GONE, TAG, gone, started_with

from .parts import not_installed
from .suite_runs import build, environment

Pythons = Callable[[str], Path]
_MakeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The tag that every process of a test carries; none of them may outlive it."""
    tag = uuid.uuid4().hex
    monkeypatch.setenv(TAG, tag)
    yield tag
    left = started_with(tag)
    if not gone(left, GONE):
        left = started_with(tag)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"left behind: {left}")


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> _MakeOnce:
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


@pytest.fixture(scope="session")
def distributions(make_once: _MakeOnce) -> tuple[Path, Path]:
    """The wheel and the sdist of this tree."""
    if reason := not_installed("py2", "hatchling") or not_installed("pip", "pip"):
        pytest.skip(reason)
    folder = make_once("distributions", build)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="session")
def pythons(distributions: tuple[Path, Path], make_once: _MakeOnce) -> Pythons:
    """The Python of an environment with the wheel, on top of a part."""

    def python(part: str) -> Path:
        if reason := not_installed(part, part):
            pytest.skip(reason)
        wheel, _ = distributions
        return (
            make_once(f"venv-{part}", lambda folder: environment(wheel, part, folder))
            / "bin/python"
        )

    return python
