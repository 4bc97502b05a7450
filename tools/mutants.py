"""Changes one condition of a room at a time and runs the room's tests: what they do not notice is a
row that a table of tests lacks, or a line that goes.

    python tools/mutants.py playback                  # 20 mutants, seed 0: some minutes
    python tools/mutants.py faults 100 7 --tests tests/faults tests/fault_matrix
    python tools/mutants.py playback 100 --only 12    # the twelfth again, with its difference

A mutant makes a condition true or false, or drops an operand of `and` and `or`, a branch of an `if`
or a statement. It lives in a copy of the tree; the checkout is not touched. Exit status 1 if any
survived.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import attrs

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 300.0
"""A mutant that makes the tests run so long is noticed."""


@attrs.frozen
class Mutant:
    """A file with one change."""

    path: Path
    line: int
    what: str
    text: str

    def difference(self) -> str:
        """Return the change as a diff."""
        old = (ROOT / self.path).read_text("utf-8").splitlines()
        lines = unified_diff(old, self.text.splitlines(), n=1, lineterm="")
        return "\n".join(list(lines)[2:])


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    source = path.read_text("utf-8")
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    data = source.encode()

    def changed(node: ast.expr | ast.stmt, new: str, what: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = (data[:start] + new.encode() + data[end:]).decode()
        return Mutant(path.relative_to(ROOT), node.lineno, what, text)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If | ast.IfExp | ast.While) and not _is_typing(node.test):
            if not isinstance(node, ast.While):
                yield changed(node.test, "True", "the condition is true")
            yield changed(node.test, "False", "the condition is false")
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield changed(test, "True", "the condition is true")
        elif isinstance(node, ast.BoolOp):
            for left_out in range(len(node.values)):
                kept = [one for n, one in enumerate(node.values) if n != left_out]
                word = " and " if isinstance(node.op, ast.And) else " or "
                new = word.join(f"({ast.unparse(one)})" for one in kept)
                yield changed(node, f"({new})", f"operand {left_out + 1} is dropped")
        elif (
            isinstance(node, ast.Expr | ast.Assign | ast.AugAssign)
            and not isinstance(node.value, ast.Constant)
            and node.col_offset > 4  # inside a function
        ):
            yield changed(node, "pass", "the statement is dropped")


def _is_typing(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def run(mutant: Mutant | None, tests: list[str], tree: Path) -> bool:
    """Return whether the tests pass in the copy, with a mutant."""
    if mutant is not None:
        (tree / mutant.path).write_text(mutant.text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        if mutant is not None:
            shutil.copy(ROOT / mutant.path, tree / mutant.path)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("room")
    parser.add_argument("mutants", nargs="?", type=int, default=20)
    parser.add_argument("seed", nargs="?", type=int, default=0)
    parser.add_argument("--tests", nargs="+", help="instead of tests/ROOM")
    parser.add_argument("--only", type=int, help="the number of one mutant")
    given = parser.parse_args()
    tests = given.tests or [f"tests/{given.room}"]
    found = [
        one
        for path in sorted((ROOT / "mcpmock" / given.room).rglob("*.py"))
        for one in mutants_of(path)
    ]
    chosen = Random(given.seed).sample(found, min(given.mutants, len(found)))
    print(f"{given.room}: {len(chosen)} of {len(found)} mutants, seed {given.seed}")
    survived = 0
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv", ".*cache", "__pycache__")
        shutil.copytree(ROOT, tree, ignore=ignored)
        if not run(None, tests, tree):
            sys.exit(f"{' '.join(tests)} fail without a mutant")
        for number, mutant in enumerate(chosen, 1):
            if given.only in (None, number) and run(mutant, tests, tree):
                survived += 1
                place = f"{mutant.path}:{mutant.line}"
                print(f"{number}. {place}: {mutant.what}\n{mutant.difference()}", flush=True)
    print(f"{given.room}: {survived} of {len(chosen)} mutants survived")
    sys.exit(bool(survived))


if __name__ == "__main__":
    main()
