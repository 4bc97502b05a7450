"""What the tool for licences takes for permitted, and how it reads the metadata of packages."""

from __future__ import annotations

import runpy
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "licences.py"))
closure, licence, permitted = TOOL["closure"], TOOL["licence"], TOOL["permitted"]


class Made(Distribution):
    """A distribution with this metadata."""

    def __init__(self, *lines: str) -> None:
        self._text = "\n".join(("Metadata-Version: 2.4", "Name: made", *lines, "", "words"))

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        return Path(str(path))


@pytest.mark.parametrize(
    ("lines", "said", "good"),
    [
        (["License-Expression: MIT"], "MIT", True),
        (["License-Expression: GPL-3.0-only OR MIT"], "GPL-3.0-only OR MIT", True),
        (["License-Expression: GPL-3.0-only AND MIT"], "GPL-3.0-only AND MIT", False),
        (["License-Expression: MPL-2.0"], "MPL-2.0", False),
        (["License-Expression: MIT", "License: GPL"], "MIT", True),
        (["Classifier: License :: OSI Approved :: MIT License"], "MIT", True),
        (["Classifier: License :: OSI Approved"], "OSI Approved", False),
        (
            [
                "Classifier: License :: OSI Approved :: MIT License",
                "Classifier: License :: OSI Approved :: GNU General Public License (GPL)",
            ],
            "MIT AND GNU General Public License (GPL)",
            False,
        ),
        (["License: BSD"], "BSD-3-Clause", True),
        (["License: AGPL"], "AGPL", False),
        (["License: "], "unknown", False),
        ([], "unknown", False),
    ],
)
def test_a_licence(lines: list[str], said: str, good: bool) -> None:
    """What is not known to ask for a notice at most is refused."""
    found = licence(Made(*lines).metadata)

    assert (said, good) == (found, permitted(found))


def test_all_that_is_required() -> None:
    """Directly and through others, and every licence of it is permitted."""
    names = closure(frozenset())

    assert {"trio", "outcome", "rich", "mdurl"} <= set(names)
    assert [] == [n for n in names if not permitted(licence(distribution(n).metadata))]
