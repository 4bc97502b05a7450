"""Changes one condition of a room at a time and runs the room's tests: what they do not notice is a
row that a table of tests lacks, or a line that goes.

    python tools/mutants.py playback                  # 20 mutants, seed 0
    python tools/mutants.py faults 100 7 --tests tests/faults/kinds
    python tools/mutants.py playback 100 --only 12    # the twelfth again: its difference, all tests

A mutant makes a condition true or false, or drops an operand of `and` and `or`, a branch of an `if`
or a statement. No file is changed. The tests are collected once, and run once to see which of them
reach which line; then each mutant is put into the functions of a forked process, which runs the
tests that reach it, the quickest first, until one fails or waits for long; then whatever it has
started ends. What runs when a module is imported is imported with the mutant by a process that runs
all tests. Nothing notices a line that no test reaches in this process. Exit status 1 if any mutant
survived.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from functools import partial
from importlib.machinery import SourceFileLoader
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryFile
from time import monotonic
from types import CodeType, FrameType, FunctionType
from typing import Any

import attrs
import pytest

ROOT = Path(__file__).parents[1]
CPU_S = 120
WALL_S = 900
MEMORY_BYTES = 8 << 30
WAIT_S = 10
SLOWER = 10
"""A mutant that exceeds one of these is noticed: a test may take WAIT_S, and SLOWER times as long
as without a mutant.
"""
TESTS_ELSEWHERE = {
    "channels": ["tests/sessions", "tests/test_runner.py", "tests/test_runner_exchanges.py"],
    "faults": [
        "tests/api/test_fault_control.py",
        "tests/cli/test_faults.py",
        "tests/fault_matrix",
        "tests/test_faults.py",
    ],
    "playback": [
        "tests/laws/test_known_answers.py",
        "tests/laws/test_overlap_order.py",
        "tests/laws/test_round_trip.py",
        "tests/sessions",
    ],
    "redaction": ["tests/playback/test_placeholders.py", "tests/playback/test_own_redaction.py"],
    "semantic_diff": ["tests/laws/test_diff.py"],
    "sessions": ["tests/api/test_virtual_time.py"],
}
"""The tests of a room that do not stand in `tests/ROOM`."""
_NOT_SWAPPED = 3

Line = tuple[str, int]
"""A file, and a number."""


@attrs.frozen
class Mutant:
    """A file with one change, which moves no line."""

    path: Path
    source: str
    first_line: int
    last_line: int
    what: str
    text: str

    def __str__(self) -> str:
        """Return the place and the change."""
        lines = unified_diff(self.source.splitlines(), self.text.splitlines(), n=1, lineterm="")
        place = f"{self.path.relative_to(ROOT)}:{self.first_line}"
        return "\n".join([f"{place}: {self.what}", *list(lines)[2:]])

    @property
    def lines(self) -> list[Line]:
        return [(str(self.path), line) for line in range(self.first_line, self.last_line + 1)]

    def compiled(self) -> CodeType:
        return compile(self.text, self.path, "exec", dont_inherit=True)

    def import_instead(self) -> None:
        """Let the mutant be imported from now on."""
        get_code = SourceFileLoader.get_code

        def mutated(loader: SourceFileLoader, name: str) -> CodeType | None:
            return self.compiled() if loader.path == str(self.path) else get_code(loader, name)

        SourceFileLoader.get_code = mutated  # type: ignore[assignment, method-assign]

    def swap_in(self) -> bool:
        """Put the mutant into the functions, or let it be imported if the file was not yet; return
        whether that can be done: not outside of functions.
        """
        found = dict(_codes_of_functions(self.compiled()))
        old = dict(_codes_of_functions(compile(self.source, self.path, "exec")))
        changed = {key: code for key, code in found.items() if code != old.get(key)}
        gc.unfreeze()  # what conftest.py froze
        functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        functions = [one for one in functions if one.__code__.co_filename == str(self.path)]
        if not functions:
            self.import_instead()
            return True
        swapped = False
        for one in functions:
            code = changed.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if code is not None:
                try:
                    one.__code__ = code
                except ValueError:  # it lost a free variable
                    return False
                swapped = True
        return swapped


def _codes_of_functions(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield (one.co_qualname, one.co_firstlineno), one
            yield from _codes_of_functions(one)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    source = path.read_text("utf-8")
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def changed(node: ast.expr | ast.stmt, new: str, what: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        new += "\n" * (node.end_lineno - node.lineno)
        if isinstance(node, ast.expr):
            new = f"({new})"
        text = (data[:start] + new.encode() + data[end:]).decode()
        return Mutant(path, source, node.lineno, node.end_lineno, what, text)

    nodes = list(ast.walk(ast.parse(data)))
    # Python 3.11 does not know where the parts of an f-string are.
    in_strings = {part for one in nodes if isinstance(one, ast.JoinedStr) for part in ast.walk(one)}
    for node in nodes:
        if node in in_strings:
            continue
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
                yield changed(node, new, f"operand {left_out + 1} is dropped")
        elif (
            isinstance(node, ast.Expr | ast.Assign | ast.AugAssign)
            and not isinstance(node.value, ast.Constant)
            and node.col_offset > 4  # inside a function
        ):
            yield changed(node, "pass", "the statement is dropped")


def _is_typing(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


class LinesRun:
    """Which of these lines were run since `start` or the last `take`."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = frozenset(lines)
        self._files = {file for file, _ in self._lines}
        self._looked_at: dict[Line, bool] = {}
        """Whether functions have any of the lines, by where they begin."""
        self._run: set[Line] = set()

    def start(self) -> None:
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def stop(self) -> None:
        threading.settrace(None)
        sys.settrace(None)

    def take(self) -> set[Line]:
        run, self._run = self._run, set()
        return run

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        if event == "line":
            self._run.add((code.co_filename, frame.f_lineno))
        begins = code.co_filename, code.co_firstlineno
        if begins not in self._looked_at:
            own = {(code.co_filename, line) for _, _, line in code.co_lines() if line}
            self._looked_at[begins] = not own.isdisjoint(self._lines)
        return self._trace if self._looked_at[begins] else None


