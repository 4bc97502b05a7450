"""A cassette on the disk, which every way of playing it starts from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.weather import write_weather


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """`write_weather`, in a folder of its own."""
    return write_weather(tmp_path / "weather.jsonl")
