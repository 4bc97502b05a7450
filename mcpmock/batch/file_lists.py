"""Names as people give them, to files: folders, patterns and URLs."""

from __future__ import annotations

from collections.abc import Iterable
from glob import glob, has_magic
from os.path import lexists
from pathlib import Path
from typing import TypeVar

from mcpmock.cassette.file import SUFFIXES, cassette_files

from .sources import fsspec_for, is_url, reading

File = TypeVar("File", Path, str)


def expand(names: Iterable[str]) -> list[Path | str]:
    """Return the files that are meant, each once, as paths or as URLs: a folder stands for all
    cassettes below it, and a pattern (`runs/**/*.jsonl`) that no file has as its name for those
    that match.

    Raises ValueError if nothing matches a pattern, and CassetteError for a folder without
    cassettes.
    """
    return list(dict.fromkeys(file for name in names for file in _files_of(name)))


def _files_of(name: str) -> Iterable[Path | str]:
    if is_url(name):
        return _urls_of(name)
    path = Path(name)
    if not has_magic(name) or lexists(path):
        return cassette_files(path)
    matching = sorted(map(Path, glob(name, recursive=True)))
    return _unless_none(name, [file for one in matching for file in cassette_files(one)])


def _urls_of(url: str) -> Iterable[str]:
    """Return the URLs of cassettes: that of a folder ends in a slash."""
    if not (has_magic(url) or url.endswith("/")):
        return [url]
    with reading(url):
        files, path = fsspec_for(url).core.url_to_fs(url)
        names = files.glob(path) if has_magic(url) else files.find(path)
    found = [files.unstrip_protocol(one) for one in sorted(names) if one.endswith(SUFFIXES)]
    return _unless_none(url, found)


def _unless_none(name: str, found: list[File]) -> list[File]:
    if not found:
        raise ValueError(f"no cassette matches {name}")
    return found
