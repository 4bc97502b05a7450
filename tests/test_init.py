"""`import mcpmock`: names that are imported when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mcpmock


def test_every_name_is_there() -> None:
    """And has words."""
    assert sorted(mcpmock.__all__) == dir(mcpmock)
    for name in mcpmock.__all__:
        assert getattr(mcpmock, name).__doc__


def test_no_other_name() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="nonesuch"):
        mcpmock.nonesuch  # noqa: B018


def test_it_is_light() -> None:
    """Nothing of ours or of others comes with it."""
    code = (
        "import sys, mcpmock; print([n for n in sys.modules if n in ('trio', 'attrs', 'msgspec')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert b"[]" == done.stdout.strip()
