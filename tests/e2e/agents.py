"""Real agents, unchanged, whose model is a script: how each is configured and started.

An agent has a home of its own below the workdir, with one MCP server in its configuration, `files`:
as its users write it, so that `mcpmock wrap` finds it there.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .model_endpoint import MODEL
from .parts import PARTS, native_program

QUESTION = "Look at the files."
_NODE = PARTS / "clients" / "node_modules" / ".bin"
_FRAMEWORKS = Path(__file__).parent / "clients" / "frameworks.py"
AGENT_TIMEOUT_S = 120


@dataclass(frozen=True)
class Agent:
    """One agent: in which part it is, and what it is given, each made of the home and the URL of
    the model.
    """

    part: str
    command: Callable[[Path, str], Sequence[str]]
    config: str
    """The file in the home that names its MCP servers."""
    server: Callable[[dict[str, Any]], dict[str, Any]]
    """The content of that file, with this entry as the server `files`."""
    environment: Callable[[str], Mapping[str, str]] = lambda _model: {}
    remote: Callable[[str], dict[str, Any]] = lambda url: {"url": url}
    """The entry of a server with this URL."""


def _servers(entry: dict[str, Any]) -> dict[str, Any]:
    return {"mcpServers": {"files": entry}}


def _framework(name: str) -> Agent:
    def command(home: Path, model: str) -> Sequence[str]:
        entry = json.loads((home / "mcp.json").read_text("utf-8"))["mcpServers"]["files"]
        python = PARTS / "frameworks" / "bin" / "python"
        return [str(python), str(_FRAMEWORKS), name, model, json.dumps(entry)]

    return Agent("frameworks", command, "mcp.json", _servers)


FRAMEWORKS = ("pydantic_ai", "openai_agents", "langchain")
AGENTS: dict[str, Agent] = {
    **{name: _framework(name) for name in FRAMEWORKS},
    "claude": Agent(
        "clients",
        lambda home, _model: [
            *(native_program("@anthropic-ai/claude-code-linux-*/claude"), "-p", QUESTION),
            *("--mcp-config", str(home / "mcp.json"), "--strict-mcp-config"),
            *("--allowedTools", "mcp__files", "--model", MODEL),
        ],
        "mcp.json",
        _servers,
        lambda model: {
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
        },
        lambda url: {"type": "http", "url": url},
    ),
    "gemini": Agent(
        "clients",
        lambda _home, _model: [
            str(_NODE / "gemini"),
            "-p",
            QUESTION,
            "--yolo",
            "-m",
            "gemini-2.5-flash",
        ],
        ".gemini/settings.json",
        lambda entry: {**_servers(entry), "security": {"auth": {"selectedType": "gemini-api-key"}}},
        lambda model: {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": model,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        lambda url: {"url": url, "type": "http"},
    ),
    "qwen": Agent(
        "clients",
        lambda _home, _model: [str(_NODE / "qwen"), "-p", QUESTION, "--yolo"],
        ".qwen/settings.json",
        lambda entry: {
            **_servers(entry),
            "security": {"auth": {"selectedType": "openai"}},
            "tools": {"toolSearch": {"enabled": False}},
        },
        lambda model: {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{model}/v1",
            "OPENAI_MODEL": MODEL,
        },
        lambda url: {"httpUrl": url},
    ),
    "opencode": Agent(
        "clients",
        lambda _home, _model: [
            native_program("opencode-linux-x64/bin/opencode"),
            "run",
            "-m",
            f"scripted/{MODEL}",
            QUESTION,
        ],
        ".config/opencode/opencode.json",
        lambda entry: {
            "mcp": {
                "files": {"type": "local", "command": [entry["command"], *entry["args"]]}
                if "command" in entry
                else entry
            }
        },
        lambda model: {
            "OPENCODE_CONFIG_CONTENT": json.dumps(
                {
                    "provider": {
                        "scripted": {
                            "npm": "@ai-sdk/openai-compatible",
                            "options": {"baseURL": f"{model}/v1", "apiKey": "none"},
                            "models": {MODEL: {"tool_call": True}},
                        }
                    },
                    "permission": {"*": "allow"},
                }
            )
        },
        lambda url: {"type": "remote", "url": url},
    ),
    "copilot": Agent(
        "copilot",
        lambda _home, _model: [
            str(PARTS / "copilot/node_modules/.bin/copilot"),
            *("-p", QUESTION, "--allow-all-tools"),
        ],
        ".copilot/mcp-config.json",
        lambda entry: _servers({"tools": ["*"], **entry}),
        lambda model: {
            "COPILOT_PROVIDER_BASE_URL": f"{model}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": MODEL,
            "COPILOT_OFFLINE": "true",
        },
        lambda url: {"type": "http", "url": url},
    ),
    "codex": Agent(
        "clients",
        lambda _home, model: [
            *(str(_NODE / "codex"), "exec", "--skip-git-repo-check"),
            *("--dangerously-bypass-approvals-and-sandbox", "-m", MODEL),
            *("-c", 'model_provider="scripted"'),
            *(
                "-c",
                f'model_providers.scripted={{name="s",base_url="{model}/v1",wire_api="responses"}}',
            ),
            QUESTION,
        ],
        ".codex/config.toml",
        lambda entry: {"mcp_servers": {"files": {**entry, "required": True}}},
    ),
}


def configure(name: str, home: Path, entry: dict[str, Any]) -> Path:
    """Make the home of an agent, with this server in its configuration. Gives that file."""
    agent = AGENTS[name]
    file = home / agent.config
    file.parent.mkdir(parents=True, exist_ok=True)
    value = agent.server(entry)
    if file.suffix == ".toml":
        ((group, servers),) = value.items()
        lines = [f"{key} = {json.dumps(one)}" for key, one in servers["files"].items()]
        file.write_text("\n".join([f"[{group}.files]", *lines, ""]), "utf-8")
    else:
        file.write_text(json.dumps(value, indent=2), "utf-8")
    return file


def run_agent(name: str, home: Path, folder: Path, model: str) -> subprocess.CompletedProcess[str]:
    """Run an agent to its end, with the model at this URL."""
    agent = AGENTS[name]
    kept = ("PATH", "LANG", "TMPDIR", "MCPMOCK_E2E_TAG")
    environment = {one: os.environ[one] for one in kept if one in os.environ}
    return subprocess.run(
        [*agent.command(home, model)],
        cwd=folder,
        env={**environment, "HOME": str(home), "TERM": "dumb", **agent.environment(model)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=AGENT_TIMEOUT_S,
        check=False,
    )
