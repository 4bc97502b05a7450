"""The coverage of one file, wherever it is; and coverage as lines of JSON, to be read again and
added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import attrs
import msgspec

from mcpmock.cassette.file import loaded, named_notices
from mcpmock.cassette.model import Notice
from mcpmock.coverage.bounds import CoverageBounds
from mcpmock.coverage.coverage import KINDS, TOTAL, Coverage, covered
from mcpmock.coverage.reader import coverage_of
from mcpmock.errors import CassetteError
from mcpmock.protocol.messages import decode

from .sources import read_data
from .stats import LINES_BEGINNING

_Count = Annotated[int, msgspec.Meta(ge=0)]


class CoverageLine(msgspec.Struct, tag_field="type", tag="coverage", omit_defaults=True):
    """One kind of one server; or, last, the total of all."""

    server: str | None
    kind: str
    covered: _Count
    all: _Count
    items: dict[str, _Count] | None = None
    other: dict[str, _Count] | None = None
    ok: bool | None = None


@attrs.frozen
class CoveredFile:
    """The coverage of a file, and what its reader should know."""

    coverage: Coverage
    notices: Sequence[Notice]


def cover_file(file: Path | str) -> CoveredFile:
    """Return the coverage of the file at this path or URL: a cassette, or lines of coverage. Raises
    CassetteError for what cannot be read, is neither or has damage.
    """
    data = read_data(file)
    if data.startswith(LINES_BEGINNING):
        return CoveredFile(read_coverage(str(file), data), ())
    cassette = loaded(file, data)
    return CoveredFile(coverage_of(cassette), named_notices(cassette))


def lines_of_coverage(found: Coverage, bounds: CoverageBounds) -> Iterator[CoverageLine]:
    """Yield coverage as objects, each to be a line of JSON."""
    for server, kind, items in found.kinds():
        counted = covered(items)
        other = found.servers[server].other(kind)
        yield CoverageLine(server, kind, counted.covered, counted.all, dict(items), other)
    counts = found.counts()
    total = counts[TOTAL]
    ok = not any(bounds.missed(counts))
    yield CoverageLine(None, TOTAL, total.covered, total.all, ok=ok)


def read_coverage(name: str, data: bytes) -> Coverage:
    """Return the coverage in lines of JSON; those of several commands may follow each other.
    Raises CassetteError.
    """
    found = Coverage()
    for number, raw in enumerate(data.splitlines(), 1):
        try:
            line = msgspec.convert(decode(raw), CoverageLine)
            if line.kind not in (*KINDS, TOTAL):
                raise msgspec.ValidationError(f"no kind {line.kind!r}")
        except msgspec.ValidationError as error:
            reason = f"is not the output of `mcpmock stats --coverage --json`: {error}"
            raise CassetteError(name, reason, line=number) from error
        if line.server is not None and line.kind != TOTAL:
            found.of(line.server).add(line.kind, line.items or {}, line.other or {})
    return found
