"""`mcpmock scan`: the secrets that are still in cassettes, never their values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.options.comparison import SharingOptions
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.printable import many, mcpmock_command, printable

from .option_table import TableCommand, options
from .options_files import MANY_FILES, list_files, work_on_each
from .output import encodable, shown_file, without_secrets
from .reports import Report, print_each

if TYPE_CHECKING:
    from mcpmock.redaction.cassettes import SecretFound

_SHOWN = 20
"""How many places are printed without `-v`."""


@click.command(cls=TableCommand, short_help="Find the secrets that are left in cassettes.")
@MANY_FILES
@options(redaction=RedactionOptions, sharing=SharingOptions)
def scan(
    files: tuple[str, ...],
    redaction: RedactionOptions,
    sharing: SharingOptions,
    console: ConsoleOptions,
) -> int:
    """Find secrets in cassettes: where they stand and of which kind, never the values.

    Looks for values under names such as `password`, for the formats of tokens and keys, and for
    every value that is one of these anywhere in the file; in JSON inside strings, base64 and
    percent encoding too; and for what the given rules find. Exit status: 0 if there are none, 1 if
    there are any, 3 if a file cannot be read. `mcpmock redact` replaces them.
    """
    from mcpmock.batch.check import scan_source
    from mcpmock.batch.redaction_rules import redaction_rules_of

    redaction_rules_of(redaction)  # a bad rule is the fault of no file
    work = partial(scan_source, redaction=redaction)
    named = list_files(files, sharing.scheduler, quiet=console.quiet, rejected=True)
    with work_on_each(work, named, sharing, quiet=console.quiet) as results:
        return print_each(
            results, partial(_report, options=redaction.words, verbose=console.verbose), console
        )


def _report(
    path: Path | str, found: list[SecretFound], *, options: list[str], verbose: bool
) -> Report:
    command = mcpmock_command("redact", without_secrets(str(path)), options=options)
    return Report(
        status=int(bool(found)),
        lines=_lines(shown_file(path), found, verbose=verbose),
        values=_values(encodable(path), found),
        hint=f"`{command}` replaces them" if found else "",
    )


def _lines(name: str, found: list[SecretFound], *, verbose: bool) -> Iterator[str]:
    for secret in found[: None if verbose else _SHOWN]:
        yield f"{name}:{secret.line}: {printable(_describe(secret))}"
    if len(found) > _SHOWN and not verbose:
        yield f"{name}: and {len(found) - _SHOWN} more (-v)"
    yield f"{name}: {many(len(found), 'secret') if found else 'no secrets'}"


def _describe(secret: SecretFound) -> str:
    where = f"event {secret.event}" if secret.event else "header" if secret.take else "damaged line"
    return f"{where}: {secret.kind}{' at ' + secret.path if secret.path else ''}"


def _values(file: str, found: list[SecretFound]) -> Iterator[dict[str, Any]]:
    for secret in found:
        place = {"line": secret.line, "take": secret.take, "event": secret.event}
        yield {"type": "secret", "file": file, **place, "path": secret.path, "kind": secret.kind}
    yield {"type": "scan", "file": file, "secrets": len(found)}
