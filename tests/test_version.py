"""One version."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mcpmock.version import VERSION


def test_the_project_says_the_same() -> None:
    """What is packaged is what the package says it is."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))

    assert VERSION == project["project"]["version"]
