"""What the commands share that serve clients over HTTP: their options, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .output import Announcer

if TYPE_CHECKING:
    from mcpmock.sessions.http_front import HttpFront
    from mcpmock.transports.session_routing import TransportKind

_Command = TypeVar("_Command", bound=Callable[..., Any])
TRANSPORTS = click.Choice(["streamable-http", "sse"])
_NAMES = ("listen", "transport", "allow_host", "allow_origin", "dangerously_bind")
_ORIGIN = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[0-9A-Za-z.:_~%\[\]-]+/?")
_OPTIONS = (
    click.option(
        "--listen",
        metavar="HOST:PORT",
        help="Where to listen for clients; port 0 picks a free one.",
    ),
    click.option(
        "--transport",
        type=TRANSPORTS,
        help="The transport to speak to clients. [default: that of the other side]",
    ),
    click.option(
        "--allow-host", multiple=True, metavar="HOST", help="Answer to this Host as well."
    ),
    click.option(
        "--allow-origin", multiple=True, metavar="ORIGIN", help="Let pages from there in."
    ),
    click.option(
        "--dangerously-bind",
        is_flag=True,
        help="Allow an address that others can reach; clients then need the token that is printed.",
    ),
)


def listening_options(command: _Command) -> _Command:
    """`--listen` and what goes with it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def listening_of(
    options: dict[str, Any], announcer: Announcer, *, default: str | None = None
) -> HttpFront | None:
    """From the options above; None where there is nothing to listen on. Raises a usage error for
    what makes no sense.
    """
    address = default if options["listen"] is None else options["listen"]
    if address is None:
        if given := listening_given(options):
            raise click.UsageError(
                f"{given}: only with --listen; without it the client is on stdio"
            )
        return None

    from mcpmock.channels.http.addresses import (  # over stdio we do without
        is_loopback,
        parse_listen,
    )
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.http_front import HttpFront

    try:
        host, port = parse_listen(address)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    _check_guests(options)
    if not is_loopback(host) and not options["dangerously_bind"]:
        raise click.BadParameter(
            f"others can reach {host}: say --dangerously-bind if they may", param_hint="--listen"
        )
    return HttpFront(
        host=host,
        port=port,
        kind=kind_of(options["transport"]),
        hosts=frozenset(options["allow_host"]),
        origins=frozenset(options["allow_origin"]),
        dangerously=options["dangerously_bind"],
        announce=announcer.announce,
    )


def _check_guests(options: dict[str, Any]) -> None:
    """What never lets anybody in would be found out late."""
    from mcpmock.transports.headers import split_authority

    for host in options["allow_host"]:
        if split_authority(host.strip()) is None:
            raise click.BadParameter(
                f"{host!a}: write each host like mcp.example or mcp.example:8080",
                param_hint="--allow-host",
            )
    for origin in options["allow_origin"]:
        if not _ORIGIN.fullmatch(origin.strip()):
            raise click.BadParameter(
                f"{origin!a}: write each origin like https://app.example",
                param_hint="--allow-origin",
            )


def listening_given(options: dict[str, Any]) -> str:
    """The names of those that are given, for a sentence that refuses them."""
    names = [name for name in _NAMES if options[name]]
    return " and ".join("--" + name.replace("_", "-") for name in names)


def kind_of(transport: str | None) -> TransportKind | None:
    from mcpmock.transports.session_routing import TransportKind

    return None if transport is None else TransportKind(transport)
