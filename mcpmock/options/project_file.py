"""The project file, `mcpmock.toml` or `[tool.mcpmock]` in `pyproject.toml`: options of commands
that hold for the cassettes of a project.

It is looked for from the folder of a cassette upwards, never from the current folder, which clients
choose. It may come with a cloned repository, so the options that are `private` cannot be set in it.
This is the one module of the room that reads a file. `cli` and `testing` are above.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcpmock.errors import FileMistakes, McpMockError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.printable import did_you_mean

FILE_NAME, PYTHON_FILE_NAME = "mcpmock.toml", "pyproject.toml"
_KEY = lazy_pattern(rb"(?m)(?:^|[.{,])[ \t]*([\"']?)mcpmock\1[ \t]*[].=]")
"""In TOML, a key of this name. Most projects that use mcpmock name it as a requirement only."""
_CUTOFF = 0.65
"""By which `record` is not near `echo`."""
MATCH_TABLE, REDACTION_TABLE = "match", "redact"
"""The tables of rules: about what may differ, and about what is secret."""
Check = Callable[[Any], None]
"""Raises ValueError or McpMockError for a value that an option does not take."""
TableReader = Callable[[Any], Iterable[str]]
"""Gives the mistakes in a table, each behind its path in it: `.like[1]: expected a text`."""


class ProjectFileError(FileMistakes):
    """A project file has mistakes: all of them, each with its place."""


class ProjectFile(NamedTuple):
    """What a project file says."""

    path: Path
    tables: Mapping[str, Any]

    def table(self, name: str) -> dict[str, Any]:
        """Return the options of a command, by their long names, as `check` has found them good."""
        return dict(self.tables.get(name, {}))

    def check(self, readers: Mapping[str, TableReader], *, others: bool = False) -> None:
        """Raise ProjectFileError with all mistakes in the file. `readers` has the tables that there
        may be; with `others`, there may be more, which are left out.
        """
        mistakes = []
        for name, written in self.tables.items():
            if (read := readers.get(name)) is not None:
                mistakes += [f"{name}{mistake}" for mistake in read(written)]
            elif not others:
                near = did_you_mean(name, readers, cutoff=_CUTOFF)
                mistakes.append(f"[{name}]: no command of mcpmock{near}")
        if mistakes:
            raise ProjectFileError(self.path, mistakes)


def option_mistakes(
    table: Any, checks: Mapping[str, Check], *, others: bool = False
) -> Iterator[str]:
    """Yield the mistakes in the options of a command, each behind its path (`.order: ...`).
    `checks` has those that can be set; with `others`, what else is in the table is left out.
    """
    if not isinstance(table, dict):
        yield ": expected a table of options"
        return
    for name, value in table.items():
        if name in checks:
            try:
                checks[name](value)
            except (ValueError, McpMockError) as error:
                yield f".{name}: {error}"
        elif not others:
            near = did_you_mean(name, checks, cutoff=_CUTOFF)
            yield f".{name}: no option that can be set here{near}"


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
    try:
        data = path.read_bytes()
        if path.name == PYTHON_FILE_NAME and not _KEY.search(data):
            return None
        import tomllib  # only where there is such a file: a hundredth of a start

        tables = tomllib.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ProjectFileError(path, [str(error)]) from error
    if path.name == FILE_NAME:
        return tables
    tool = tables.get("tool")
    found = tool.get("mcpmock") if isinstance(tool, dict) else None
    if found is None or isinstance(found, dict):
        return found
    raise ProjectFileError(path, ["tool.mcpmock: expected a table"])
