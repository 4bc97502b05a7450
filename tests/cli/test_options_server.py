"""How a server is named on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cli.run_setup import server_of
from mcpmock.options.endpoints import ServerOptions
from mcpmock.sessions.servers import Command
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind


def server(**options: Any) -> Any:
    return server_of(ServerOptions(**options))


def test_a_command() -> None:
    assert Command(("a", "--url")) == server(command=("a", "--url"))


def test_a_url() -> None:
    """Its transport is the one named, else what its path suggests."""
    plain = server(url="http://a/mcp", header=("X-A: 1",))
    named = server(url="http://a/mcp", url_transport="sse")

    assert isinstance(plain, Url)
    assert (TransportKind.STREAMABLE_HTTP, [("X-A", "1")]) == (plain.kind, plain.headers)
    assert TransportKind.SSE is named.kind


def test_what_others_must_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of variables, of which a header may have a word more."""
    monkeypatch.setenv("X_URL", "http://a/mcp?key=1")
    monkeypatch.setenv("X_TOKEN", "sesame")
    found = server(url_env="X_URL", header_env=("Authorization: Bearer X_TOKEN", "X-Key: X_TOKEN"))

    assert "http://a/mcp?key=1" == found.described
    assert [("Authorization", "Bearer sesame"), ("X-Key", "sesame")] == found.headers
