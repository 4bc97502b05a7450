"""README.md and the topics of the manual: their examples are true, their links lead somewhere, and
the README names every command and every topic.

Each file is one test, in a folder and on ports of its own: its blocks are run in order, because a
later one uses what an earlier one made. A block whose first line is `# NAME.EXTENSION` becomes that
file; a `console` block is typed line by line, and a `shellsession` block only where the libraries
that it needs are installed. The line that makes the cassettes of half of the pages is typed once.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import click
import pytest

from mcpmock.cli.commands import cli
from mcpmock.printable import shell_command
from mcpmock.view.manual import topics
from tests.e2e.parts import PARTS, not_installed

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PACKAGE = ROOT / "mcpmock"
PAGES = [README, *sorted((PACKAGE / "help").glob("*.md"))]
CONTRIBUTING = PACKAGE / "help" / "contributing.md"
DEMO = "mcpmock demo -q -o ."
COMMAND_TIMEOUT_S = 60.0
MAX_README_LINES = 300

PORT = re.compile(r"(?<=127\.0\.0\.1:)[0-9]+")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"# ([\w.-]+\.\w+)\n")


def ids(page: Path) -> str:
    return page.stem


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the line of the demo was typed, which prints nothing."""
    folder = tmp_path_factory.mktemp("demo")
    install(folder, sys.executable)
    process = typed(DEMO, folder)
    assert process.communicate(timeout=COMMAND_TIMEOUT_S)[0] == ""
    assert process.returncode == 0
    return folder


@pytest.mark.e2e
@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_examples_are_true(page: Path, tmp_path: Path, demo: Path) -> None:
    """What a page shows is what comes."""
    install(tmp_path, sys.executable)
    follow(page, tmp_path, ("console",), demo)


