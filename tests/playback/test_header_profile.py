"""What of a request head counts."""

from __future__ import annotations

import pytest

from mcpmock.playback.header_profile import Fingerprint, at, fingerprint, session_parameter
from mcpmock.protocol.messages import HttpRequest


def of(*headers: tuple[str, str], method: str = "POST", with_path: bool = False) -> Fingerprint:
    return fingerprint(HttpRequest(method, "/mcp?x=1", list(headers)), with_path=with_path)


def test_what_counts() -> None:
    """Fields of MCP, what is accepted and sent, and whether there is a session; nothing else."""
    found = of(
        ("MCP-Protocol-Version", " 2025-11-25 "),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Param-Region", "eu"),
        ("Accept", "text/event-stream , Application/JSON"),
        ("Content-Type", "application/json; charset=utf-8"),
        ("Mcp-Session-Id", "secret"),
        ("Last-Event-ID", "5"),
        ("User-Agent", "x"),
        ("Authorization", "Bearer x"),
        ("Content-Length", "5"),
    )

    assert {
        "method": "POST",
        "endpoint": "/mcp",
        "host": "own",
        "origin": "absent",
        "mcp-protocol-version": "2025-11-25",
        "mcp-method": "tools/call",
        "mcp-param-region": "eu",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "authorization": "present",
        "mcp-session-id": "present",
        "last-event-id": "present",
    } == found


def test_a_head_without_host() -> None:
    """It is one of `drive`, which records requests before the channel adds it."""
    assert of(("Host", "127.0.0.1:8000")) == of()


def test_the_path() -> None:
    """It counts without its query, and of a message less: no level gives up where a GET goes."""
    alone, with_message = of(with_path=True), of()

    assert ("/mcp", None) == (alone["path"], with_message.get("path"))
    assert ("/mcp", None) == (with_message["endpoint"], alone.get("endpoint"))
    assert [True, False] == ["path" in at(alone, 3), "endpoint" in at(with_message, 3)]


@pytest.mark.parametrize("name", ["session_id", "sessionId", "SID"])
def test_a_session_in_the_query(name: str) -> None:
    """That there is one counts, not which."""
    head = HttpRequest("POST", f"/messages?a=1&{name}=5", [])

    assert "5" == session_parameter(head)
    assert "present" == fingerprint(head, with_path=False)["session-parameter"]
    assert "session-parameter" not in of()


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8000", "own"),
        ("127.9.9.9", "own"),
        ("localhost:1", "own"),
        ("LOCALHOST", "own"),
        ("[::1]:8000", "own"),
        ("localhost.evil.example", "foreign"),
        ("127.0.0.1.evil.example", "foreign"),
        ("10.0.0.1", "foreign"),
        ("", "foreign"),
        ("[::1", "foreign"),
    ],
)
def test_the_class_of_a_host(host: str, expected: str) -> None:
    """A loopback authority is our own, whatever its port."""
    assert expected == of(("Host", host))["host"]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:5", "own"),
        ("https://[::1]", "own"),
        ("null", "foreign"),
        ("x:y", "foreign"),
    ],
)
def test_the_class_of_an_origin(origin: str, expected: str) -> None:
    """The same of an origin."""
    assert expected == of(("Origin", origin))["origin"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("=?base64?w7w=?=", "ü"), ("=?base64?x?=", "=?base64?x?="), ("plain", "plain")],
)
def test_wrapped_values(value: str, expected: str) -> None:
    """What is not ASCII counts as the body has it."""
    assert expected == of(("Mcp-Name", value))["mcp-name"]


def test_tiers() -> None:
    """First the version is given up, then all but what protects a server."""
    found = of(
        ("Mcp-Protocol-Version", "v"), ("Accept", "a/a"), ("Content-Type", "b/b"), ("Host", "x")
    )

    assert found == at(found, 0) == at(found, 1)
    assert {"mcp-protocol-version"} == found.keys() - at(found, 2).keys()
    assert {"method", "host", "content-type"} == at(found, 3).keys()


def test_a_get_has_no_content() -> None:
    """What a GET says of its content is given up too."""
    assert "content-type" not in at(of(("Content-Type", "b/b"), method="GET"), 3)
