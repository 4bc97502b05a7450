"""`Document`: a configuration file as text, with the values in it and the places where they stand.
`jsonc` and `toml` are the two kinds. Its errors are here too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from mcpmock.errors import McpMockError
from mcpmock.printable import printable
from mcpmock.protocol.raw_json import Span

MAX_CONFIG_BYTES = 1 << 24
"""A larger file is no configuration that a person keeps."""
MAX_CONFIG_DEPTH = 100
Path = Sequence[str]
"""The names from the top of a file to a value in it."""


class ConfigError(McpMockError):
    """The configuration file of a client cannot be read, or not be changed safely. `line` counts
    from 1.
    """

    exit_code = 3

    def __init__(self, file: object, reason: str, *, line: int | None = None) -> None:
        self.reason = reason
        self.found = printable(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")
        super().__init__(f"{self.found}; it was not changed")


class Document(ABC):
    """A text, decoded. A byte order mark and the ends of lines are part of it."""

    def __init__(self, file: object, text: str) -> None:
        self.file = file
        self.text = text

    @property
    @abstractmethod
    def value(self) -> Any:
        """All of it as Python values."""

    @abstractmethod
    def span(self, path: Path) -> Span:
        """Return where the value at a path stands. Raises KeyError if it is not there."""

    @abstractmethod
    def name_span(self, path: Path) -> Span:
        """Return where the name of the member at a path stands. Raises KeyError if it is not
        there.
        """

    @abstractmethod
    def spelled(self, name: str, value: str | None = None) -> str:
        """Return a name of letters as this format spells it, or a whole member."""

    @abstractmethod
    def with_object(self, path: Path, value: dict[str, Any]) -> str:
        """Return the text with another object in the place of the one at a path, whose comments
        go.
        """

    @abstractmethod
    def refuse_duplicates(self, path: Path) -> None:
        """Raise ConfigError if the object at a path has two members of one name: which of them a
        client takes is not known.
        """

    @abstractmethod
    def elements(self, path: Path) -> list[Span]:
        """Return where the elements of the array at a path stand."""

    @abstractmethod
    def added(self, span: Span, name: str, value: str) -> str:
        """Return what to insert right behind the value at a span, so that its object has one more
        member with this name and value.
        """

    @abstractmethod
    def with_member(self, path: Path, name: str, value: dict[str, Any]) -> str:
        """Return the text with one more member behind the last of the object at a path, which is
        made where there is none.
        """

    @abstractmethod
    def without_member(self, path: Path) -> str:
        """Return the text without the member at a path. Raises ConfigError where that would change
        anything else.
        """

    def at(self, path: Path) -> Any:
        """Return the value at a path, None if there is none."""
        value = self.value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    @property
    def line_end(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def line_of(self, index: int) -> int:
        return self.text.count("\n", 0, index) + 1
