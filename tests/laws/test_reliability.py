"""The scorecard of the manual is true: each row names tests and tools that there are, or says why
it has none.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "mcpmock" / "help" / "reliability.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()
        if line.startswith("| R")]  # fmt: skip
NAMED = re.compile(r"`((?:tests|tools)/[\w/.]+)(?:::(\w+))?`")


def test_every_row_is_there_once() -> None:
    """R1 to R42, in order; there is no R3."""
    assert [f"R{n}" for n in range(1, 43) if n != 3] == [row[0] for row in ROWS]


def test_every_row_is_shown() -> None:
    """By a test or a tool, with a figure; or it says that it is not."""
    assert [] == [
        name
        for name, _, shown, figure in ROWS
        if not (NAMED.search(shown) and figure) and not shown.startswith("not yet: ")
    ]


def test_what_is_named_exists() -> None:
    """The files, and the tests in them."""
    tests = {
        path: {node.name for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
               if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        for path, name in NAMED.findall(PAGE) if name and (ROOT / path).exists()
    }  # fmt: skip
    missing = [
        f"{path}::{name}"
        for path, name in NAMED.findall(PAGE)
        if not (ROOT / path).exists() or (name and name not in tests[path])
    ]

    assert [] == missing
