"""The same plan, seed and input give the same bytes; and a plan that cannot fire gives those of
none.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import attrs
import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.content import Corrupt, Huge
from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.kinds.timing import Latency, Slicer
from mcpmock.faults.match import Match

from .hearing import Run
from .running import EVERYWHERE, base, with_faults
from .test_kinds import ROWS

ODD, EVEN, REST = Match(tool="odd"), Match(tool="even"), Match(method="tools/list")
DICE: tuple[Fault, ...] = (
    Latency(latency=0.5, jitter=0.25, distribution="normal", match=ODD),
    Corrupt(count=3, match=attrs.evolve(EVEN, probability=0.5)),
    Slicer(size=9, vary=5, match=attrs.evolve(REST, probability=0.9)),
    Drop(match=Match(method="ping", probability=0.5)),
    Huge(size=40, match=Match(tool="asking", probability=0.5)),
)


def without_words(run: Run) -> Run:
    return attrs.evolve(run, summary=[])


def digest(seed: int = 7) -> str:
    """Of all that is heard everywhere."""
    runs = [without_words(with_faults(*where, *DICE, seed=seed)).client for where in EVERYWHERE]
    return sha256(repr(runs).encode()).hexdigest()


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_twice_in_one_process(transport: str, mode: str) -> None:
    """Every byte at its time, at both sides; under another seed it is not the same."""
    once, again, other = (with_faults(transport, mode, *DICE, seed=seed) for seed in (7, 7, 8))

    assert once.client == again.client
    assert once.server == again.server
    assert once.client != other.client


@pytest.mark.e2e
def test_twice_in_two_processes() -> None:
    """The same, whatever else differs between two processes."""
    code = "from tests.fault_matrix.test_same import digest; print(digest())"
    root = Path(__file__).parents[2]
    children = [
        subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    told = [child.communicate(timeout=60)[0].decode().strip() for child in children]

    assert [digest()] * 2 == told


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_with_no_probability(transport: str, mode: str) -> None:
    """All kinds at once, and nothing is any different."""
    never = [
        attrs.evolve(row.fault, match=attrs.evolve(row.fault.match, probability=0)) for row in ROWS
    ]

    assert base(transport, mode) == without_words(with_faults(transport, mode, *never))


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_in_another_session(transport: str, mode: str) -> None:
    """Nor where all kinds are for a session that never opens."""
    elsewhere = [
        attrs.evolve(row.fault, match=attrs.evolve(row.fault.match, session=99)) for row in ROWS
    ]

    assert base(transport, mode) == without_words(with_faults(transport, mode, *elsewhere))


@pytest.mark.parametrize(("transport", "mode"), EVERYWHERE)
def test_where_nothing_matches(transport: str, mode: str) -> None:
    """Nor where no message is meant."""
    nobody = [Latency(latency=1.0, match=Match(tool="nobody")), Corrupt(match=Match(uri="*"))]

    assert base(transport, mode) == without_words(with_faults(transport, mode, *nobody))
