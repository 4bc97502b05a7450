"""`mcpmock record`: a recording of a process on our stdio, or of a URL behind a listener."""

from __future__ import annotations

from typing import Any

import click

from .options_faults import fault_options, faults_of
from .options_listen import front_of, listening_given, listening_options
from .options_server import url_of
from .output import common
from .run import run_to_end

_UNREDACTED = "--no-redact: the cassette will contain secrets in plain text"


@click.command(
    short_help="Record a client talking to a server.",
    context_settings={"allow_interspersed_args": False},
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Write the cassette to FILE; DIR/ gives each run a file of its own.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace an existing FILE, once the session has ended cleanly.",
)
@click.option("--new", is_flag=True, help="Fail if FILE exists.")
@click.option("--strict", is_flag=True, help="End the session if it can no longer be recorded.")
@click.option("--no-redact", is_flag=True, help="Write secrets to the cassette unredacted.")
@click.option("--url", metavar="URL", help="Record the server at this URL instead of a COMMAND.")
@fault_options
@listening_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@common
def record(
    output: str,
    overwrite: bool,
    new: bool,
    url: str | None,
    command: tuple[str, ...],
    **options: Any,
) -> int:
    """Record the traffic between a client and the server COMMAND or --url.

    Stdio: give `mcpmock record -o FILE -- COMMAND` to a client as the server's command. Every byte
    passes unchanged, and the exit status is that of the server. HTTP: with --url, mcpmock is a
    reverse proxy for Streamable HTTP and HTTP+SSE; give the URL that it prints to the client. If
    FILE exists, the recording is added to it as one more take.
    """
    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.servers import Command
    from mcpmock.sessions.take import Recording

    if (url is None) is not bool(command):
        raise click.UsageError("name the server: either -- COMMAND or --url URL")
    if url is None and (given := listening_given(options)):
        raise click.UsageError(
            f"{given} needs --url; to serve a COMMAND over HTTP, use `mcpmock proxy`"
        )
    if overwrite and new:
        raise click.UsageError("--overwrite and --new are mutually exclusive")
    faults = faults_of(options)
    recording = Recording.to(
        output,
        overwrite=overwrite,
        new=new,
        strict=options["strict"],
        redact=not options["no_redact"],
    )
    server = Command(command) if url is None else url_of(url, options["transport"])
    front, tell = front_of(options, default=None if url is None else "127.0.0.1:0")
    if options["no_redact"]:
        tell(_UNREDACTED)
    setup = Setup(front=front, back=server, faults=faults, recording=recording, say=tell)
    return run_to_end(setup, options)
