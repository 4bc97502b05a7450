"""What is written for speed says so: a comment `# speed:` has a figure, and the command that shows
it, so that a search for it lists what may go.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from .test_house import MODULES, ROOT

_FIGURE = re.compile(r"\d+(?:\.\d+)? (?:us|ms|s|%)(?![a-z])")
_COMMAND = re.compile(r"\((?:tools/\w+\.py|python -m timeit)[^()]*\)\.?")


def test_each_mark_has_a_figure_and_a_command() -> None:
    """Both stand in the comment, and a tool that it names is there."""
    sources = ((module, path.read_text("utf-8")) for module, path in MODULES.items())
    marked = [one for one in sources if "# speed:" in one[1]]
    found = [
        f"{module}:{line}: {what}"
        for module, source in marked
        for line, what in wrong_marks(source)
    ]

    assert marked
    assert [] == found


def test_what_is_wrong() -> None:
    """What the law finds; a comment ends where the next line is none."""
    source = """
# speed: 0.5 us a message, without it 0.9 (python -m timeit)
A = 1
# speed: a third faster (tools/bench.py)
B = 2  # speed: 3 us, else 5
# speed: 2 % of a call,
# else 4 (tools/bench.py --rows replay). Nearly all are.
C = 3
D = 4  # speed: 1 us, else 2 (tools/no_such_tool.py)
E = "# speed: a text"
"""
    assert [
        (4, "no figure"),
        (5, "no command"),
        (9, "no tools/no_such_tool.py"),
    ] == [*wrong_marks(source)]


def wrong_marks(source: str) -> Iterator[tuple[int, str]]:
    for line, text in _marks(source):
        command = _COMMAND.search(text)
        if _FIGURE.search(text) is None:
            yield line, "no figure"
        elif command is None:
            yield line, "no command"
        else:
            tools = re.findall(r"tools/\w+\.py", command[0])
            yield from ((line, f"no {tool}") for tool in tools if not (ROOT / tool).exists())


def _marks(source: str) -> Iterator[tuple[int, str]]:
    """The comments with their first lines, those of consecutive lines joined."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {one.start[0]: one.string for one in tokens if one.type == tokenize.COMMENT}
    for line, text in comments.items():
        if text.startswith("# speed:"):
            rest: list[str] = []
            while (more := comments.get(line + len(rest) + 1, "")) and more[2:7] != "speed":
                rest.append(more.removeprefix("#"))
            yield line, "".join([text, *rest])
