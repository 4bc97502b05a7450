"""Names as people give them, to files: folders, patterns and URLs."""

from __future__ import annotations

from collections.abc import Iterable
from glob import glob, has_magic
from os.path import lexists
from pathlib import Path
from typing import TypeVar

from mcpmock.cassette.file import SUFFIXES, cassette_files, is_of_folder

from .sources import fsspec_for, is_url, reading

File = TypeVar("File", Path, str)


def expand(names: Iterable[str], *, rejected: bool = False) -> list[Path | str]:
    """Return the files that are meant, each once, as paths or as URLs: a folder stands for all
    cassettes below it, with what failed tests have recorded if `rejected`, and a pattern
    (`runs/**/*.jsonl`) that no file has as its name for those that match.

    Raises ValueError if nothing matches a pattern, and CassetteError for a folder without
    cassettes.
    """
    return list(dict.fromkeys(file for name in names for file in _files_of(name, rejected)))


def _files_of(name: str, rejected: bool) -> Iterable[Path | str]:
    if is_url(name):
        return _urls_of(name, rejected)
    path = Path(name)
    if not has_magic(name) or lexists(path):
        return cassette_files(path, rejected=rejected)
    matching = sorted(map(Path, glob(name, recursive=True)))
    found = [file for one in matching for file in cassette_files(one, rejected=rejected)]
    return _unless_none(name, found)


def _urls_of(url: str, rejected: bool) -> Iterable[str]:
    """Return the URLs of cassettes: that of a folder ends in a slash."""
    if not (has_magic(url) or url.endswith("/")):
        return [url]
    with reading(url):
        files, path = fsspec_for(url).core.url_to_fs(url)
        if has_magic(url):
            names = [one for one in files.glob(path) if one.endswith(SUFFIXES)]
        else:
            names = [one for one in files.find(path) if is_of_folder(one, rejected=rejected)]
    return _unless_none(url, [files.unstrip_protocol(one) for one in sorted(names)])


def _unless_none(name: str, found: list[File]) -> list[File]:
    if not found:
        raise ValueError(f"no cassette matches {name}")
    return found
