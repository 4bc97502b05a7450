"""`mcpmock convert`: a cassette to HAR (`convert.har`) or to traces (`convert.otlp`), recordings of
other tools to a cassette (`convert.foreign`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mcpmock.errors import CassetteError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.files import ConvertOptions
from mcpmock.printable import many

from .option_table import options
from .options_files import refuse_existing
from .output import CASSETTE, counts, report


@click.command(short_help="Convert to HAR or OTLP, or from other tools' recordings.")
@click.argument("file", type=CASSETTE)
@options(conversion=ConvertOptions)
def convert(file: Path, conversion: ConvertOptions, console: ConsoleOptions) -> int:
    """Convert a cassette to HAR or OTLP, or a recording of another tool to a cassette.

    The content of FILE decides: a cassette becomes a HAR 1.2 file, for the network panel of a
    browser, or, if OUT ends in `.otlp.jsonl`, traces for OpenTelemetry; a recording of mcp-rec,
    mcpsnoop or mcp-cassette becomes a cassette. HAR describes HTTP only, so each call over stdio
    becomes an entry with an invented URL (`http://server.invalid/tools/call/NAME`).
    """
    from mcpmock.cassette import HEADER_START
    from mcpmock.cassette.file import read_bytes

    output = conversion.output
    refuse_existing(output)
    data = read_bytes(file)
    if data.startswith(HEADER_START):
        if conversion.no_redact:
            raise click.UsageError("--no-redact is only for recordings of other tools")
        traced = output.name.endswith((".otlp.jsonl", ".otlp.jsonl.gz"))
        members, texts = (_export_traces if traced else _export_har)(file, output)
    else:
        members, texts = _import_foreign(file, output, data, redact=not conversion.no_redact)
    lines = [f"{output}: {text}" for text in texts]
    return report("converted", output, members, lines, console)


_Outcome = tuple[dict[str, Any], list[str]]
"""The members for `--json`, and the lines for people."""


def _export_har(file: Path, output: Path) -> _Outcome:
    from mcpmock.cassette.file import load, rewrite
    from mcpmock.convert.har import har

    made = har(load(file))
    rewrite(output, made.data)
    lines = [f"{many(made.entries, 'entry')} in HAR 1.2"]
    if made.made_up:
        calls = f"{many(made.made_up, 'entry')} for calls over stdio"
        lines.append(f"{calls}, with invented URLs: http://server.invalid/...")
    if made.left_out:
        lines.append(f"left out {many(made.left_out, 'event')} outside of any exchange")
    return {"format": "har", **counts(made, "entries", "made_up", "left_out")}, lines


def _export_traces(file: Path, output: Path) -> _Outcome:
    from mcpmock.cassette.file import load, rewrite
    from mcpmock.convert.otlp import traces

    made = traces(load(file))
    rewrite(output, made.data)
    lines = [f"{many(made.spans, 'span')} in OTLP"]
    if made.linked:
        lines.append(f"{many(made.linked, 'span')} below those that their requests name")
    return {"format": "otlp", **counts(made, "spans", "linked")}, lines


def _import_foreign(file: Path, output: Path, data: bytes, *, redact: bool) -> _Outcome:
    from mcpmock.cassette.file import rewrite
    from mcpmock.cassette.other_files import NO_HEADER, describe_other
    from mcpmock.convert.foreign import read_foreign
    from mcpmock.convert.foreign_import import imported

    runs = read_foreign(str(file), data)
    if runs is None:
        reason, hint = describe_other(str(file), data)
        if reason == NO_HEADER:
            neither = "is neither a cassette nor a recording in a known format"
            reason, hint = neither if data.strip() else "is empty: it holds no recording", None
        raise CassetteError(file, reason, hint=hint)
    made = imported(runs, redact=redact)
    if not made.events:
        raise CassetteError(file, f"is an empty recording of {made.tool}")
    rewrite(output, made.data)
    size = f"{many(made.takes, 'take')}, {many(made.events, 'event')}"
    lines = [f"{size} of {made.tool}, which does not record {', '.join(made.lacks)}"]
    if made.lost:
        lines.append(f"{many(made.lost, 'event')} that {made.tool} reports as lost are gaps")
    if made.left_out:
        lines.append(f"left out {many(made.left_out, 'line')} without a message")
    members = counts(made, "takes", "events", "lost", "left_out")
    return {"format": "cassette", "from": made.tool, **members, "lacks": made.lacks}, lines
