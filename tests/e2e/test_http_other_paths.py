"""What is not MCP's passes by, on its way to other paths: discovery, authorization, icons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import UNSET

from tests.support.http_caller import asks
from tests.support.http_upstream import Asked, Reply, upstream
from tests.support.processes import whole_take

from .http_processes import recording

pytestmark = pytest.mark.e2e

SECRETS = [
    "code-f00dfeedf00dfeed",
    "verifier-f00dfeedf00d",
    "client-secret-f00dfeed",
    "refresh-f00dfeedf00dfe",
    "access-f00dfeedf00dfee",
    "state-f00dfeedf00dfeed",
]
CODE, VERIFIER, CLIENT_SECRET, REFRESH, ACCESS, STATE = SECRETS
FORM = (
    f"grant_type=authorization_code&code={CODE}&code_verifier={VERIFIER}"
    f"&client_secret={CLIENT_SECRET}"
).encode()
TOKENS = json.dumps({"access_token": ACCESS, "refresh_token": REFRESH, "expires_in": 1}).encode()
METADATA = b'{"resource":"https://mcp.example/mcp"}'


async def authorizes(asked: Asked, reply: Reply) -> None:
    """A script: what an authorization server says."""
    match asked.method, asked.target.partition("?")[0]:
        case "POST", "/token":
            await reply.whole(TOKENS if asked.body == FORM else b"", set_cookie=f"sid={ACCESS}")
        case "GET", "/authorize":
            where = f"http://localhost:1/callback?code={CODE}&state={STATE}"
            await reply.whole(b"moved", 302, "text/html", location=where)
        case "GET", _ if asked.target.startswith("/.well-known/"):
            await reply.whole(METADATA)
        case _:
            await reply.whole(b"<p>what?", 404, "text/html")


async def test_what_is_not_mcp_passes_by(tmp_path: Path) -> None:
    """Discovery and OAuth pass through to the byte, and of each the cassette has the two heads,
    without bodies and without secrets.
    """
    cassette = tmp_path / "a.jsonl"
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    async with upstream(authorizes) as server:
        with recording(cassette, server.url) as recorder:
            metadata = await asks(recorder.url, "GET", "/.well-known/oauth-protected-resource/mcp")
            page = await asks(recorder.url, "GET", f"/authorize?state={STATE}&code_challenge=x")
            tokens = await asks(recorder.url, "POST", "/token", form, FORM)
            missing = await asks(recorder.url, "GET", "/favicon.ico")
    kept = cassette.read_bytes()
    events = whole_take(cassette).events

    assert (metadata.status, metadata.body) == (200, METADATA)
    assert (page.status, page.header("location")) == (
        302,
        f"http://localhost:1/callback?code={CODE}&state={STATE}",
    )
    assert (tokens.body, tokens.header("set-cookie")) == (TOKENS, f"sid={ACCESS}")
    assert (missing.status, missing.body) == (404, b"<p>what?")
    assert server.asked[2].body == FORM
    assert [secret for secret in SECRETS if secret.encode() in kept] == []
    assert len([event for event in events if event.http is not UNSET]) == 8
    assert [event for event in events if event.body is not UNSET or event.payload] == []
    assert {event.s for event in events} == {1}
