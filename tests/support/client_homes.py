"""Homes of users with the configuration files of MCP clients, in the shapes that they really have:
old and new, with comments, other line ends, a byte order mark, variables, spaces, links.

In each file the server `weather` is `cat`: what a client says to it comes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from mcpmock.client_config.clients import Machine


@attrs.frozen
class ClientHome:
    """A configuration file of a client. `variables` is what the client puts in place of what, in
    the command line of a server; `app` clients start servers in `/` with a poor environment.
    """

    client: str
    path: str
    text: str
    platform: str = "linux"
    scope: str = "user"
    variables: Mapping[str, str] = attrs.field(factory=dict)
    linked: bool = False
    """The file is a link to one elsewhere, as stow and chezmoi make them."""
    shape: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, [self.client, self.platform, self.scope, self.shape]))

    def make(self, home: Path) -> tuple[Machine, Path]:
        """The machine of a user of this folder, who works in a project below it."""
        root = home / "work/project"
        (root / ".git").mkdir(parents=True)
        environment = {
            "APPDATA": str(home / "AppData/Roaming"),
            "LOCALAPPDATA": str(home / "AppData/Local"),
        }
        machine = Machine(self.platform, home, environment, root)
        path = (root if self.scope == "project" else home) / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        target = home / "dotfiles/config" if self.linked else path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.text.encode())
        target.chmod(0o640)
        if self.linked:
            path.symlink_to(target)
        return machine, path


_PLAIN = """{
  "mcpServers": {
    "weather": {
      "command": "cat",
      "args": ["-u"],
      "env": {"WEATHER_API_KEY": "sesame-open"}
    },
    "remote": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer abc"}}
  }
}
"""


def _indented(servers: str, extra: str = "") -> str:
    return f'{{\n  {extra}"mcpServers": {{\n    "weather": {servers}\n  }}\n}}\n'


CLIENT_HOMES = (
    ClientHome("claude-desktop", ".config/Claude/claude_desktop_config.json", _PLAIN),
    ClientHome(
        "claude-desktop",
        "Library/Application Support/Claude/claude_desktop_config.json",
        _indented('{"command": "cat", "args": ["-u", "-"]}', '"globalShortcut": "",\n  '),
        platform="macos",
    ),
    ClientHome(
        "claude-desktop",
        "AppData/Roaming/Claude/claude_desktop_config.json",
        _PLAIN.replace("\n", "\r\n"),
        platform="windows",
    ),
    ClientHome(
        "claude-desktop",
        "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/"
        "claude_desktop_config.json",
        "\ufeff" + _PLAIN.replace("\n", "\r\n"),
        platform="windows",
        shape="msix",
    ),
    ClientHome(
        "claude-code",
        ".mcp.json",
        _indented(
            '{\n      "type": "stdio",\n      "command": "${CAT:-cat}",\n      "args": [],\n'
            '      "env": {\n        "KEY": "${KEY}"\n      }\n    }'
        ),
        scope="project",
        variables={"${CAT:-cat}": "cat"},
    ),
    ClientHome(
        "cursor",
        ".cursor/mcp.json",
        _indented('{"command": "cat", "args": ["${userHome}/a b.txt", "-"], "envFile": ".env"}'),
        variables={"${userHome}/a b.txt": "/dev/null"},
    ),
    ClientHome("cursor", ".cursor/mcp.json", _indented('{"command": "cat"}'), scope="project"),
    ClientHome(
        "vscode",
        ".vscode/mcp.json",
        """{
\t// What VS Code asks for, once.
\t"inputs": [
\t\t{"type": "promptString", "id": "key", "description": "API Key", "password": true},
\t],
\t"servers": {
\t\t"weather": {
\t\t\t"type": "stdio",
\t\t\t"command": "cat", // not npx
\t\t\t"args": [
\t\t\t\t"-u",
\t\t\t\t/* where it is */ "${workspaceFolder}/my notes.txt",
\t\t\t\t"-",
\t\t\t],
\t\t\t"env": {"KEY": "${input:key}"},
\t\t\t"dev": {"watch": "src/**"},
\t\t},
\t\t"remote": {
\t\t\t"type": "http",
\t\t\t"url": "https://example.com/${input:org}/mcp", // whose
\t\t\t"headers": {
\t\t\t\t/* asked for */ "Authorization": "Bearer ${input:key}",
\t\t\t\t"X-Org": "abc",
\t\t\t},
\t\t},
\t},
}
""",
        scope="project",
        variables={"${workspaceFolder}/my notes.txt": "/dev/null"},
    ),
    ClientHome(
        "vscode",
        ".config/Code/User/profiles/-7d9a/mcp.json",
        '{"servers": {"weather": {"type": "stdio", "command": "cat", "sandboxEnabled": true}}}',
        shape="profile",
    ),
    ClientHome(
        "vscode",
        "AppData/Roaming/Code/User/mcp.json",
        '{\r\n\t"servers": {\r\n\t\t"weather": {\r\n\t\t\t"command": "cat"\r\n\t\t}\r\n\t}\r\n}',
        platform="windows",
    ),
    ClientHome(
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        _indented(
            '{"command": "cat", "args": ["-u"], "env": {"K": "${env:K}"}, "disabledTools": ["x"]}'
        ),
    ),
    ClientHome(
        "zed",
        ".config/zed/settings.json",
        """// Zed settings
{
  "theme": "One Dark", // of the dark kind
  "context_servers": {
    "weather": {
      "source": "custom",
      "command": "cat",
      "args": [],
      "env": {},
    },
    "mcp-server-context7": { "source": "extension", "enabled": true, "settings": {} },
  },
}
""",
        linked=True,
    ),
    ClientHome(
        "zed",
        ".config/zed/settings.json",
        '{"context_servers": {"weather": {"command": '
        '{"path": "cat", "args": ["-u"], "env": {"A": "1"}}, "settings": {}}}}',
        platform="macos",
        shape="old",
    ),
    ClientHome(
        "zed",
        ".zed/settings.json",
        '{"context_servers": {"weather": {"command": {"path": "cat"}}}}',
        scope="project",
        shape="old",
    ),
    ClientHome(
        "codex",
        ".codex/config.toml",
        """model = "gpt-5" # the large one
