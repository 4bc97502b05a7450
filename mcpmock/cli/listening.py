"""What the commands share that reach or serve clients over HTTP: their options, and what is said of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .terminal import announce

if TYPE_CHECKING:
    from mcpmock.modes.ends import Listening, Url
    from mcpmock.transports.reception import Kind

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TRANSPORTS = click.Choice(["streamable-http", "sse"])
_OPTIONS = (
    click.option(
        "--listen",
        metavar="HOST:PORT",
        help="Where to listen for clients; port 0 picks a free one.",
    ),
    click.option(
        "--transport",
        type=_TRANSPORTS,
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
    options: dict[str, Any], *, json: bool, default: str | None = None
) -> Listening | None:
    """From the options above; None where there is nothing to listen on. Raises a usage error for
    what makes no sense.
    """
    address = options["listen"] or default
    if address is None:
        if options["transport"] or options["dangerously_bind"]:
            raise click.UsageError("--transport and --dangerously-bind need --listen")
        return None

    from mcpmock.endpoints.address import is_loopback, parse_listen  # over stdio we do without
    from mcpmock.errors import McpMockError
    from mcpmock.modes.ends import Listening

    try:
        host, port = parse_listen(address)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    if not is_loopback(host) and not options["dangerously_bind"]:
        raise click.BadParameter(
            f"others can reach {host}: say --dangerously-bind if they may", param_hint="--listen"
        )
    return Listening(
        host=host,
        port=port,
        kind=kind_of(options["transport"]),
        hosts=frozenset(options["allow_host"]),
        origins=frozenset(options["allow_origin"]),
        dangerously=options["dangerously_bind"],
        announce=lambda url: announce(url, json=json),
    )


def url_of(url: str, transport: str | None, headers: tuple[str, ...] = ()) -> Url:
    """The server at a URL. Raises a usage error for what is none."""
    from mcpmock.errors import McpMockError
    from mcpmock.modes.ends import Url

    fields = [
        (name.strip(), value.strip()) for name, _, value in (h.partition(":") for h in headers)
    ]
    try:
        return Url.parse(url, kind_of(transport), fields)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--url") from error


def kind_of(transport: str | None) -> Kind | None:
    from mcpmock.transports.reception import Kind

    return None if transport is None else Kind(transport)
