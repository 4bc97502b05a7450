"""Puts a recorder in front of a server in the text of a configuration, and takes it out again.

Only the command and its arguments change: every other byte stays, comments between the arguments
included. The name of the server stays, because approvals and allow-lists hang on it. The result is
read again before it is written, and must differ in that entry's words alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import attrs
import msgspec

from mcpmock.printable import common_length
from mcpmock.protocol.raw_json import Span

from .clients import Keys
from .document import ConfigError, Document
from .entry import ServerEntry
from .jsonc import JsonDocument
from .toml import TomlDocument

_COMMA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|#[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+,")
_LINE_BEFORE = re.compile(r"\r?\n[ \t]*\Z")
Splice = tuple[Span, str]
"""A place, and what to put there."""


class Pieces(msgspec.Struct, frozen=True):
    """The text of an entry's command, and of its arguments, before and after a change.

    `program` is empty where the whole command line is one array. `args` is empty if there were no
    arguments; then they and what joins them to the command are `added` behind it. Of a remote
    server there is only the `stretch` from the first change to the last one.
    """

    program: tuple[str, str] = ("", "")
    args: tuple[str, str] = ("", "")
    added: str = ""
    stretch: tuple[str, str] = ("", "")


@attrs.frozen
class WrapChange:
    """The new document, and the pieces that undo it."""

    document: Document
    pieces: Pieces


@attrs.frozen
class _Places:
    """The paths of the command and of its arguments. No `program`: the command is an array."""

    program: Keys | None
    args: Keys


def parse_config(file: object, text: str, *, may_be_blank: bool = False) -> Document:
    """Return the text of a configuration file: TOML by its name, otherwise JSON, which has no
    blank texts unless one `may_be_blank`: that of a file that is not there yet. Raises ConfigError.
    """
    if str(file).endswith((".yaml", ".yml")):
        raise ConfigError(
            file,
            "YAML is not read here; put `mcpmock record -o FILE --` before the command yourself",
        )
    if str(file).endswith(".toml"):
        return TomlDocument(file, text)
    return JsonDocument(file, text, may_be_blank=may_be_blank)


def servers_of(document: Document, keys: Keys) -> dict[str, ServerEntry]:
    """Return the servers of a configuration. Raises ConfigError if one of them is there twice."""
    found = document.at(keys)
    if not isinstance(found, dict):
        return {}
    for depth in range(len(keys) + 1):
        document.refuse_duplicates(keys[:depth])
    entries = {name: value for name, value in found.items() if isinstance(value, dict)}
    return {name: ServerEntry(name, value) for name, value in entries.items()}


def with_server(document: Document, keys: Keys, name: str, value: dict[str, Any]) -> Document:
    """Return the document with one more server, behind the last. Raises ConfigError, also where the
    server could not be found again.
    """
    text = document.with_member(keys, name, value)
    new = parse_config(document.file, text)
    servers_of(new, keys)
    inside = new.at(keys)
    if not isinstance(inside, dict) or {**inside} != {**(document.at(keys) or {}), name: value}:
        raise ConfigError(document.file, f"a server cannot be added safely at {'.'.join(keys)}")
    return new


def without_server(document: Document, keys: Keys, name: str, stretch: tuple[str, str]) -> Document:
    """Return the document without a server: as it was before, where the stretch that was added
    still stands. Raises ConfigError.
    """
    before, added = stretch
    if added and document.text.count(added) == 1:
        front, _, behind = document.text.partition(added)
        # The addition ended a last line that had no line break, and more was written since.
        joins = isinstance(document, TomlDocument) and behind and front[-1:] not in ("", "\n")
        text = front + (document.line_end if joins else before) + behind
    else:
        text = document.without_member((*keys, name))
    new = parse_config(document.file, text, may_be_blank=True)
    left = {other: one for other, one in document.at(keys).items() if other != name}
    if (new.at(keys) or {}) != left:
        raise ConfigError(document.file, f"{name} cannot be taken out safely; do it by hand")
    return new


def difference(old: str, new: str) -> tuple[str, str]:
    """Return the shortest stretch in which two texts differ, as it stands in each."""
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    return old[start : len(old) - end], new[start : len(new) - end]


def wrap(document: Document, keys: Keys, name: str, words: Sequence[str]) -> WrapChange:
    """Return the document with these words before the command of a server. Raises ConfigError."""
    path = (*keys, name)
    places, old_words = _places(document, path), _words(document, path)
    program, added, splices = ("", ""), "", list[Splice]()
    inserted = list(map(quote, words))
    if places.program is not None:
        span = document.span(places.program)
        program = (piece(document, span), inserted[0])
        inserted = [*inserted[1:], program[0]]  # spelled as it was
        if document.at(places.args) is None and not _is_null(document, places.args):
            added = document.added(span, "args", f"[{', '.join(inserted)}]")
        splices.append((span, program[1] + added))
    if not added:
        splices.append(_insertion(document, places.args, inserted))
    new = parse_config(document.file, splice(document.text, splices))
    _verify(document, new, places, [*words, *old_words])
    if added:
        return WrapChange(new, Pieces(program, ("", ""), added))
    args = (piece(one, one.span(places.args)) for one in (document, new))
    return WrapChange(new, Pieces(program, (next(args), next(args))))


def unwrap(document: Document, keys: Keys, name: str, pieces: Pieces | None) -> Document:
    """Return the document with the command of a server as it was. If it no longer stands as the
    pieces say, it is what stands behind the recorder. Raises ConfigError.
    """
    path = (*keys, name)
    places, words = _places(document, path), _words(document, path)
    splices = _restoration(document, places, pieces) if pieces else None
    if splices is None:
        splices = _removal(document, path, places)
    new = parse_config(document.file, splice(document.text, splices))
    _verify(document, new, places, words[_command_behind(document, path) :])
    return new


def _restoration(document: Document, places: _Places, pieces: Pieces) -> list[Splice] | None:
    """Return what restores an entry; None if the command or its arguments were changed."""
    splices: list[Splice] = []
    if places.program is not None:
        span = document.span(places.program)
        new = pieces.program[1] + pieces.added
        end = span.start + len(new)
        if document.text[span.start : end] != new:
            return None
        splices.append((Span(span.start, end), pieces.program[0]))
    if not pieces.added:
        span = document.span(places.args)
        if piece(document, span) != pieces.args[1]:
            return None
        splices.append((span, pieces.args[0]))
    return splices


def _removal(document: Document, path: Keys, places: _Places) -> list[Splice]:
    """Take the recorder's words out of the array; the program is spelled as it is there."""
    elements = document.elements(places.args)
    first, splices = _command_behind(document, path), []
    if places.program is not None:
        program = elements[first - 1]  # the array is one word shorter
        splices.append((document.span(places.program), piece(document, program)))
    start = elements[0].start
    if first < len(elements):
        end = elements[first].start
    else:
        end = elements[-1].end
        comma = _COMMA.match(document.text, end)
        end = comma.end() if comma else end
    return [*splices, (Span(start, end), "")]