class Trials:
    """Runs the collected tests with each mutant, each time in a forked process."""

    def __init__(self, mutants: Sequence[Mutant]) -> None:
        self._mutants = mutants
        self._run = LinesRun(line for one in mutants for line in one.lines)
        self._run.start()
        self.survived: list[bool | None] = [None] * len(mutants)
        """By mutant; None where it needs a process of its own."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        session.config.pluginmanager.unregister(name="terminalreporter")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._run.stop()
        imported = self._run.take()
        with TemporaryFile("w+") as file:

            def find_reaching() -> int:
                json.dump(_reaching_tests(session, self._mutants, self._run), file)
                file.flush()
                return 0

            _forked(find_reaching)
            file.seek(0)
            reaching: list[list[tuple[float, int]]] = json.load(file)
        for number, mutant in enumerate(self._mutants):

            def run(mutant: Mutant = mutant, tests: Any = reaching[number]) -> int:
                if not tests and imported.isdisjoint(mutant.lines):
                    return 0
                if not tests or not mutant.swap_in():
                    return _NOT_SWAPPED
                _limit()
                for seconds, place in tests:
                    limit = pytest.mark.timeout(WAIT_S + SLOWER * seconds)
                    session.items[place].add_marker(limit, append=False)
                items = [session.items[place] for _, place in tests]
                return int(any(session.testsfailed for _ in _runs(items)))

            status = _forked(run, WALL_S)
            if status != _NOT_SWAPPED:
                self.survived[number] = status == 0
            if status == 0:
                print(f"{number + 1}. {mutant}", flush=True)
        return True


def _forked(work: Callable[[], int], wall_s: float = threading.TIMEOUT_MAX) -> int:
    """Do something in a forked process; return its exit status. Its process group ends with it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setpgid(0, 0)
            status = work()
        finally:
            os._exit(status)
    timer = threading.Timer(wall_s, os.killpg, (pid, signal.SIGKILL))
    timer.start()
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        timer.cancel()
        timer.join()  # a process is forked where no other thread is
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _status_of(command: Sequence[str]) -> int:
    return subprocess.run(command, capture_output=True).returncode


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _runs(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Run tests; yield each when it is over."""
    for item, following in pairwise([*items, None]):
        assert item is not None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield item


def _reaching_tests(
    session: pytest.Session, mutants: Sequence[Mutant], run: LinesRun
) -> list[list[tuple[float, int]]]:
    """Return the tests that reach the lines of each mutant, by their seconds and places, the
    quickest first.
    """
    found: list[list[tuple[float, int]]] = [[] for _ in mutants]
    run.start()  # and again behind each test: one that recurses too deeply ends it
    start = monotonic()
    failed = 0
    for place, item in enumerate(_runs(session.items)):
        seconds, reached = monotonic() - start, run.take()
        if session.testsfailed > failed:
            failed = session.testsfailed
            print(f"{item.nodeid} fails without a mutant, and is left out", flush=True)
        else:
            for mutant, tests in zip(mutants, found, strict=True):
                if not reached.isdisjoint(mutant.lines):
                    tests.append((seconds, place))
        run.start()
        start = monotonic()
    return [sorted(one) for one in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("room")
    parser.add_argument("mutants", nargs="?", type=int, default=20)
    parser.add_argument("seed", nargs="?", type=int, default=0)
    parser.add_argument("--tests", nargs="+", help="instead of those of the room")
    parser.add_argument("--only", type=int, help="the number of one mutant")
    given = parser.parse_args()
    tests = given.tests or [f"tests/{given.room}", *TESTS_ELSEWHERE.get(given.room, ())]
    # The mutants are imported by Python itself, not by the rewriter of assertions.
    command = ["-qx", "-n0", "--assert=plain", "-mnot parts", "-pno:cacheprovider"]
    found = [
        one
        for path in sorted((ROOT / "mcpmock" / given.room).rglob("*.py"))
        for one in mutants_of(path)
    ]
    chosen = Random(given.seed).sample(found, min(given.mutants, len(found)))
    os.chdir(ROOT)
    if given.only is not None:
        mutant = chosen[given.only - 1]
        print(mutant, flush=True)
        mutant.import_instead()
        _limit()
        sys.exit(not pytest.main([*command, *tests]))
    print(f"{given.room}: {len(chosen)} of {len(found)} mutants, seed {given.seed}", flush=True)
    trials = Trials(chosen)
    status = pytest.main([*command, *tests], plugins=[trials])
    if status:
        sys.exit(status)
    for number, mutant in enumerate(chosen):
        if trials.survived[number] is None:
            again = [sys.executable, *sys.argv, f"--only={number + 1}"]
            trials.survived[number] = _forked(partial(_status_of, again), WALL_S) == 1
            if trials.survived[number]:
                print(f"{number + 1}. {mutant}", flush=True)
    print(f"{given.room}: {sum(map(bool, trials.survived))} of {len(chosen)} mutants survived")
    sys.exit(any(trials.survived))


if __name__ == "__main__":
    main()