@pytest.mark.parts
@pytest.mark.skipif(not_installed("batch", "x") is not None, reason="run e2e_parts.sh batch")
def test_the_examples_with_other_libraries(
    tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster, and queries over raw cassettes."""
    programs = PARTS / "batch" / "bin"
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    install(tmp_path, str(programs / "python"))
    follow(PACKAGE / "help" / "many.md", tmp_path, ("console", "shellsession"), demo)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_links_lead_somewhere(page: Path) -> None:
    """To a file of this tree, and to a heading in it."""
    prose = FENCED.sub("", page.read_text("utf-8"))
    links = [link for link in LINK.findall(prose) if not link.startswith("https://")]

    assert [] == [link for link in links if not leads_somewhere(page, link)]


@pytest.mark.parametrize("page", PAGES[1:], ids=ids)
def test_a_topic_opens_with_one_sentence(page: Path) -> None:
    """Under its heading, for the list of topics; and it ends with its neighbours."""
    heading, opening, *_ = page.read_text("utf-8").split("\n\n")
    last = page.read_text("utf-8").rstrip().rpartition("\n\n")[2]

    assert heading.startswith("# ")
    assert re.fullmatch(r"[A-Z][^.]*\.", opening), opening
    assert last.startswith("See also: ")


def test_the_readme_is_a_front_door() -> None:
    """It is short, and names every command and every topic."""
    text = README.read_text("utf-8")
    commands, manual = (section(text, title) for title in ("Commands", "The manual"))

    assert text.count("\n") <= MAX_README_LINES
    assert set(cli.list_commands(click.Context(cli))) <= named(commands, r"`([a-z]+)`")
    assert set(topics()) == named(manual, r"\[([a-z-]+)\]")


def test_the_map_of_the_house_is_true() -> None:
    """The page for contributors names every room, and only files and names that there are."""
    text = CONTRIBUTING.read_text("utf-8")
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    paths = re.findall(r"`((?:mcpmock|tests|tools)/[\w./-]+)`", text)
    there = [path for path in paths if not re.search("THEME|NAME", path)]

    assert rooms == {name.rstrip("/") for name in named(text, r"`(\w+/)`")}
    assert [] == [path for path in there if not (ROOT / path).exists()]
    places = re.findall(r"`([\w.]+)`\s+in\s+`(mcpmock/[\w/]+\.py)`", text)
    assert ("Ledger", "mcpmock/recording/recorder.py") in places
    assert [] == [one for one in places if not has_name(ROOT / one[1], one[0])]


def has_name(file: Path, name: str) -> bool:
    """Whether the source has each part of a name as a word."""
    words = {*re.findall(r"\w+", file.read_text("utf-8"))}
    return words.issuperset(name.split("."))


def follow(page: Path, folder: Path, kinds: tuple[str, ...], demo: Path) -> None:
    """Does what a page shows in a folder, in the blocks of these kinds."""
    for kind, block in BLOCK.findall(with_free_ports(page.read_text("utf-8"))):
        if file := NAMED.match(block):
            (folder / file[1]).write_text(block, "utf-8")
        elif kind in kinds:
            run(block, folder, demo)


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def named(text: str, pattern: str) -> set[str]:
    """The names in the first column of a table."""
    column = [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
    return set(re.findall(pattern, "\n".join(column)))


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> Iterator[str]:
    """The headings, as a forge spells them in a URL."""
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text("utf-8")), re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def with_free_ports(text: str) -> str:
    """For each port that the page names one that is free right now."""
    with ExitStack() as stack:
        listeners = {
            port: stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            for port in sorted(set(PORT.findall(text)))
        }
        free = {port: str(end.getsockname()[1]) for port, end in listeners.items()}
    return PORT.sub(lambda found: free[found[0]], text)


def install(folder: Path, python: str) -> None:
    """Where the reader types, `mcpmock` and `python` are ours."""
    (folder / "bin").mkdir()
    for name, words in (
        ("mcpmock", [python, "-m", "mcpmock"]),
        ("python", [python]),
    ):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {shell_command(words)} "$@"\n', "utf-8")
        script.chmod(0o755)


def run(block: str, folder: Path, demo: Path) -> None:
    """Types a console block; a command that ends in `&` runs until the end of its block."""
    with ExitStack() as stack:
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = step.partition("\n")
            if command == DEMO:
                assert not shown.strip()
                for file in filter(Path.is_file, demo.iterdir()):
                    assert not (folder / file.name).exists()
                    shutil.copy(file, folder)
                continue
            process = typed(command.removesuffix(" &"), folder)
            if command.endswith(" &"):
                stack.callback(stop, process)
                assert process.stdout is not None
                killer = Timer(COMMAND_TIMEOUT_S, process.kill)
                stack.callback(killer.cancel)
                killer.start()
                came = "".join(process.stdout.readline() for _ in shown.splitlines())
            else:
                came, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)

            assert is_shown(came, shown), f"$ {command}\n{came}\ninstead of\n{shown}"


def is_shown(came: str, shown: str) -> bool:
    """Lines of standard output and standard error may come in either order."""
    if "..." in shown:
        return re.fullmatch(expression(shown), came) is not None
    return sorted(came.splitlines()) == sorted(shown.splitlines())


def expression(shown: str) -> str:
    """What is shown, as an expression: `...` stands for anything in a line, a line of it for any
    lines.
    """
    lines = []
    for line in shown.splitlines(keepends=True):
        part = re.sub(r"(?:\\ )+", r"\\s+", re.escape(line)).replace(re.escape("..."), ".*")
        lines.append("(?:.*\n)*" if line.strip() == "..." else part)
    return "".join(lines)


def typed(command: str, folder: Path) -> subprocess.Popen[str]:
    """A line as the reader's shell runs it."""
    # A pytest in an example is not part of the run that tests the example.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**ours, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(ROOT)
    environment["XDG_DATA_HOME"] = str(folder / "data")  # nothing in the home of the tester
    # The plugin of this tree, whatever is installed; of the others, which take twice as long to
    # import as pytest, those that the examples name.
    tests = [file.read_text("utf-8") for file in folder.glob("test_*.py")]
    plugins = ["anyio", "mcpmock.pytest_plugin"]
    plugins += ["pytest_trio.plugin"] * any("pytest.mark.trio" in text for text in tests)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["PYTEST_ADDOPTS"] = " ".join(f"-p {name}" for name in plugins)
    line = command if re.search(r"[|>&;]", command) else f"exec {command}"
    return subprocess.Popen(
        line, shell=True, cwd=folder, env=environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
    )  # fmt: skip


def stop(process: subprocess.Popen[str]) -> None:
    """What the reader's `kill %1` does, to the program too where a shell waits for it."""
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=10)
