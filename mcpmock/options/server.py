"""Which real server is reached: a command or a URL."""

import attrs

from .listening import HttpTransport
from .option import option

OAUTH_HELP = "Authorize every request to --url with the login of `mcpmock login URL`."


@attrs.frozen(kw_only=True)
class ServerOptions:
    """`--url`, its companions and the COMMAND argument."""

    url: str | None = option(None, "URL of the server, instead of COMMAND.", metavar="URL")
    url_env: str | None = option(
        None, "Environment variable with the URL, if it is secret.", metavar="NAME"
    )
    url_transport: HttpTransport | None = option(
        None,
        "Transport of --url.  [default: sse if its path ends with /sse, else streamable-http]",
    )
    header: tuple[str, ...] = option(
        (),
        "Add this header to every request that mcpmock itself makes to --url (repeatable).",
        metavar="'NAME: VALUE'",
    )
    header_env: tuple[str, ...] = option(
        (),
        "Like --header, but VARIABLE is replaced by the value of that environment variable; "
        "'Authorization: Bearer VARIABLE' keeps the word before it (repeatable).",
        metavar="'NAME: VARIABLE'",
    )
    oauth: bool = option(False, OAUTH_HELP)
    command: tuple[str, ...] = ()

    @property
    def about_url(self) -> bool:
        """Whether there is an option that only makes sense with a URL."""
        return bool(self.url_transport or self.header or self.header_env or self.oauth)


@attrs.frozen(kw_only=True)
class ValueOptions:
    """What stands for the secrets of a recording."""

    value: tuple[str, ...] = option(
        (),
        "Send the value of this environment variable in place of a placeholder such as "
        "mcpmock:secret:token:1 (repeatable).",
        metavar="'PLACEHOLDER=env:NAME'",
    )