def _command_behind(document: Document, path: Keys) -> int:
    """Index of the first word behind the recorder."""
    recorder = ServerEntry(path[-1], document.at(path)).recorder
    if recorder is None or recorder.behind is None:
        raise ConfigError(
            document.file, f"cannot find the command of {path[-1]}: its arguments contain no `--`"
        )
    return recorder.behind


def _insertion(document: Document, path: Keys, inserted: Sequence[str]) -> Splice:
    """Insert before the first element; each on a line of its own if that is."""
    if _is_null(document, path):
        return document.span(path), f"[{', '.join(inserted)}]"
    elements = document.elements(path)
    if not elements:
        at = document.span(path).start + 1
        return Span(at, at), ", ".join(inserted)
    at = elements[0].start
    line = _LINE_BEFORE.search(document.text, 0, at)
    between = f",{line[0]}" if line else ", "
    return Span(at, at), "".join(f"{word}{between}" for word in inserted)


def _is_null(document: Document, path: Keys) -> bool:
    around = document.at(path[:-1])
    return isinstance(around, dict) and path[-1] in around and around[path[-1]] is None


def _places(document: Document, path: Keys) -> _Places:
    document.refuse_duplicates(path)
    command = document.at((*path, "command"))
    if isinstance(command, list):
        return _Places(None, (*path, "command"))
    if isinstance(command, dict):
        document.refuse_duplicates((*path, "command"))
        return _Places((*path, "command", "path"), (*path, "command", "args"))
    return _Places((*path, "command"), (*path, "args"))


def _words(document: Document, path: Keys) -> list[str]:
    words = ServerEntry(path[-1], document.at(path) or {}).words
    if not words:
        raise ConfigError(document.file, f"{path[-1]} has no command that can be recorded")
    return words


def quote(word: str) -> str:
    """Quote a string as both JSON and TOML spell it."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")


def piece(document: Document, span: Span) -> str:
    """Return the text at a span."""
    return document.text[span.start : span.end]


def splice(text: str, splices: Sequence[Splice]) -> str:
    """Return a text with other texts in these places, which do not overlap."""
    for (start, end), new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def verify(old: Document, new: Document, path: Keys, *values: Any) -> None:
    """Raise ConfigError unless the new document is the old one with one of these values at a
    path.
    """
    if not any(new.value == _replaced(old.value, path, value) for value in values):
        reason = f"the entry {path[-1]} has a form that cannot be changed safely"
        raise ConfigError(old.file, reason)


def _replaced(value: Any, path: Keys, new: Any) -> Any:
    if not path:
        return new
    return {**value, path[0]: _replaced(value[path[0]], path[1:], new)}


def _verify(old: Document, new: Document, places: _Places, words: Sequence[str]) -> None:
    """Raise ConfigError unless the new document is the old one with these words."""
    *outer, args = places.args
    inside = old.at(outer)
    if places.program is None:
        return verify(old, new, tuple(outer), {**inside, args: list(words)})
    changed = {**inside, places.program[-1]: words[0]}
    values = [{**changed, args: list(words[1:])}]
    if not words[1:]:  # what had no arguments has none again
        values.append({**changed, args: None})
        changed.pop(args, None)
        values.append(changed)
    verify(old, new, tuple(outer), *values)
    return None
