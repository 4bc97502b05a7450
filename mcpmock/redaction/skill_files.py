"""Files of skills that were redacted: their recorded digests are those of the true content, so they
no longer fit what the recording has.

`redacted_files` names them, and `with_true_digests` gives a cassette whose entries have digest and
size of what a replay sends. The file stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Take
from mcpmock.cassette.parser import event_of
from mcpmock.printable import first_of, printable
from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.raw_json import splice, walk
from mcpmock.protocol.skills import GET, LIST, content_of, digest_of, entries_in, files_of

from .placeholders import fill, holds_placeholder

__all__ = ["describe_redacted", "redacted_files", "redacted_files_in", "with_true_digests"]

_IN_ENTRIES, _IN_CONTENTS, _IN_HEADERS = b'"digest"', b'"contents"', b'{"mcpmock":'
_NAMED = 5
"""How many files a line names."""
_VALUES = ("digest", "size")


@attrs.define
class _SkillFiles:
    """The files that entries of one take list, and those that were redacted."""

    listed: set[str] = attrs.field(factory=set)
    contents: dict[str, list[tuple[int, bytes]]] = attrs.field(factory=dict)
    """By URI each redacted content as a replay sends it, with the number of its event."""

    def add(self, number: int, payload: bytes) -> None:
        """Note what a message has of skills."""
        for result in _results(fill(payload, {})):
            for one in _list(result.get("contents")):
                self._add_content(number, one)
            for _, entry in (*entries_in(LIST, result), *entries_in(GET, result)):
                self.listed |= {str(file.get("uri")) for file in files_of(entry)}

    def _add_content(self, number: int, contents: Any) -> None:
        content = content_of(contents) if isinstance(contents, dict) else None
        if content is not None and holds_placeholder(content):
            self.contents.setdefault(str(contents.get("uri")), []).append((number, content))

    @property
    def redacted(self) -> list[str]:
        """The URIs of listed files that were redacted."""
        return [uri for uri in self.contents if uri in self.listed]

    def content(self, uri: object, number: int) -> bytes | None:
        """Return the redacted content that an entry in this event speaks of: the next one that was
        read, or else the last.
        """
        found = self.contents.get(uri, []) if isinstance(uri, str) else []
        later = (content for event, content in found if event > number)
        return next(later, found[-1][1] if found else None)


def redacted_files(cassette: Cassette) -> list[str]:
    """Return the URIs of the files of skills that were redacted in a cassette."""
    return list(dict.fromkeys(uri for take in cassette.takes for uri in _read(take).redacted))


def describe_redacted(uris: list[str]) -> str:
    """Return a line that names the files of skills that were redacted."""
    named = first_of([*map(printable, uris)], _NAMED)
    return f"redacted in skills, so that their digests no longer fit: {named}"


def redacted_files_in(lines: Iterable[bytes]) -> list[list[str]]:
    """Return the same of each take in the lines of a cassette."""
    takes: list[_SkillFiles] = []
    for line in lines:
        if line.startswith(_IN_HEADERS):
            takes.append(_SkillFiles())
        elif _may_speak_of_files(line):
            event = event_of(line.rstrip(b"\n"))
            if takes and event is not None and event.m is not UNSET:
                takes[-1].add(event.n, bytes(event.m))
    return [take.redacted for take in takes]


def with_true_digests(cassette: Cassette) -> Cassette:
    """Return a cassette in which entries of skills have digest and size of what is sent for files
    that were redacted; the same object if there are none.
    """
    found = [_read(take) for take in cassette.takes]
    if not any(one.redacted for one in found):
        return cassette
    takes = [
        msgspec.structs.replace(take, events=[_corrected(event, files) for event in take.events])
        for take, files in zip(cassette.takes, found, strict=True)
    ]
    return msgspec.structs.replace(cassette, takes=takes)


def _read(take: Take) -> _SkillFiles:
    found = _SkillFiles()
    for event in take.events:
        if event.m is not UNSET and _may_speak_of_files(raw := bytes(event.m)):
            found.add(event.n, raw)
    return found


def _may_speak_of_files(raw: bytes) -> bool:
    # speed: 0.3 us, read 6 (python -m timeit)
    return _IN_ENTRIES in raw or (_IN_CONTENTS in raw and holds_placeholder(raw))


def _has_digests(event: Event) -> bool:
    return event.m is not UNSET and _IN_ENTRIES in bytes(event.m)


def _corrected(event: Event, files: _SkillFiles) -> Event:
    """Return an event whose entries fit what is sent."""
    if not _has_digests(event):
        return event
    raw = bytes(event.m)  # type: ignore[arg-type]
    new = _with_digests(raw, event.n, files)
    return event if new is raw else msgspec.structs.replace(event, m=msgspec.Raw(new))


def _with_digests(raw: bytes, number: int, files: _SkillFiles) -> bytes:
    """Return a message with digest and size of what is sent in the place of the recorded ones."""
    wanted: dict[tuple[str | int, ...], bytes] = {}
    document = decode(raw)
    for start, result in _results_with_place(document):
        for steps, entry in (*entries_in(LIST, result), *entries_in(GET, result)):
            listed = entry.get("resources")
            for index, file in enumerate(listed if isinstance(listed, list) else ()):
                content = files.content(file.get("uri"), number) if isinstance(file, dict) else None
                if content is not None:
                    place = (*start, *steps, "resources", index)
                    wanted[(*place, "digest")] = encode(digest_of(content))
                    wanted[(*place, "size")] = b"%d" % len(content)
    found = [
        (span, wanted[tuple(path)])
        for path, span in walk(raw)
        if path[-1:] and path[-1] in _VALUES and tuple(path) in wanted
    ]
    return splice(raw, found)


def _results(payload: bytes) -> Iterator[dict[str, Any]]:
    return (result for _, result in _results_with_place(decode(payload)))


def _results_with_place(document: Any) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the results in a message, or in a batch, each with the way to it."""
    batch = isinstance(document, list)
    for index, one in enumerate(document if batch else [document]):
        result = one.get("result") if isinstance(one, dict) else None
        if isinstance(result, dict):
            yield ((index, "result") if batch else ("result",)), result


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
