"""Where clients over HTTP are listened for, and whom to let in: `--listen` and its companions."""

from typing import Literal

import attrs

from .option import Seconds, option

HttpTransport = Literal["streamable-http", "sse"]


@attrs.frozen(kw_only=True)
class ListenOptions:
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
    )
    allow_host: tuple[str, ...] = option(
        (), "Also accept requests with this Host header (repeatable).", metavar="HOST"
    )
    allow_origin: tuple[str, ...] = option(
        (), "Also accept requests with this Origin header (repeatable).", metavar="ORIGIN"
    )
    dangerously_bind: bool = option(
        False,
        "Allow an address beyond loopback; clients must then send the printed bearer token.",
    )

    @property
    def given(self) -> str:
        """The names of those that are set, for an error message."""
        names = [name for name, value in attrs.asdict(self).items() if value]
        return " and ".join("--" + name.replace("_", "-") for name in names)
