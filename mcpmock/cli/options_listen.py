"""The front that `ListenOptions` describe: a listener for clients over HTTP, or stdio."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from .output import Announcer, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpmock.options.listening import ListenOptions
    from mcpmock.sessions.http_front import HttpFront
    from mcpmock.sessions.run import Front
    from mcpmock.transports.session_router import TransportKind

_ORIGIN = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[0-9A-Za-z.:_~%\[\]-]+/?")


def listening_of(
    options: ListenOptions, announcer: Announcer, *, default: str | None = None
) -> HttpFront | None:
    """Return the `HttpFront` that the options describe; None without an address. Raises UsageError
    for a contradiction.
    """
    address = default if options.listen is None else options.listen
    if address is None:
        if options.given:
            raise click.UsageError(
                f"{options.given} needs --listen (without it, the client is on stdio)"
            )
        return None

    from mcpmock.channels.http.addresses import (  # over stdio we do without
        is_loopback,
        parse_listen,
    )
    from mcpmock.channels.http.server import SESSION_TIMEOUT_S
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.http_front import HttpFront

    timeout = options.session_timeout
    try:
        host, port = parse_listen(address)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    _check_allowed(options)
    if not is_loopback(host) and not options.dangerously_bind:
        raise click.BadParameter(
            f"{host} is reachable from other machines; add --dangerously-bind to allow that",
            param_hint="--listen",
        )
    return HttpFront(
        host=host,
        port=port,
        kind=kind_of(options.transport),
        hosts=frozenset(options.allow_host),
        origins=frozenset(options.allow_origin),
        dangerously=options.dangerously_bind,
        session_timeout=SESSION_TIMEOUT_S if timeout is None else timeout,
        announce=announcer.announce,
    )


def front_of(
    options: ListenOptions, *, json: bool, default: str | None = None
) -> tuple[Front, Callable[[str], None]]:
    """Return where the client is, and how messages for the user are printed: the listener that the
    options describe with its announcer, or stdio.
    """
    announcer = Announcer(json=json)
    listening = listening_of(options, announcer, default=default)
    if listening is not None:
        return listening, announcer.say

    from mcpmock.sessions.stdio_front import StdioFront

    return StdioFront(), say


def _check_allowed(options: ListenOptions) -> None:
    """Reject a host or origin that no request could match; else the mistake shows as a puzzling 403
    much later.
    """
    from mcpmock.transports.headers import split_authority

    for host in options.allow_host:
        if split_authority(host.strip()) is None:
            raise click.BadParameter(
                f"{host!a} is not a host; expected, for example, mcp.example or mcp.example:8080",
                param_hint="--allow-host",
            )
    for origin in options.allow_origin:
        if not _ORIGIN.fullmatch(origin.strip()):
            raise click.BadParameter(
                f"{origin!a} is not an origin; expected, for example, https://app.example",
                param_hint="--allow-origin",
            )


def kind_of(transport: str | None) -> TransportKind | None:
    from mcpmock.transports.session_router import TransportKind

    return None if transport is None else TransportKind(transport)
