"""`McpMockError`, the base of every error that mcpmock raises on purpose, and the kinds that
several rooms raise. A kind that one room raises is defined there (`faults.fault.PlanError`).

Each says in one line whose fault it is and what to do next, and carries the `exit_code` that the
command line ends with (`mcpmock help exit-status`). `Level` is for what is found and not raised.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from mcpmock.printable import printable


class Level(Enum):
    """How serious a finding is, in a cassette's format or against the protocol's rules: errors make
    `mcpmock check` fail.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class McpMockError(Exception):
    """Everything that we raise on purpose. The command line shows it as one line and exits with
    `exit_code`.

    >>> try:
    ...     mcpmock.load("nowhere.jsonl")
    ... except mcpmock.McpMockError as error:
    ...     print(error)
    nowhere.jsonl: no such file...
    """

    exit_code = 1

    @property
    def lines(self) -> list[str]:
        """What the command line prints: several lines for a file with several mistakes."""
        return [str(self)]

    def __reduce__(self) -> tuple[Callable[..., McpMockError], tuple[object, ...]]:
        # An error of a worker process arrives whole: without this it would be made anew of its
        # text alone, which most kinds are not made of.
        return _remade, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        # A traceback and a test report print it too, and it may quote what was recorded.
        return printable(super().__str__())


class FileMistakes(McpMockError):
    """A file that people write has mistakes: all of them, each behind its path in the file."""

    exit_code = 3

    def __init__(self, file: Path, mistakes: list[str]) -> None:
        self.mistakes = [f"{file}: {mistake}" for mistake in mistakes]
        super().__init__("; ".join(self.mistakes))

    @property
    def lines(self) -> list[str]:
        return self.mistakes


def _remade(
    kind: type[McpMockError], arguments: tuple[object, ...], members: dict[str, object]
) -> McpMockError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(members)
    return error


class CassetteError(McpMockError):
    """A cassette is bad or in the way.

    `file` is the path as the user wrote it, `line` counts from 1, `hint` is the next thing to do (a
    command, mostly).
    """

    exit_code = 3

    def __init__(
        self,
        file: object,
        reason: str,
        *,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.file = str(file)
        self.reason = reason
        self.line = line
        self.hint = hint
        place = self.file if line is None else f"{self.file}:{line}"
        super().__init__(f"{place}: {reason}" + (f"; {hint}" if hint else ""))


class CannotStart(McpMockError):
    """The command could not be started. As in a shell: 127 if it is not there, 126 if it cannot be
    executed.
    """

    def __init__(self, command: str, reason: str, *, found: bool) -> None:
        self.exit_code = 126 if found else 127
        text = f"cannot start {command}: {reason}"
        if not found and len(command.split()) > 1:
            text += "; write the command as several words, without quotes around all of them"
        super().__init__(text)


class WrongUsage(McpMockError):
    """Options that do not go together, which only what was read or made of them shows."""

    exit_code = 2


class NotOnThisPlatform(McpMockError):
    """The operating system lacks what this needs: `what` is that, `instead` what to do."""

    exit_code = 2

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what} does not work on this operating system; {instead}")


class CannotReach(McpMockError):
    """What the user gave the URL of, with this option, takes no connection."""

    exit_code = 4

    def __init__(self, url: str, reason: str, option: str = "--url") -> None:
        super().__init__(f"cannot reach {url}: {reason}; start the server, or correct {option}")


class CannotListen(McpMockError):
    """No socket could be opened where clients are to come. `where` is HOST:PORT."""

    exit_code = 4

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"cannot listen on {where}: {reason}; name another address, or port 0 for any free one"
        )


class MissingExtra(McpMockError):
    """`what` needs libraries that are not installed: those of one of our extras."""

    exit_code = 2

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs more packages; run `{install_command(extra)}`")


def install_command(extra: str) -> str:
    """Return what installs one of our extras."""
    return f"pip install 'mcpmock[{extra}]'"


class WorkerLost(McpMockError):
    """A process that worked on cassettes ended, or cannot work: there is no result."""

    exit_code = 3


class RecordingIncomplete(McpMockError):
    """The session went on (or was stopped, with `--strict`), but not all of it is in the
    cassette.
    """

    exit_code = 5


class OutputLost(McpMockError):
    """Standard output cannot be written. Where its reader left (`mcpmock show FILE | head`) this is
    no news: the exit status is 141, as of a program that SIGPIPE ended, and nothing is printed.
    """

    def __init__(self, reason: str, *, reader_left: bool) -> None:
        self.reader_left = reader_left
        if reader_left:
            self.exit_code = 128 + 13
        super().__init__(f"cannot write to standard output: {reason}")
