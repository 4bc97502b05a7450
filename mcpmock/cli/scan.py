"""`mcpmock scan`: the secrets that are still in cassettes, never their values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.printable import printable

from .options_files import FILES, run_each, with_siblings
from .output import common, emit, encodable, many, say

if TYPE_CHECKING:
    from mcpmock.redaction.cassettes import SecretFound

_SHOWN = 20
"""How many places are printed without `-v`."""


@click.command(short_help="Find the secrets that are left in cassettes.")
@FILES
@common
def scan(files: tuple[Path, ...], quiet: bool, verbose: bool, json: bool) -> int:
    """Find secrets in cassettes: where they stand and of which kind, never the values.

    Looks for values under names such as `password`, for the formats of tokens and keys, and for
    every value that is one of these anywhere in the file; in JSON inside strings, base64 and
    percent encoding too. Exit status: 0 if there are none, 1 if there are any, 3 if a file cannot
    be read. `mcpmock redact` replaces them.
    """
    named = with_siblings(files, quiet=quiet)
    return run_each(named, lambda path: _scan(path, quiet=quiet, verbose=verbose, json=json))


def _scan(path: Path, *, quiet: bool, verbose: bool, json: bool) -> int:
    from mcpmock.cassette.file import read_cassette_bytes
    from mcpmock.redaction.cassettes import scan_cassette

    data = read_cassette_bytes(path, damaged=True)
    found = scan_cassette(data)
    if json:
        _emit_found(path, found)
    elif found or not quiet:
        name = printable(str(path))
        for secret in found[: None if verbose else _SHOWN]:
            click.echo(f"{name}:{secret.line}: {printable(_describe(secret))}")
        if len(found) > _SHOWN and not verbose:
            click.echo(f"{name}: and {len(found) - _SHOWN} more (-v)")
        click.echo(f"{name}: {many(len(found), 'secret') if found else 'no secrets'}")
    if found and not json and not quiet:
        say(f"`mcpmock redact {path}` replaces them")
    return int(bool(found))


def _describe(secret: SecretFound) -> str:
    where = f"event {secret.event}" if secret.event else "header" if secret.take else "damaged line"
    return f"{where}: {secret.kind}{' at ' + secret.path if secret.path else ''}"


def _emit_found(path: Path, found: list[SecretFound]) -> None:
    file = encodable(path)
    for secret in found:
        place = {"line": secret.line, "take": secret.take, "event": secret.event}
        emit({"type": "secret", "file": file, **place, "path": secret.path, "kind": secret.kind})
    emit({"type": "scan", "file": file, "secrets": len(found)})
