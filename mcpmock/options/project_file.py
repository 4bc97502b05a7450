"""The project file, `mcpmock.toml` or `[tool.mcpmock]` in `pyproject.toml`: options of commands
that hold for the cassettes of a project.

It is looked for from the folder of a cassette upwards, never from the current folder, which clients
choose. It may come with a cloned repository, so the options that are `private` cannot be set in it.
This is the one module of the room that reads a file. `cli` and `testing` are above.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from mcpmock.errors import McpMockError

FILE_NAME, PYTHON_FILE_NAME = "mcpmock.toml", "pyproject.toml"
_MARK = b"tool.mcpmock"
MATCH_TABLE, REDACTION_TABLE = "match", "redact"
"""The tables of rules: about what may differ, and about what is secret."""
Check = Callable[[Any], None]
"""Raises ValueError or McpMockError for a value that an option does not take."""


class ProjectFileError(McpMockError):
    """A project file has mistakes: all of them, each with its place."""

    exit_code = 3

    def __init__(self, file: Path, mistakes: list[str]) -> None:
        self.mistakes = [f"{file}: {mistake}" for mistake in mistakes]
        super().__init__("; ".join(self.mistakes))

    @property
    def lines(self) -> list[str]:
        return self.mistakes


@attrs.frozen
class ProjectFile:
    """What a project file says."""

    path: Path
    tables: Mapping[str, Any]

    def options(
        self, command: str, checks: Mapping[str, Check], *, others: bool = False
    ) -> dict[str, Any]:
        """Return the options of a command, by their long names. `checks` has those that can be set;
        with `others`, what else is in the table is left out. Raises ProjectFileError with all
        mistakes in its table.
        """
        table = self.tables.get(command, {})
        if not isinstance(table, dict):
            raise ProjectFileError(self.path, [f"{command}: expected a table of options"])
        mistakes = []
        table = {name: table[name] for name in table if name in checks or not others}
        for name, value in table.items():
            if name not in checks:
                mistakes.append(
                    f"{command}.{name}: no option that can be set here{_near(name, checks)}"
                )
                continue
            try:
                checks[name](value)
            except (ValueError, McpMockError) as error:
                mistakes.append(f"{command}.{name}: {error}")
        if mistakes:
            raise ProjectFileError(self.path, mistakes)
        return table

    def check_tables(self, commands: list[str]) -> None:
        """Raise ProjectFileError for a table that is of no command."""
        mistakes = [
            f"[{name}]: no command of mcpmock{_near(name, commands)}"
            for name in self.tables
            if name not in commands
        ]
        if mistakes:
            raise ProjectFileError(self.path, mistakes)


def find_project_file(place: Path) -> ProjectFile | None:
    """Return the project file nearest to a cassette or a folder, up to the first folder with
    `.git`. Raises ProjectFileError for one that is not TOML, or cannot be read.
    """
    place = place.absolute()
    for folder in (place, *place.parents):
        for name in (FILE_NAME, PYTHON_FILE_NAME):
            path = folder / name
            if path.is_file() and (tables := _read(path)) is not None:
                return ProjectFile(path, tables)
        if (folder / ".git").exists():
            return None
    return None


def _read(path: Path) -> dict[str, Any] | None:
    """Return the tables of a file; None of a `pyproject.toml` that has none for mcpmock."""
    import tomllib  # only where there is such a file: a hundredth of a start

    try:
        data = path.read_bytes()
        if path.name == FILE_NAME:
            return tomllib.loads(data.decode())
        if _MARK not in data:
            return None
        tool = tomllib.loads(data.decode()).get("tool", {})
    except (OSError, ValueError) as error:
        raise ProjectFileError(path, [str(error)]) from error
    found: dict[str, Any] | None = tool.get("mcpmock")
    return found


def _near(name: str, known: Mapping[str, object] | list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [*known], n=1, cutoff=0.65)  # `record` is not near `echo`
    return f"; did you mean {near[0]}?" if near else ""
