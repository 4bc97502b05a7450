"""The options of commands that reach a real server, and the `Server` (a command or a URL) that they
describe.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from .options_listen import TRANSPORTS, kind_of
from .output import option_set

if TYPE_CHECKING:
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.url_server import Url

_FIELD = re.compile(r"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_FRAMING = {"connection", "content-length", "transfer-encoding"}
server_options = option_set(
    click.option("--url", metavar="URL", help="URL of the server, instead of COMMAND."),
    click.option(
        "--url-transport",
        type=TRANSPORTS,
        help="Transport of --url.  [default: sse if its path ends with /sse, else streamable-http]",
    ),
    click.option(
        "--header",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Add this header to every request that mcpmock itself makes to --url (repeatable).",
    ),
    click.argument("command", nargs=-1, type=click.UNPROCESSED),
)
"""`--url`, its companions and the COMMAND argument."""


value_option = click.option(
    "--value",
    multiple=True,
    metavar="'PLACEHOLDER=env:NAME'",
    help="Send the value of this environment variable in place of a placeholder such as "
    "mcpmock:secret:token:1 (repeatable).",
)


def values_of(options: dict[str, Any]) -> dict[str, str]:
    """The values of placeholders, from the environment: on the command line, other users of the
    machine could read them. Raises UsageError.
    """
    from mcpmock.redaction.redactor import HOLE

    values: dict[str, str] = {}
    for given in options.pop("value"):
        placeholder, _, source = given.partition("=")
        kind, _, name = source.partition(":")
        if HOLE.fullmatch(placeholder.encode()) is None or kind != "env" or not name:
            # Not repeated: it may hold the secret.
            expected = "expected 'mcpmock:secret:KIND:N=env:NAME'"
            raise click.BadParameter(expected, param_hint="--value")
        if name not in os.environ:
            raise click.BadParameter(f"{name} is not set in the environment", param_hint="--value")
        values[placeholder] = os.environ[name]
    return values


def server_of(options: dict[str, Any]) -> Server:
    """The server that the options describe. Raises UsageError for a contradiction."""
    from mcpmock.sessions.servers import Command

    url, command = options["url"], options["command"]
    if (url is None) is not bool(command):
        raise click.UsageError("name the server: either --url URL or -- COMMAND")
    if url is not None:
        return url_of(url, options["url_transport"], options["header"])
    if options["url_transport"] or options["header"]:
        raise click.UsageError("--url-transport and --header need --url")
    return Command(command)


def url_of(url: str, transport: str | None, headers: tuple[str, ...] = ()) -> Url:
    """The server at a URL. Raises BadParameter if it is not a valid URL."""
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.url_server import Url

    fields = [_field_of(header) for header in headers]
    try:
        return Url.parse(url, kind_of(transport), fields)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--url") from error


def _field_of(header: str) -> tuple[str, str]:
    """Parse `NAME: VALUE`. Errors never repeat the value: it is often a secret."""
    found = _FIELD.fullmatch(header)
    if found is None:
        raise click.BadParameter("expected 'NAME: VALUE'", param_hint="--header")
    name, value = found.groups()
    if name.lower() in _FRAMING:
        raise click.BadParameter(
            f"{name} is set by mcpmock and cannot be changed", param_hint="--header"
        )
    return name, value.strip(" \t")
