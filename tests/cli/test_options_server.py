"""How a server is named on the command line."""

from __future__ import annotations

from typing import Any

import click
import pytest

from mcpmock.cli.options_server import server_of
from mcpmock.sessions.servers import Command
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind

NOTHING: dict[str, Any] = {
    "url": None,
    "url_transport": None,
    "header": (),
    "oauth": False,
    "command": (),
}


def server(**options: Any) -> Any:
    return server_of({**NOTHING, **options})


def test_a_command() -> None:
    assert Command(("a", "--url")) == server(command=("a", "--url"))


def test_a_url() -> None:
    """Its transport is the one named, else what its path suggests."""
    plain = server(url="http://a/mcp", header=("X-A: 1",))
    named = server(url="http://a/mcp", url_transport="sse")

    assert isinstance(plain, Url)
    assert (TransportKind.STREAMABLE_HTTP, [("X-A", "1")]) == (plain.kind, plain.headers)
    assert TransportKind.SSE is named.kind


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"url": "http://a", "command": ("b",)},
        {"command": ("a",), "header": ("X: 1",)},
        {"command": ("a",), "url_transport": "sse"},
        {"command": ("a",), "oauth": True},
        {"url": "nonsense"},
        {"url": "http://a", "header": ("secret",)},
        {"url": "http://a", "header": ("Content-Length: 5",)},
    ],
)
def test_wrong_usage(options: dict[str, Any]) -> None:
    """A value of --header is never repeated."""
    with pytest.raises(click.UsageError) as raised:
        server(**options)

    assert "secret" not in str(raised.value)
