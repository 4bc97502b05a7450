"""The package is typed for its users: a suite like theirs passes, and `mypy --strict` has nothing
to say about it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.slow_call import CASSETTE
from tests.support.weather import write_weather
from tests.test_pytest_plugin import PLUGIN

SUITE = Path(__file__).parent / "sample_suite.py"


@pytest.mark.e2e
def test_it_passes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under asyncio and trio, plain and in memory, with faults and races."""
    pytest.importorskip("mcp.client")
    monkeypatch.setenv("PYTHONPATH", str(SUITE.parents[1]))
    write_weather(pytester.path / "weather.jsonl")
    (pytester.path / "slow.jsonl").write_bytes(CASSETTE)
    (pytester.path / "slow.toml").write_text('[[fault]]\nkind = "latency"\nlatency = "1ms"\n')
    (pytester.path / "test_sample.py").write_bytes(SUITE.read_bytes())
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "anyio", "--tb=short")

    result.assert_outcomes(passed=14)
