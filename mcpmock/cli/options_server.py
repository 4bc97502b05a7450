"""The options of commands that reach a real server, and the `Server` (a command or a URL) that they
describe.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .early_start import take_server
from .options_listen import TRANSPORTS, kind_of
from .output import option_set

if TYPE_CHECKING:
    from mcpmock.logins.credentials import OAuthCredentials
    from mcpmock.protocol.transport_facts import Headers
    from mcpmock.sessions.servers import Command, Server
    from mcpmock.sessions.url_server import Url

_FIELD = re.compile(r"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_FRAMING = {"connection", "content-length", "transfer-encoding"}
oauth_option = click.option(
    "--oauth",
    is_flag=True,
    help="Authorize every request to --url with the login of `mcpmock login URL`.",
)
server_options = option_set(
    click.option("--url", metavar="URL", help="URL of the server, instead of COMMAND."),
    click.option(
        "--url-env", metavar="NAME", help="Environment variable with the URL, if it is secret."
    ),
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
    click.option(
        "--header-env",
        multiple=True,
        metavar="'NAME: VARIABLE'",
        help="The same with the value of an environment variable; 'Authorization: Bearer VARIABLE' "
        "puts a word before it (repeatable).",
    ),
    oauth_option,
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
    values: dict[str, str] = {}
    if not options["value"]:
        del options["value"]
        return values

    from mcpmock.redaction.redactor import HOLE

    for given in options.pop("value"):
        placeholder, _, source = given.partition("=")
        kind, _, name = source.partition(":")
        if HOLE.fullmatch(placeholder.encode()) is None or kind != "env" or not name:
            # Not repeated: it may hold the secret.
            expected = "expected 'mcpmock:secret:KIND:N=env:NAME'"
            raise click.BadParameter(expected, param_hint="--value")
        values[placeholder] = _variable(name, "--value")
    return values


def url_options_given(options: dict[str, Any]) -> bool:
    """Whether there is an option that only makes sense with a URL."""
    return any(options[name] for name in ("url_transport", "header", "header_env", "oauth"))


def check_server(options: dict[str, Any]) -> None:
    """Raises UsageError where `server_of` does; this is light. Looks the URL up if it is in a
    variable.
    """
    if (name := options["url_env"]) is not None:
        url = _variable(name, "--url-env")
        if options["url"] not in (None, url):
            raise click.UsageError("--url and --url-env are mutually exclusive")
        options["url"] = url
    if (options["url"] is None) is not bool(options["command"]):
        raise click.UsageError("name the server: either --url URL or -- COMMAND")
    if options["url"] is None and url_options_given(options):
        raise click.UsageError("--url-transport, --header, --header-env and --oauth need --url")


def server_of(options: dict[str, Any]) -> Server:
    """The server that the options describe. Raises UsageError for a contradiction."""
    check_server(options)
    if options["url"] is not None:
        fields = [*map(_field_of, options["header"]), *map(_field_from, options["header_env"])]
        return url_of(options["url"], options["url_transport"], fields, oauth=options["oauth"])
    return command_of(options["command"])


def command_of(command: Sequence[str]) -> Command:
    """The server that is a process; it may run already (`early_start`)."""
    from mcpmock.sessions.servers import Command

    return Command(command, take_server(command))


def url_of(
    url: str,
    transport: str | None = None,
    headers: Headers | None = None,
    *,
    oauth: bool = False,
    hint: str = "--url",
) -> Url:
    """The server at a URL. Raises BadParameter, for what `hint` names, if it is not a valid URL."""
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.url_server import Url

    credentials = _credentials_of(url) if oauth else None
    try:
        return Url.parse(url, kind_of(transport), headers, credentials)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


def _credentials_of(url: str) -> OAuthCredentials:
    from mcpmock.logins.credentials import OAuthCredentials  # few servers need a login
    from mcpmock.logins.token_store import TokenStore

    return OAuthCredentials(url, TokenStore.of_user(), person=sys.stderr.isatty())


def _field_of(header: str, hint: str = "--header") -> tuple[str, str]:
    """Parse `NAME: VALUE`. Errors never repeat the value: it is often a secret."""
    found = _FIELD.fullmatch(header)
    if found is None:
        raise click.BadParameter("expected 'NAME: VALUE'", param_hint=hint)
    name, value = found.groups()
    if name.lower() in _FRAMING:
        raise click.BadParameter(f"{name} is set by mcpmock and cannot be changed", param_hint=hint)
    return name, value.strip(" \t")


def _field_from(header: str) -> tuple[str, str]:
    """The header that `NAME: [WORD ]VARIABLE` describes."""
    name, value = _field_of(header, "--header-env")
    *before, variable = value.split(" ")
    return _field_of(f"{name}: {' '.join([*before, _variable(variable, '--header-env')])}")


def _variable(name: str, hint: str) -> str:
    """The value of an environment variable. Raises BadParameter if it is not set."""
    if name not in os.environ:
        raise click.BadParameter(f"{name} is not set in the environment", param_hint=hint)
    return os.environ[name]
