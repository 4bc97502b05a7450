"""`mcpmock record`: the face of `modes.record`."""

from __future__ import annotations

from typing import Any

import click

from .terminal import common, say


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The cassette; DIR/ gives each run its own.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Start the file anew (the old one is kept until the clean end).",
)
@click.option("--new", is_flag=True, help="Refuse a file that exists.")
@click.option("--strict", is_flag=True, help="End the session rather than let it go on unrecorded.")
@click.option("--no-redact", is_flag=True, help="Keep secrets in the cassette.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@common
def record(
    output: str, overwrite: bool, new: bool, command: tuple[str, ...], **options: Any
) -> int:
    """Record the server COMMAND while a client uses it.

    Sits in for the server: give `mcpmock record -o FILE -- COMMAND` to any client as the server's
    command. Every byte goes through unchanged, and the exit status is the server's. A file that
    exists gets one more take.
    """
    import trio

    from mcpmock import modes

    if overwrite and new:
        raise click.UsageError("--overwrite and --new exclude each other")
    if options["no_redact"]:
        say("--no-redact: secrets will be in the cassette as they are")
    recording = modes.Recording.to(
        output,
        overwrite=overwrite,
        new=new,
        strict=options["strict"],
        redact=not options["no_redact"],
    )
    return trio.run(modes.record, command, recording, say)
