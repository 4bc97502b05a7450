"""A cassette wherever it is: a path, a URL, an open file, bytes, or one that was read before.

`fsspec` opens URLs. It knows object stores; it is an extra, imported for the first URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from mcpmock.cassette.file import (
    Readable,
    find_siblings,
    load_together,
    loaded,
    read_all,
    read_bytes,
    refuse_other,
    words_of,
)
from mcpmock.cassette.model import Cassette
from mcpmock.errors import CassetteError, McpMockError, MissingExtra
from mcpmock.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from mcpmock.stubs.script import StubScript

_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")

Source = Cassette | Path | str | bytes | Readable
"""A cassette, or where it is: the path or the URL of its file, the path of a folder whose cassettes
are one recording, an open file, or bytes.
"""


def is_url(source: object) -> bool:
    return isinstance(source, str) and _URL.match(source) is not None


def load_source(source: Source) -> Cassette:
    """Return the cassette. Raises CassetteError for a damaged file, or no cassette."""
    if isinstance(source, Cassette):
        return source
    try:
        if isinstance(source, Path | str) and not is_url(source):
            return load_together([Path(source)])
        return loaded(name_of(source), read_source(source))
    except CassetteError as error:
        # Without the frames below: pytest prints their arguments, the bytes of the file among them.
        raise error.with_traceback(None) from None


def is_mock(source: object) -> bool:
    """Return whether a path is that of a mock, a server written by hand in TOML."""
    return isinstance(source, Path | str) and not is_url(source) and Path(source).suffix == ".toml"


def load_mock_first(files: Sequence[Path]) -> tuple[StubScript | None, Cassette]:
    """Return the mock among files, if there is one, and the recording that the others are, empty
    without any. Raises MockFileError, CassetteError.
    """
    mocks = [file for file in files if is_mock(file)]
    cassettes = [file for file in files if file not in mocks]
    if not mocks:
        return None, load_together(cassettes)

    from mcpmock.stubs.builder import Stub  # most replays have none
    from mcpmock.stubs.mock_file import MockFileError

    if len(mocks) > 1:
        raise MockFileError(mocks[1], [f"give one mock: {mocks[0]} is one already"])
    script = Stub.load(mocks[0]).script
    return script, load_together(cassettes) if cassettes else without_takes(str(mocks[0]))


def without_takes(name: str) -> Cassette:
    """Return the cassette of a server that was never recorded."""
    return Cassette(name=name, takes=[])


def read_source(source: Path | str | bytes | Readable) -> bytes:
    """Return the bytes of one cassette. Raises as `read_data`, and for data that is not a
    cassette.
    """
    data = read_data(source)
    refuse_other(name_of(source), data)
    return data


def read_data(source: Path | str | bytes | Readable) -> bytes:
    """Return the bytes of a file, unpacked. Raises CassetteError for what cannot be read."""
    if isinstance(source, str) and is_url(source):
        with reading(source), fsspec_for(source).open(source, "rb") as file:
            return read_all(file, source)
    if isinstance(source, Path | str):
        return read_bytes(Path(source))
    file = BytesIO(source) if isinstance(source, bytes) else source
    return read_all(file, name_of(source))


def as_one(source: Source) -> Source:
    """Return the cassette that a folder, or a file with siblings, stands for; any other source as
    it is.
    """
    if isinstance(source, Path | str) and not is_url(source):
        path = Path(source)
        if path.is_dir() or find_siblings(path):
            return load_together([path])
    return source


def fsspec_for(url: str) -> ModuleType:
    """Return the library that reads this URL. Raises MissingExtra without it."""
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{url}: reading a URL", "dask") from error
    assert isinstance(fsspec, ModuleType)
    return fsspec


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Raise CassetteError for whatever goes wrong: each kind of store has a library of its own,
    with errors of its own.
    """
    try:
        yield
    except McpMockError:
        raise
    except Exception as error:
        raise CassetteError(url, words_of(error) or type(error).__name__) from error


def name_of(source: Path | str | bytes | Readable) -> str:
    """Return what messages call a source."""
    if isinstance(source, Path | str):
        return str(source)
    return "bytes" if isinstance(source, bytes) else str(getattr(source, "name", "open file"))
