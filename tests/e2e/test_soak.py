"""The soak test itself, for a few seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.every import EVERY

SOAK = Path(__file__).parents[2] / "tools" / "soak.py"


@pytest.mark.e2e
@pytest.mark.skipif(not EVERY, reason="MCPMOCK_E2E_ALL is not set")
def test_a_short_soak() -> None:
    """Sessions, faults, leaves and kills on both transports: nothing is crossed, lost or left."""
    argv = [sys.executable, str(SOAK), "--for", "4s", "--clients", "1"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)

    assert done.stdout.splitlines()[-1:] == ["nothing crossed, nothing lost, all flat"], done
    assert done.returncode == 0
