"""TOML: where each value stands.

tomlkit reads and writes without changing a byte, but it tells no places, and what it inserts has
line ends of its own. So a mark is put in the place of a value, and found in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from mcpmock.protocol.raw_json import Span

from .document import ConfigError, Document, Path

_MARK = "\ufeff"
_INLINE = re.compile(r"[{,]\s*\Z")
_NAME = re.compile(r"""([\w-]+|"[^"\r\n]*"|'[^'\r\n]*')[ \t]*=[ \t]*\Z""")
_LAST_OF_TABLE = r"^[ \t]*\[[^\[\]\r\n]*{before}[^\[\]\r\n]*\.[ \t]*({name})[ \t]*\]"


class TomlDocument(Document):
    """Raises ConfigError where it is not TOML."""

    def __init__(self, file: object, text: str) -> None:
        super().__init__(file, text)
        self._body = text.removeprefix(_MARK)
        try:
            self._value = tomllib.loads(self._body)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(file, f"not TOML: {error}") from error

    @property
    def value(self) -> Any:
        return self._value

    def span(self, path: Path) -> Span:
        def put(document: Any, mark: str) -> None:
            *outer, name = path
            for step in outer:
                document = document[step]
            document[name]  # raises KeyError
            document[name] = mark

        found = self._find(self._body, put)
        start = len(self.text) - len(self._body)
        return Span(start + found.start, start + found.end)

    def name_span(self, path: Path) -> Span:
        *outer, name = path
        value = self.at(path)
        if isinstance(value, dict):
            # A table has its name in a header. A line that only looks like
            # one is found when the change is verified.
            wanted = _LAST_OF_TABLE.format(before=re.escape(outer[-1]), name=re.escape(name))
            if header := re.search(wanted, self.text, re.M):
                return Span(*header.span(1))
        found = _NAME.search(self.text[: self.span(path).start])
        if found is None:
            raise ConfigError(
                self.file, f"{name} cannot be changed here (an inline table?); edit it by hand"
            )
        return Span(*found.span(1))

    def spelled(self, name: str, value: str | None = None) -> str:
        return name if value is None else f"{name} = {value}"

    def with_object(self, path: Path, value: dict[str, Any]) -> str:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document: Any = tomlkit.parse(self._body)
            inside = document
            for step in path:
                inside = inside[step]
            for name in [name for name in inside if value.get(name) != inside[name]]:
                del inside[name]
            inside.update({name: one for name, one in value.items() if name not in inside})
            text = tomlkit.dumps(document)
        except (TOMLKitError, RecursionError) as error:
            raise ConfigError(self.file, f"not TOML: {error}") from error
        return self.text[: len(self.text) - len(self._body)] + text

    def with_member(self, path: Path, name: str, value: dict[str, Any]) -> str:
        import tomlkit

        lines = tomlkit.dumps(value).splitlines()
        apart = "" if not self._body.strip() else self.line_end
        ended = "" if not self._body or self._body.endswith("\n") else self.line_end
        table = [f"[{'.'.join([*path, name])}]", *lines]
        return self.text + ended + apart + "".join(line + self.line_end for line in table)

    def without_member(self, path: Path) -> str:
        header = re.escape(f"[{'.'.join(path)}]")
        found = re.search(rf"^[ \t]*{header}[ \t]*\r?\n[^\[#]*?(?=^[ \t]*\[|\Z)", self.text, re.M)
        if found is None:
            raise ConfigError(self.file, f"{path[-1]} cannot be taken out here; do it by hand")
        return self.text[: found.start()] + self.text[found.end() :]

    def refuse_duplicates(self, path: Path) -> None:
        """Do nothing: the format itself has none."""

    def elements(self, path: Path) -> list[Span]:
        array = self.span(path)
        text = "x=" + self.text[slice(*array)]

        def find(i: int) -> Span:
            def put(document: Any, mark: str) -> None:
                document["x"][i] = mark

            return self._find(text, put)

        offset = array.start - len("x=")
        places = map(find, range(len(self.at(path))))
        return [Span(offset + place.start, offset + place.end) for place in places]

    def added(self, span: Span, name: str, value: str) -> str:
        before = self.text[: span.start]
        own = _NAME.search(before)
        # `a.b.command = ` stays `a.b.args = `.
        line = before[: own.start()].rpartition("\n")[2] if own else ""
        if own is not None and _INLINE.search(before[: own.start()]):
            return f", {name} = {value}"
        return f"{self.line_end}{line}{name} = {value}"

    def _find(self, text: str, put: Callable[[Any, str], None]) -> Span:
        """Return where the value stands that `put` replaces by a mark."""
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        mark = "mcpmock"
        while mark in text:
            mark += "-"
        try:
            document = tomlkit.parse(text)
            put(document, mark)
            before, found, behind = tomlkit.dumps(document).partition(f'"{mark}"')
        except (TOMLKitError, RecursionError) as error:
            raise ConfigError(self.file, f"not TOML: {error}") from error
        # Not so if tomlkit changed anything else.
        if not (found and text.startswith(before) and text.endswith(behind)):
            raise ConfigError(self.file, "cannot be changed without changing other lines")
        return Span(len(before), len(text) - len(behind))
