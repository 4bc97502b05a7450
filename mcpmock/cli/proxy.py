"""`mcpmock proxy`: the face of `modes.proxy`."""

from __future__ import annotations

from typing import Any

import click

from .faulting import fault_options, faults_of, told_of
from .listening import listening_of, listening_options, url_of
from .terminal import Announcer, common, say


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--url", metavar="URL", help="The server, where it is reached over HTTP.")
@click.option(
    "--url-transport",
    type=click.Choice(["streamable-http", "sse"]),
    help="The transport of --url. [default: sse if its path ends with /sse]",
)
@click.option(
    "--header",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Send this to --url with every request that is made up (from stdio, from SSE).",
)
@fault_options
@listening_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@common
def proxy(
    url: str | None,
    url_transport: str | None,
    header: tuple[str, ...],
    command: tuple[str, ...],
    **options: Any,
) -> int:
    """Stand between a client and a server that do not speak the same transport.

    The client is on standard input and output, or, with --listen, reached over HTTP (--transport
    says how); the server is COMMAND or at --url. Two ends of one transport see each other's
    exchanges unchanged.
    """
    import trio

    from mcpmock.modes.ends import Command
    from mcpmock.modes.proxy import proxy as run_proxy

    if (url is None) is not bool(command):
        raise click.UsageError("say either --url URL or -- COMMAND, to name the server")
    announcer = Announcer(json=options["json"])
    listening = listening_of(options, announcer)
    server = Command(command) if url is None else url_of(url, url_transport, header)
    if url is None and (url_transport or header):
        raise click.UsageError("--url-transport and --header: only with --url")
    if header and listening is not None and listening.kind in (None, server.kind):
        raise click.UsageError(
            "--header is not for clients of the server's own transport: theirs pass as they are"
        )
    faults = faults_of(options)
    tell = say if listening is None else announcer.say
    status = trio.run(run_proxy, server, listening, tell, faults)
    owing = told_of(faults, options)
    return status or owing
