"""`mcpmock.faults`: the classes of a plan by their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mcpmock
from mcpmock import faults
from mcpmock.faults.registry import KINDS


def test_every_kind_is_there() -> None:
    """The class itself, by its name."""
    for kind in KINDS.values():
        assert kind is getattr(faults, kind.__name__)
        assert kind.__name__ in vars(faults)["__all__"]

    assert faults is mcpmock.faults


def test_it_comes_when_it_is_asked_for() -> None:
    """`import mcpmock` brings none of it, and one may import from it."""
    code = (
        "import sys, mcpmock; print('mcpmock.faults' in sys.modules); from mcpmock.faults import *"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert b"False" == done.stdout.strip()


def test_knobs_as_in_a_plan() -> None:
    """Durations, sizes, rates and matches, written as there."""
    assert 0.25 == faults.Latency(latency="250ms").latency
    assert 1 << 16 == faults.Huge(size="64KiB").size
    assert 1024 == faults.Bandwidth(rate="1KiB/s").rate
    assert faults.LimitData(bytes=None, inside="frame").bytes is None
    slow = faults.Drop(match={"tool": "get_*", "between": ("1s", 2)})
    assert faults.Drop(match=faults.Match(tool="get_*", between=(1.0, 2.0))) == slow


def test_what_is_wrong() -> None:
    """All of it, by the knobs' names."""
    with pytest.raises(faults.PlanError) as raised:
        faults.Latency(latency="3 parsecs", distribution="bell", match={"nth": 0})  # type: ignore[arg-type]
    assert 3 == len(raised.value.mistakes)
    assert (
        'expected a duration as "250ms" or "2s", or a number of seconds, not \'3 parsecs\''
        in str(raised.value)
    )
    assert "expected one of fixed, uniform, normal, lognormal, empirical" in str(raised.value)
    with pytest.raises(TypeError, match="tol"):
        faults.Drop(match={"tol": "x"})


def test_files_and_shorthands(tmp_path: Path) -> None:
    """What the command line takes."""
    (tmp_path / "p.toml").write_text('seed = 3\n[[fault]]\nkind = "drop"\n')

    assert faults.Plan(faults=(faults.Drop(),), seed=3) == faults.load(tmp_path / "p.toml")
    assert 4 == faults.load(tmp_path / "p.toml", seed=4).seed
    assert faults.Drop(must_fire=True) == faults.parse("drop:must_fire=true")
