"""`mcpmock proxy`: what it takes from its command line, and what it hands on."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.modes import proxy as proxy_mode
from mcpmock.modes.ends import Command, Listening, Server, Url
from mcpmock.transports.reception import Kind
from tests.cli.conftest import Run
from tests.cli.test_listening import said_of

URL = "http://127.0.0.1:9/mcp"
Given = list[tuple[Server, Listening | None]]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """What the mode is called with; it ends with 7."""
    found: Given = []

    async def proxy(
        server: Server, listening: Listening | None, say: Any, faults: Any, recording: Any
    ) -> int:
        assert recording is None
        found.append((server, listening))
        return 7

    monkeypatch.setattr(proxy_mode, "proxy", proxy)
    return found


def test_a_command(run: Run, given: Given) -> None:
    """Stdio in front of a process; its own options are its own, and the status is the mode's."""
    assert (7, "", "") == run("proxy", "--", "server", "--url", "x", "--json")
    assert (7, "", "") == run("proxy", "server", "--listen", "x")

    assert given == [
        (Command(("server", "--url", "x", "--json")), None),
        (Command(("server", "--listen", "x")), None),
    ]


def test_a_url(run: Run, given: Given) -> None:
    """Stdio in front of a URL, with the fields that were given."""
    fields = ["--header", "X-Key: a:b", "--header", "Authorization:Bearer x"]
    assert 7 == run("proxy", "--url", URL, *fields)[0]

    [(server, listening)] = given
    assert isinstance(server, Url)
    assert (URL, Kind.STREAMABLE_HTTP) == (server.upstream.url, server.kind)
    assert [("X-Key", "a:b"), ("Authorization", "Bearer x")] == server.headers
    assert listening is None


@pytest.mark.parametrize(
    ("options", "front", "back"),
    [
        (["--transport", "sse"], Kind.SSE, Kind.STREAMABLE_HTTP),
        (["--url-transport", "sse"], None, Kind.SSE),
        (
            ["--transport", "streamable-http", "--url-transport", "sse"],
            Kind.STREAMABLE_HTTP,
            Kind.SSE,
        ),
    ],
)
def test_transports(
    run: Run, given: Given, options: list[str], front: Kind | None, back: Kind
) -> None:
    """`--transport` is that of the clients, `--url-transport` that of the server."""
    assert 7 == run("proxy", "--listen", "127.0.0.1:0", "--url", URL, *options)[0]

    [(server, listening)] = given
    assert isinstance(server, Url)
    assert listening is not None
    assert (front, back) == (listening.kind, server.kind)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say either --url URL or -- COMMAND"),
        (["--listen", "127.0.0.1:0"], "say either --url URL or -- COMMAND"),
        (["--url", URL, "--", "server"], "say either --url URL or -- COMMAND"),
        (["--url", URL, "--url-transport", "stdio"], "Invalid value for '--url-transport'"),
        (["--url", URL, "--header", "no colon"], "NAME: VALUE"),
        (["--url", URL, "--header", ": no name"], "NAME: VALUE"),
        (["--url", URL, "--header", "X-A: 1\r\nX-B: 2"], "NAME: VALUE"),
        (["--url", URL, "--header", "X-A: \x1b[2J"], "NAME: VALUE"),
        (["--url", URL, "--header", "X-A: \u2028"], "NAME: VALUE"),
        (["--url", URL, "--header", "content-length: 7"], "content-length is counted"),
        (["--url", URL, "--header", "Transfer-Encoding: chunked"], "is counted"),
        (["--header", "X-A: 1", "--", "server"], "only with --url"),
        (["--url-transport", "sse", "--", "server"], "only with --url"),
        (["--what", "server"], "No such option"),
        (["--\x1b[2J\n\u202e", "server"], "No such option"),
    ],
)
def test_wrong_usage(run: Run, given: Given, arguments: list[str], words: str) -> None:
    """It is said in one line, and nothing is done."""
    assert words in said_of(run("proxy", *arguments))
    assert [] == given


def test_a_secret_in_a_wrong_header(run: Run, given: Given) -> None:
    """It is not repeated."""
    line = said_of(run("proxy", "--url", URL, "--header", "Authorization Bearer hunter2"))

    assert "NAME: VALUE" in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("url", "front"),
    [(URL, ()), (URL, ("--transport", "streamable-http")), ("http://127.0.0.1:9/sse", ())],
)
def test_a_header_for_clients_that_send_their_own(
    run: Run, given: Given, url: str, front: tuple[str, ...]
) -> None:
    """Where exchanges pass as they are nothing is added to them, and that is said."""
    listen = ["--listen", "127.0.0.1:0", *front]
    line = said_of(run("proxy", "--url", url, *listen, "--header", "X-Key: x"))

    assert "--header is not for clients of the server's own transport" in line
    assert [] == given
    assert 7 == run("proxy", "--url", URL, *listen[:2], "--transport", "sse", "--header", "X: y")[0]
