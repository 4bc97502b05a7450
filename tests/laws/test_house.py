"""The house itself: who may import whom, what a pure room may touch, sizes, and a test for each
file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mcpmock"

LAYERS = (
    ("errors", "version"),
    ("protocol",),
    ("transports", "cassette"),
    ("endpoints", "pipeline"),
    ("runner",),
    ("modes",),
    ("api",),
    ("faults",),
    ("cli", "demo", "__main__", "testing", "pytest_plugin"),
)
LEFT_WING, RIGHT_WING = {"transports", "endpoints"}, {"cassette", "pipeline"}
PURE = {"errors", "version", "protocol", "transports", "cassette", "pipeline"}
IMPURE_MODULES = {"trio", "time", "socket", "subprocess", "threading", "logging", "asyncio"}
DISK = PACKAGE / "cassette" / "file.py"
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 400, 60

FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "mcpmock"


def layer(module: str) -> int | None:
    return next((i for i, rooms in enumerate(LAYERS) if room(module) in rooms), None)


def imports(module: str) -> Iterator[str]:
    """All that a module imports, at its top or inside, for typing or not; ours by their
    full names.
    """
    path = MODULES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def our_imports(module: str) -> set[str]:
    return {name for name in imports(module) if name in MODULES and name not in {module, "mcpmock"}}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module: str) -> None:
    """A module imports from its own layer or from below, and a wing never from the other wing."""
    mine = layer(module)
    for other in our_imports(module):
        theirs = layer(other)

        assert mine is None or (theirs is not None and theirs <= mine), f"{module} -> {other}"
        for one, wing in ((LEFT_WING, RIGHT_WING), (RIGHT_WING, LEFT_WING)):
            assert not (room(module) in one and room(other) in wing), f"{module} -> {other}"


def test_no_import_circles() -> None:
    """Whatever is imported is whole by then."""
    graph = {module: our_imports(module) for module in MODULES}
    while leaves := {module for module, others in graph.items() if not others}:
        graph = {m: others - leaves for m, others in graph.items() if m not in leaves}

    assert {} == graph


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_small(path: Path) -> None:
    """No file over 400 lines, no function over 60."""
    text = path.read_text("utf-8")
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    longest = max(((node.end_lineno or 0) - node.lineno + 1 for node in functions), default=0)

    assert text.count("\n") <= MOST_LINES
    assert longest <= MOST_LINES_OF_A_FUNCTION


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) in PURE])
def test_pure_rooms_are_pure(module: str) -> None:
    """No clock, no sockets, no tasks below the endpoints, and no file but in `cassette/file.py`."""
    path = MODULES[module]
    tops = {name.split(".")[0] for name in imports(module)}

    assert not tops & IMPURE_MODULES
    if path != DISK:
        assert not tops & {"os", "pathlib", "gzip", "io", "fcntl"}
        assert "open(" not in path.read_text("utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_says_what_it_is(path: Path) -> None:
    """A module opens with a docstring."""
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.name not in {"__init__.py", "__main__.py"}],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_file_has_its_test(path: Path) -> None:
    """The test of mcpmock/a/b.py is tests/a/test_b.py."""
    inside = path.relative_to(PACKAGE)

    assert (ROOT / "tests" / inside.parent / f"test_{path.name}").is_file()


def test_nothing_runs_a_shell_or_evaluates() -> None:
    """No text of a cassette or of the wire can become a command or code."""
    banned = ("shell=True", "os.system", "eval(", "exec(", "pickle", "webbrowser")
    found = [
        (path.name, word) for path in FILES for word in banned if word in path.read_text("utf-8")
    ]

    assert [] == found