approval_policy = 'on-request'

[mcp_servers.weather]
command = "cat"
args = [
    "-u", # at once
    "-",
]
startup_timeout_sec = 20

[mcp_servers.weather.env]
WEATHER_API_KEY = "sesame-open"

[mcp_servers.remote]
url = "https://example.com/mcp"
bearer_token_env_var = "TOKEN"

[projects."/home/ada/work"]
trust_level = "trusted"
""",
    ),
    ClientHome(
        "codex",
        ".codex/config.toml",
        '[mcp_servers]\r\nweather = { command = "cat", env = { A = "1" } } # inline\r\n'
        'remote = { url = "https://example.com/mcp", http_headers = { X-Key = "abc" } }\r\n',
        scope="project",
        shape="inline",
    ),
    ClientHome(
        "codex",
        ".codex/fast.config.toml",
        'mcp_servers.weather.command = """cat"""\nmodel = "o4"\n\n[mcp_servers.remote]\n'
        'url = "https://example.com/mcp?api_key=abc-sesame"\n\n[mcp_servers.remote.http_headers]\n'
        'X-Org = "abc" # whose\n',
        shape="dotted",
    ),
    ClientHome(
        "gemini",
        ".gemini/settings.json",
        '{\n  // my settings\n  "selectedAuthType": "oauth",\n  "mcpServers": {\n    "weather": {\n'
        '      "command": "cat",\n      "args": ["-u"],\n      "env": {"KEY": "$KEY"},\n'
        '      "cwd": "/",\n      "timeout": 15000,\n      "trust": true\n    },\n'
        '    "remote": {"httpUrl": "https://example.com/mcp"}\n  }\n}\n',
    ),
    ClientHome("gemini", ".gemini/settings.json", _PLAIN, scope="project"),
    ClientHome(
        "opencode",
        ".config/opencode/opencode.jsonc",
        '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    // local\n'
        '    "weather": {\n      "type": "local",\n      "command": ["cat", "-u"],\n'
        '      "environment": {"KEY": "{env:KEY}"},\n      "enabled": true,\n    },\n'
        '    "remote": {"type": "remote", "url": "https://example.com/mcp",\n'
        '      "headers": {"Authorization": "Bearer {env:KEY}", "X": "abc"}},\n  },\n}\n',
    ),
    ClientHome(
        "opencode",
        ".agents/mcp.json",
        '{"weather": {"type": "local", "command": ["cat"]}}\n',
        scope="project",
        shape="bare",
    ),
    ClientHome(
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        _indented('{"command": "cat", "args": ["-u"], "alwaysAllow": ["get"], "disabled": false}'),
    ),
    ClientHome("cline", ".cline/data/settings/cline_mcp_settings.json", _PLAIN, shape="cli"),
    ClientHome(
        "roo",
        ".roo/mcp.json",
        _indented('{"command": "cat", "args": ["-u", "${env:NOTES}", "-"], "cwd": "."}'),
        scope="project",
        variables={"${env:NOTES}": "/dev/null"},
    ),
    ClientHome("lmstudio", ".lmstudio/mcp.json", _PLAIN),
    ClientHome("junie", ".junie/mcp/mcp.json", _PLAIN),
    ClientHome("warp", ".warp/.mcp.json", _PLAIN, scope="project"),
    ClientHome(
        "kiro",
        ".kiro/settings/mcp.json",
        _indented('{"command": "cat", "args": [], "disabled": false, "autoApprove": ["*"]}'),
    ),
    ClientHome(
        "antigravity",
        ".gemini/config/mcp_config.json",
        '{"mcpServers":{"remote":{"serverUrl":"https://example.com/mcp"},'
        '"weather":{"command":"cat","args":["-u"]}}}',
    ),
    ClientHome(
        "copilot",
        ".copilot/mcp-config.json",
        _indented('{"type": "local", "command": "cat", "args": ["-u"], "tools": ["*"]}'),
    ),
    ClientHome("copilot", ".github/mcp.json", _PLAIN, scope="project"),
    ClientHome("qwen", ".qwen/settings.json", _PLAIN),
)
