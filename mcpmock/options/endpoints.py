"""Which real server is reached, a command or a URL; and where clients over HTTP are listened for:
`--listen` and its companions.
"""

from typing import Literal

from .option import OptionTable, Seconds, given_flags, option

HttpTransport = Literal["streamable-http", "sse"]


class ListenOptions(OptionTable):
    """Where to listen; without an address the client is on stdio."""

    listen: str | None = option(
        None,
        "Listen for clients at this address; port 0 picks a free port.",
        metavar="HOST:PORT",
    )
    transport: HttpTransport | None = option(
        None, "Transport to serve to clients.  [default: that of the server or recording]"
    )
    session_timeout: Seconds | None = option(
        None,
        "End a session that has had no request for this long.  [default: 1h]",
        metavar="TIME",
        positive=True,
    )
    allow_host: tuple[str, ...] = option(
        (), "Also accept requests with this Host header (repeatable).", metavar="HOST", private=True
    )
    allow_origin: tuple[str, ...] = option(
        (),
        "Also accept requests with this Origin header (repeatable).",
        metavar="ORIGIN",
        private=True,
    )
    dangerously_bind: bool = option(
        False,
        "Allow an address beyond loopback; clients must then send the printed bearer token.",
        private=True,
    )

    @property
    def given(self) -> str:
        """The names of those that are set, for an error message."""
        return " and ".join(given_flags(self))


OAUTH_HELP = "Authorize every request to --url with the login of `mcpmock login URL`."


class ServerOptions(OptionTable):
    """`--url`, its companions and the COMMAND argument."""

    url: str | None = option(
        None, "URL of the server, instead of COMMAND.", metavar="URL", private=True
    )
    url_env: str | None = option(
        None, "Environment variable with the URL, if it is secret.", metavar="NAME", private=True
    )
    url_transport: HttpTransport | None = option(
        None,
        "Transport of --url.  [default: sse if its path ends with /sse, else streamable-http]",
    )
    header: tuple[str, ...] = option(
        (),
        "Add this header to every request that mcpmock itself makes to --url (repeatable).",
        metavar="'NAME: VALUE'",
        private=True,
    )
    header_env: tuple[str, ...] = option(
        (),
        "Like --header, but VARIABLE is replaced by the value of that environment variable; "
        "'Authorization: Bearer VARIABLE' keeps the word before it (repeatable).",
        metavar="'NAME: VARIABLE'",
        private=True,
    )
    oauth: bool = option(False, OAUTH_HELP, private=True)
    command: tuple[str, ...] = ()

    @property
    def given(self) -> list[str]:
        """What of this was given, as it is typed."""
        return [*given_flags(self), "COMMAND"] if self.command else given_flags(self)

    @property
    def given_about_url(self) -> list[str]:
        """What was given that only makes sense with a URL."""
        return [name for name in self.given if name not in ("--url", "--url-env", "COMMAND")]


class ValueOptions(OptionTable):
    """What stands for the secrets of a recording."""

    value: tuple[str, ...] = option(
        (),
        "Send the value of this environment variable in place of a placeholder such as "
        "mcpmock:secret:token:1 (repeatable).",
        metavar="'PLACEHOLDER=env:NAME'",
        private=True,
    )
