"""The house: which room may import which, what a pure room may touch, and that a name means one
thing. The rooms are explained in `mcpmock help contributing`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mcpmock"

# From the cellar up. A room imports from itself and from the rooms of lower rows, never from a room
# of its own row, with the exceptions in BESIDE.
ROWS = (
    {"lazy_pattern"},
    {"printable", "platforms"},
    {"errors", "version", "histogram"},
    {"protocol", "options", "trials"},
    {"matching", "pipeline"},
    {"transports", "cassette"},
    {"redaction"},
    {"channels", "recording"},
    {"playback", "faults"},
    {"rules", "semantic_diff", "stubs", "authorization", "client_config", "coverage"},
    {"explore"},
    {"view", "convert"},
    {"batch", "logins"},
    {"runner"},
    {"sessions"},
    {"agent_tools", "api", "cli", "demo", "testing", "pytest_plugin"},
    {"mcpmock", "__main__"},
)
BESIDE = {
    ("testing", "api"),  # the fixtures give what the Python API gives
    ("pytest_plugin", "testing"),  # hooks here, behaviour there: unused, a plugin imports nothing
    ("pytest_plugin", "api"),
    ("cli", "testing"),  # `control` gives other languages what the fixtures give
    ("agent_tools", "api"),  # fake servers of an agent are those of programs
    ("cli", "agent_tools"),
    ("convert", "view"),  # an exported entry is a row of the timeline
}
PURE = set().union(*ROWS[:11]) - {"channels", "platforms"}
IMPURE_MODULES = {"trio", "time", "socket", "subprocess", "threading", "logging", "asyncio"}
DISK = {
    PACKAGE / "cassette/file.py",
    PACKAGE / "cassette/project_folder.py",
    PACKAGE / "client_config/files.py",
    PACKAGE / "options/project_file.py",
}
TAKES_PATHS = {"mcpmock.faults", "mcpmock.faults.control"}
"""Their arguments may be paths (`os.PathLike`)."""

FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in FILES}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a module, which several laws look at."""
    return tuple(ast.walk(trees()[path]))


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "mcpmock"


def row(module: str) -> int:
    return next(i for i, rooms in enumerate(ROWS) if room(module) in rooms)


def imports(module: str) -> Iterator[str]:
    """All that a module imports, at its top or inside, for typing or not; ours by their
    full names.
    """
    path = MODULES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def our_imports(module: str) -> set[str]:
    return {name for name in imports(module) if name in MODULES and name not in {module, "mcpmock"}}


def test_imports_go_down() -> None:
    """A room imports rooms of lower rows only, and every room has its place in the table."""
    offenders = [
        f"{module} -> {other}"
        for module in MODULES
        for other in sorted(our_imports(module))
        if room(module) != room(other)
        and row(other) >= row(module)
        and (room(module), room(other)) not in BESIDE
    ]

    assert [] == offenders


def diagram() -> str:
    """The rooms as `mcpmock help contributing` draws them: a line for each row of the table."""

    def drawn(name: str) -> str:
        path = MODULES.get(f"mcpmock.{name}", PACKAGE / "__init__.py")
        title = f"{name}/" if path.name == "__init__.py" and name != "mcpmock" else path.name
        return title if name in PURE else f"{title}*"

    return "\n".join("   ".join(sorted(map(drawn, row))) for row in reversed(ROWS))


def test_the_manual_draws_the_house() -> None:
    """The diagram and the table of rooms in the manual are those of `ROWS`."""
    manual = (PACKAGE / "help/contributing.md").read_text("utf-8")

    assert f"```\n{diagram()}\n```" in manual, diagram()
    described = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", manual, re.MULTILINE)
    assert {*described} == set().union(*ROWS) - {"mcpmock", "__main__"} | {"help"}


def test_the_manual_names_modules_that_are_there() -> None:
    """Each path of a module or a room in the pages about the code."""
    pages = ("contributing.md", "internals.md")
    texts = ((PACKAGE / "help" / page).read_text("utf-8") for page in pages)
    paths = {
        path
        for text in texts
        for path in re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)`", text)
    }

    assert "pipeline/pipeline.py" in paths
    assert [] == [
        one
        for one in sorted(paths)
        if not any(
            (d / one).exists() for d in (ROOT, PACKAGE, PACKAGE / "faults", PACKAGE / "view")
        )
    ]


def test_no_import_circles() -> None:
    """No module imports itself by way of others, not even for typing."""
    graph = {module: our_imports(module) for module in MODULES}
    while leaves := {module for module, others in graph.items() if not others}:
        graph = {m: others - leaves for m, others in graph.items() if m not in leaves}

    assert {} == graph


def test_pure_rooms_are_pure() -> None:
    """No clock, socket or task in a pure room, and no file but in the modules of `DISK`."""
    offenders = []
    for module, path in MODULES.items():
        if room(module) not in PURE:
            continue
        tops = {name.split(".")[0] for name in imports(module)}
        banned = IMPURE_MODULES | {"os", "gzip", "io", "fcntl"}
        if path in DISK:
            banned = IMPURE_MODULES
        elif module in TAKES_PATHS:
            banned = banned - {"os"}
        offenders += [f"{module}: {top}" for top in sorted(tops & banned)]
        if path not in DISK and re.search(r"\bopen\(", path.read_text("utf-8")):
            offenders.append(f"{module}: open()")

    assert [] == offenders


def test_extras_are_imported_when_they_are_needed() -> None:
    """Packages of extras are imported inside functions: the modules of logins are all of one extra,
    and are themselves imported so.
    """
    extras = {"mcp", "httpx2", "keyring", "dask", "distributed", "fsspec", "jsonschema_rs"}
    logins = {"mcpmock.logins.provider", "mcpmock.logins.answers"}
    offenders = []
    for module, path in MODULES.items():
        top = [node for node in trees()[path].body if isinstance(node, ast.Import | ast.ImportFrom)]
        named = {alias.name for node in top for alias in node.names}
        named |= {node.module or "" for node in top if isinstance(node, ast.ImportFrom)}
        found = {name.partition(".")[0] for name in named} & (extras | {"provider", "answers"})
        offenders += [module] if found and module not in logins else []

    assert [] == offenders


def test_a_class_name_is_one_thing() -> None:
    """No two public classes share a name."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, path in MODULES.items():
        for node in trees()[path].body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)

    assert {} == {name: where for name, where in places.items() if len(where) > 1}


def test_tests_share_by_support_alone() -> None:
    """No test imports from a test module of another folder: what both need is in tests/support."""
    shared = re.compile(r"^from (tests[\w.]*)\.test_\w+ import", re.MULTILINE)
    offenders = [
        f"{path}: {match[0]}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for match in shared.finditer(path.read_text("utf-8"))
        if match[1] != ".".join(path.parent.relative_to(ROOT).parts)
    ]

    assert [] == offenders


def test_every_file_says_what_it_is() -> None:
    """A module opens with a docstring."""
    assert [] == [str(path) for path in FILES if not ast.get_docstring(trees()[path])]


def test_nothing_runs_a_shell_or_evaluates() -> None:
    """No text of a cassette or of the wire can become a command or code."""
    banned = ("shell=True", "os.system", "eval(", "exec(", "pickle", "webbrowser")
    found = [
        (path.name, word) for path in FILES for word in banned if word in path.read_text("utf-8")
    ]

    assert [] == found
