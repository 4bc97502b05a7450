"""One version, and what is said of it."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

from mcpmock.version import VERSION

ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "mcpmock" / "help" / "changelog.md"
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
"""Of changes, as Keep a Changelog has them."""


def project() -> dict[str, Any]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert isinstance(found, dict)
    return found


def test_the_packages_say_the_same() -> None:
    """What is packaged, for Python and for Node, is what the package says it is."""
    npm = json.loads((ROOT / "tools" / "npm" / "package.json").read_text("utf-8"))

    assert [VERSION, VERSION] == [project()["version"], npm["version"]]


def test_the_changelog_has_this_version() -> None:
    """Newest first, each with its day; what has none yet is unreleased and names this version."""
    text = CHANGELOG.read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    heads = [section.partition("\n")[0] for section in sections]
    unreleased = heads[0] == "[Unreleased]"
    released = [
        re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\S+)", head) for head in heads[unreleased:]
    ]
    versions = [tuple(map(int, found.groups()[:3])) for found in released if found]
    days = [date.fromisoformat(found[4]) for found in released if found]

    assert None not in released, heads
    assert versions == sorted(versions, reverse=True)
    assert days == sorted(days, reverse=True)
    assert VERSION in (sections[0] if unreleased else heads[0])
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= KINDS


def test_the_classifiers_fit_what_is_required() -> None:
    """The lowest Python is the one that is required, and each after it is named."""
    classifiers = project()["classifiers"]
    minors = sorted(int(found) for found in re.findall(r":: 3\.(\d+)\b", "\n".join(classifiers)))

    assert f">=3.{minors[0]}" == project()["requires-python"]
    assert list(range(minors[0], minors[-1] + 1)) == minors
