"""The options of commands that serve clients over HTTP (`--listen` and its companions), and the
`Listening` that they describe.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from .output import DURATION, Announcer, option_set, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpmock.sessions.http_front import HttpFront
    from mcpmock.sessions.run import Front
    from mcpmock.transports.session_router import TransportKind

TRANSPORTS = click.Choice(["streamable-http", "sse"])
_NAMES = (
    "listen",
    "transport",
    "session_timeout",
    "allow_host",
    "allow_origin",
    "dangerously_bind",
)
_ORIGIN = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[0-9A-Za-z.:_~%\[\]-]+/?")


listening_options = option_set(
    click.option(
        "--listen",
        metavar="HOST:PORT",
        help="Listen for clients at this address; port 0 picks a free port.",
    ),
    click.option(
        "--transport",
        type=TRANSPORTS,
        help="Transport to serve to clients.  [default: that of the server or recording]",
    ),
    click.option(
        "--session-timeout",
        type=DURATION,
        metavar="TIME",
        help="End a session that has had no request for this long.  [default: 1h]",
    ),
    click.option(
        "--allow-host",
        multiple=True,
        metavar="HOST",
        help="Also accept requests with this Host header (repeatable).",
    ),
    click.option(
        "--allow-origin",
        multiple=True,
        metavar="ORIGIN",
        help="Also accept requests with this Origin header (repeatable).",
    ),
    click.option(
        "--dangerously-bind",
        is_flag=True,
        help="Allow an address beyond loopback; clients must then send the printed bearer token.",
    ),
)


def listening_of(
    options: dict[str, Any], announcer: Announcer, *, default: str | None = None
) -> HttpFront | None:
    """The `HttpFront` that the options describe; None without an address. Raises UsageError for a
    contradiction.
    """
    address = default if options["listen"] is None else options["listen"]
    if address is None:
        if given := listening_given(options):
            raise click.UsageError(f"{given} needs --listen (without it, the client is on stdio)")
        return None

    from mcpmock.channels.http.addresses import (  # over stdio we do without
        is_loopback,
        parse_listen,
    )
    from mcpmock.channels.http.server import SESSION_TIMEOUT_S
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.http_front import HttpFront

    timeout = options["session_timeout"]
    try:
        host, port = parse_listen(address)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    _check_allowed(options)
    if not is_loopback(host) and not options["dangerously_bind"]:
        raise click.BadParameter(
            f"{host} is reachable from other machines; add --dangerously-bind to allow that",
            param_hint="--listen",
        )
    return HttpFront(
        host=host,
        port=port,
        kind=kind_of(options["transport"]),
        hosts=frozenset(options["allow_host"]),
        origins=frozenset(options["allow_origin"]),
        dangerously=options["dangerously_bind"],
        session_timeout=SESSION_TIMEOUT_S if timeout is None else timeout,
        announce=announcer.announce,
    )


def front_of(
    options: dict[str, Any], *, default: str | None = None
) -> tuple[Front, Callable[[str], None]]:
    """Where the client is, and how messages for the user are printed: the listener that the options
    describe with its announcer, or stdio.
    """
    announcer = Announcer(json=options["json"])
    listening = listening_of(options, announcer, default=default)
    if listening is not None:
        return listening, announcer.say

    from mcpmock.sessions.stdio_front import StdioFront

    return StdioFront(), say


def _check_allowed(options: dict[str, Any]) -> None:
    """Reject a host or origin that no request could match; else the mistake shows as a puzzling 403
    much later.
    """
    from mcpmock.transports.headers import split_authority

    for host in options["allow_host"]:
        if split_authority(host.strip()) is None:
            raise click.BadParameter(
                f"{host!a} is not a host; expected, for example, mcp.example or mcp.example:8080",
                param_hint="--allow-host",
            )
    for origin in options["allow_origin"]:
        if not _ORIGIN.fullmatch(origin.strip()):
            raise click.BadParameter(
                f"{origin!a} is not an origin; expected, for example, https://app.example",
                param_hint="--allow-origin",
            )


def listening_given(options: dict[str, Any]) -> str:
    """The names of the listening options that are set, for an error message."""
    names = [name for name in _NAMES if options[name]]
    return " and ".join("--" + name.replace("_", "-") for name in names)


def kind_of(transport: str | None) -> TransportKind | None:
    from mcpmock.transports.session_router import TransportKind

    return None if transport is None else TransportKind(transport)
