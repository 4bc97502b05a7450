"""A recorder in the place of a remote server, and out of it again, where somebody changed the entry
meanwhile. `test_homes` has the files of clients, `test_edit` generated ones.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.client_config.document import ConfigError
from mcpmock.client_config.edit import parse_config, servers_of
from mcpmock.client_config.remote import unwrap_remote, wrap_remote

KEYS = ("mcpServers",)
ENTRY = {"type": "http", "url": "https://a.example/mcp", "headers": {"X-Key": "v", "X-Org": "o"}}


def text_of(entry: dict[str, Any]) -> str:
    return json.dumps({"mcpServers": {"r": entry}}, indent=2)


def entry_in(text: str, file: str = "c.json", keys: tuple[str, ...] = KEYS) -> dict[str, Any]:
    return servers_of(parse_config(file, text), keys)["r"].value


def test_what_somebody_else_changed() -> None:
    """It stays, and what was replaced is as it was."""
    change = wrap_remote(
        parse_config("c.json", text_of(ENTRY)), KEYS, "r", ["mcpmock"], "x/", login=False
    )
    wrapped = entry_in(change.document.text)
    wrapped["env"]["OWN"] = "1"
    edited = text_of({"disabled": True, **wrapped})
    restored = unwrap_remote(parse_config("c.json", edited), KEYS, "r", change.pieces)

    assert {**ENTRY, "disabled": True, "env": {"OWN": "1"}} == entry_in(restored.text)


def test_variables_of_the_client() -> None:
    """Codex names variables for headers, and passes none of them on by itself."""
    keys, file = ("mcp_servers",), "c.toml"
    before = '[mcp_servers.r]\nurl = "https://a"\nenv_http_headers = { "X-Key" = "KEY" } # mine\n'
    change = wrap_remote(parse_config(file, before), keys, "r", ["mcpmock"], "x/", login=False)
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
