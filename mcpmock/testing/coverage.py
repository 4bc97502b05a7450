"""`CoverageTally`: the coverage of the tests of one process, for `--mcp-coverage`. The calls are
those that the tests made to fake servers, or drove to real ones; what can be covered is what they
and the cassettes of the tests list.

`plugin_session` adds up what xdist workers give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import msgspec
import pytest

from mcpmock.api.cassettes import load
from mcpmock.batch.coverage import lines_of_coverage, read_coverage
from mcpmock.cassette.file import replace_file, words_of
from mcpmock.coverage.bounds import CoverageBounds
from mcpmock.coverage.coverage import Coverage
from mcpmock.coverage.reader import CoverageReader, coverage_of
from mcpmock.errors import McpMockError
from mcpmock.printable import printable
from mcpmock.protocol.messages import Frame, encode
from mcpmock.view.coverage import coverage_lines, coverage_page

if TYPE_CHECKING:
    from mcpmock.api.drive import Driven
    from mcpmock.api.log import Log

PAGE = "coverage.html"


@attrs.define
class _Watched:
    """A fake server: what its clients called, and where its recording is."""

    reader: CoverageReader
    recording: Path


@attrs.define(eq=False)
class CoverageTally:
    """All of a process."""

    driven: Coverage = attrs.field(factory=Coverage)
    mistakes: list[str] = attrs.field(factory=list)
    _watched: list[_Watched] = attrs.field(factory=list)
    _recorded: set[Path] = attrs.field(factory=set)

    def watch(self, log: Log, recording: Path) -> None:
        """Count the calls that the clients of a server make, by its log."""
        watched = _Watched(CoverageReader(), recording)
        self._watched.append(watched)
        log.listeners.append(self._listener(watched.reader))

    def add_driven(self, driven: Driven, recording: Path) -> None:
        """Count the calls of a client that was played to a server."""
        self.driven.include(coverage_of(driven.live))
        self._recorded.add(recording)

    def lines(self) -> Iterator[str]:
        """Yield the coverage as lines of JSON, and the first internal error, if there was one."""
        for line in lines_of_coverage(self.total(), CoverageBounds()):
            yield encode(msgspec.to_builtins(line)).decode()
        yield from self.mistakes[:1]

    def total(self) -> Coverage:
        """Return the coverage so far. Recordings are read now, so as the tests left them."""
        listed = {path: _listed(path) for path in self._recordings()}
        found = Coverage()
        for one in (self.driven, *listed.values()):
            found.include(one)
        for watched in self._watched:
            servers = [*listed.get(watched.recording, Coverage()).servers]
            found.include(watched.reader.end(servers[0] if len(servers) == 1 else ""))
        return found

    def _recordings(self) -> set[Path]:
        return self._recorded | {watched.recording for watched in self._watched}

    def _listener(self, reader: CoverageReader) -> Callable[[int, Frame], None]:
        """Return what notes each message. An error in it changes nothing for the test."""

        def note(conversation: int, frame: Frame) -> None:
            try:
                reader.note(conversation, frame)
            except Exception as error:  # noqa: BLE001 (the wire may not fail)
                self.mistakes.append(f"internal error (please report): {error!r}")

        return note


def _listed(path: Path) -> Coverage:
    """Return what a cassette lists; nothing of one that cannot be read: its tests have failed."""
    try:
        return coverage_of(load(path), calls=False)
    except McpMockError:
        return Coverage()


def bounds_of(config: pytest.Config) -> CoverageBounds | None:
    """Return the bounds of `--mcp-coverage-min`; None if coverage is not wanted. Raises
    UsageError.
    """
    texts = config.getoption("mcpmock_coverage_min") or []
    if not texts and not config.getoption("mcpmock_coverage"):
        return None
    try:
        return CoverageBounds.parse(texts)
    except ValueError as error:
        raise pytest.UsageError(f"mcpmock: --mcp-coverage-min: {error}") from error


@attrs.define
class CoverageVerdict:
    """The coverage of a run: what is printed of it, and whether it is enough."""

    lines: list[str]
    ok: bool
    page: bytes

    def write_page(self, folder: Path) -> None:
        """Write the page into a folder; where that cannot be done, a line says so."""
        path = folder / PAGE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(path, self.page)
        except OSError as error:
            self.lines.append(f"the coverage was not written to {path}: {words_of(error)}")
        else:
            self.lines.append(f"page: {path}")


def add_up(lines: Sequence[str], bounds: CoverageBounds, *, verbose: bool) -> CoverageVerdict:
    """Return the outcome of lines of JSON, those of all processes. Any other line is one of a
    process to the user.
    """
    coverage = [line for line in lines if line.startswith("{")]
    found = read_coverage("coverage of a worker", "\n".join(coverage).encode())
    shown = list(coverage_lines(found, bounds, verbose=verbose))
    shown += [line for line in lines if not line.startswith("{")]
    ok = not any(bounds.missed(found.counts()))
    return CoverageVerdict([printable(line) for line in shown], ok, coverage_page(found, bounds))
