"""`mcpmock proxy`: the face of `modes.proxy`."""

from __future__ import annotations

from typing import Any

import click

from .faulting import fault_options, faults_of, told_of
from .listening import listening_of, listening_options
from .terminal import Announcer, common, say
from .upstream import server_of, server_options


@click.command(context_settings={"allow_interspersed_args": False})
@server_options
@fault_options
@listening_options
@common
def proxy(**options: Any) -> int:
    """Stand between a client and a server that do not speak the same transport.

    The client is on standard input and output, or, with --listen, reached over HTTP (--transport
    says how); the server is COMMAND or at --url. Two ends of one transport see each other's
    exchanges unchanged.
    """
    import trio

    from mcpmock.modes.proxy import proxy as run_proxy

    announcer = Announcer(json=options["json"])
    server, listening = server_of(options), listening_of(options, announcer)
    if options["header"] and listening is not None and listening.kind in (None, server.kind):
        raise click.UsageError(
            "--header is not for clients of the server's own transport: theirs pass as they are"
        )
    faults = faults_of(options)
    tell = say if listening is None else announcer.say
    status = trio.run(run_proxy, server, listening, tell, faults)
    owing = told_of(faults, options)
    return status or owing
