"""All kinds of fault."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from mcpmock.pipeline.faults.fault import Fault
from mcpmock.pipeline.faults.kinds import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_a_name_and_says_what_it_does(kind: str) -> None:
    """It is found by its own name, and explains itself and is frozen."""
    fault = KINDS[kind]

    assert kind == fault.kind
    assert fault.__doc__
    assert issubclass(fault, Fault)
    assert fault.apply is not Fault.apply
    assert attrs.has(fault)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_a_module(kind: str) -> None:
    """One kind, one file."""
    assert Path(KINDS[kind].__module__.replace(".", "/")).name == kind
