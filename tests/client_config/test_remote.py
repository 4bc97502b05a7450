"""A recorder in the place of a remote server, and out of it again, where somebody changed the entry
meanwhile. `test_homes` has the files of clients, `test_edit` generated ones.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.client_config.document import ConfigError
from mcpmock.client_config.edit import parse_config, servers_of
from mcpmock.client_config.entry import RecorderWords
from mcpmock.client_config.remote import CannotRecord, unwrap_remote, wrap_remote

KEYS = ("mcpServers",)
RECORDER = RecorderWords(["mcpmock"], "x/")
ENTRY = {"type": "http", "url": "https://a.example/mcp", "headers": {"X-Key": "v", "X-Org": "o"}}


def text_of(entry: dict[str, Any]) -> str:
    return json.dumps({"mcpServers": {"r": entry}}, indent=2)


def entry_in(text: str, file: str = "c.json", keys: tuple[str, ...] = KEYS) -> dict[str, Any]:
    return servers_of(parse_config(file, text), keys)["r"].value


def test_what_somebody_else_changed() -> None:
    """It stays, and what was replaced is as it was."""
    change = wrap_remote(
        parse_config("c.json", text_of(ENTRY)),
        KEYS,
        "r",
        RECORDER,
        login=False,
    )
    wrapped = entry_in(change.document.text)
    wrapped["env"]["OWN"] = "1"
    edited = text_of({"disabled": True, **wrapped})
    restored = unwrap_remote(parse_config("c.json", edited), KEYS, "r", change.pieces)

    assert {**ENTRY, "disabled": True, "env": {"OWN": "1"}} == entry_in(restored.text)


URL = "https://a.example/mcp"


@pytest.mark.parametrize(
    ("entry", "plain", "transport", "kinds"),
    [
        # As clients name them: Claude Code, Cursor, Windsurf, Gemini, Qwen, Goose.
        ({"type": "http", "url": URL}, None, "streamable-http", {"type": "stdio"}),
        ({"type": "sse", "url": URL}, None, "sse", {"type": "stdio"}),
        ({"url": URL}, None, None, {}),
        ({"serverUrl": URL}, "sse", None, {}),
        ({"httpUrl": URL}, "sse", "streamable-http", {}),
        ({"url": URL}, "sse", "sse", {}),
        ({"url": URL, "type": "http"}, "sse", "streamable-http", {"type": "stdio"}),
        ({"url": URL, "type": "sse"}, "sse", "sse", {"type": "stdio"}),
        ({"uri": URL, "type": "streamable_http"}, None, "streamable-http", {"type": "stdio"}),
        # Cline, Roo, opencode; frameworks, whose word is `transport`; settings of before.
        ({"type": "streamableHttp", "url": URL}, None, "streamable-http", {"type": "stdio"}),
        ({"url": URL, "type": "streamable-http"}, None, "streamable-http", {"type": "stdio"}),
        ({"type": "StreamableHTTP", "url": URL}, None, "streamable-http", {"type": "stdio"}),
        ({"transport": "http", "url": URL}, None, "streamable-http", {"transport": "stdio"}),
        (
            {"url": URL, "transport": "streamable_http"},
            *(None, "streamable-http", {"transport": "stdio"}),
        ),
        ({"url": URL, "transport": "sse"}, None, "sse", {"transport": "stdio"}),
        ({"url": URL, "transportType": "sse"}, None, "sse", {"transportType": "stdio"}),
        ({"type": "remote", "url": URL}, None, None, {"type": "local"}),
        ({"type": None, "url": URL}, None, None, {"type": None}),
    ],
)
def test_names_of_the_url_and_of_the_transport(
    entry: dict[str, Any], plain: str | None, transport: str | None, kinds: dict[str, Any]
) -> None:
    """The proxy speaks what the client would, the entry is one of stdio; `unwrap` gives it back,
    also if the client has written the file in its own way meanwhile.
    """
    before = parse_config("c.json", text_of({**entry, "headers": {"X-Org": "o"}}))
    change = wrap_remote(before, KEYS, "r", RECORDER, login=False, plain_url=plain)
    wrapped = entry_in(change.document.text)
    whole = isinstance(wrapped["command"], list)
    words = wrapped["command"] if whole else wrapped["args"]
    told = words[words.index("--url-transport") + 1] if "--url-transport" in words else None

    assert transport == told
    assert kinds == {name: wrapped[name] for name in kinds}
    assert {*entry} - {"url", "serverUrl", "httpUrl", "uri"} == {*kinds}
    assert before.text == unwrap_remote(change.document, KEYS, "r", change.pieces).text
    written = parse_config("c.json", json.dumps({"mcpServers": {"r": wrapped}}))
    name = "serverUrl" if "serverUrl" in entry else "uri" if "uri" in entry else "url"
    restored = unwrap_remote(written, KEYS, "r", change.pieces, name)
    again = entry_in(restored.text)
    assert URL == next(again[one] for one in (name, "httpUrl") if one in again)
    assert {name: entry[name] for name in kinds} == {name: again[name] for name in kinds}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"url": URL, "httpUrl": URL}, "r in c.json has `url` and `httpUrl`; clients differ"),
        ({"serverUrl": URL, "url": URL}, "r in c.json has `url` and `serverUrl`; clients differ"),
        ({"url": URL, "authProviderType": "google_credentials"}, "has `authProviderType`, which"),
        ({"url": "ws://a.example/mcp"}, "ws://a.example/mcp"),
    ],
)
def test_what_no_recorder_takes_over(entry: dict[str, Any], message: str) -> None:
    document = parse_config("c.json", text_of(entry))

    with pytest.raises(CannotRecord) as caught:
        wrap_remote(document, KEYS, "r", RECORDER, login=False)
    assert message in str(caught.value)


def test_variables_of_the_client() -> None:
    """Codex names variables for headers, and passes none of them on by itself."""
    keys, file = ("mcp_servers",), "c.toml"
    before = '[mcp_servers.r]\nurl = "https://a"\nenv_http_headers = { "X-Key" = "KEY" } # mine\n'
    change = wrap_remote(parse_config(file, before), keys, "r", RECORDER, login=False)
    new = change.document

    assert ["KEY"] == entry_in(new.text, file, keys)["env_vars"]
    assert "X-Key: KEY" in entry_in(new.text, file, keys)["args"]
    assert before == unwrap_remote(new, keys, "r", change.pieces).text
    rebuilt = unwrap_remote(new, keys, "r", None)
    assert entry_in(before, file, keys) == entry_in(rebuilt.text, file, keys)


def test_a_proxy_without_a_url() -> None:
    """What cannot be taken back stays."""
    entry = {"command": "mcpmock", "args": ["proxy", "--record", "x", "--url-env", "NOWHERE"]}

    with pytest.raises(ConfigError, match="the command of r contains no URL"):
        unwrap_remote(parse_config("c.json", text_of(entry)), KEYS, "r", None)
