"""The table of MCP clients: their configuration files, and what makes them read one again.

It is data that gets old: each row has the date when it was checked, and where. A client that is not
here is reached by naming its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

Keys = tuple[str, ...]
"""The path from the top of a file to the object that holds the servers."""

MCP_SERVERS: Keys = ("mcpServers",)
ALL_KEYS: tuple[Keys, ...] = (
    MCP_SERVERS, ("servers",), ("context_servers",), ("mcp_servers",), ("mcp", "servers"), ("mcp",),
)  # fmt: skip
"""Where the servers of any client are: how a file that is in no table is read."""
LIVE_STATE = ".claude.json"
"""Claude Code keeps its whole state there, and every running session rewrites it: what is written
between its reading and its writing is lost, and a half-read file resets it (claude-code#28922,
#29217). Never written by us.
"""
USER, PROJECT, LOCAL = "user", "project", "local"
"""The scopes: of a user, of a folder and committed with it, of a user in a folder."""


@attrs.frozen(kw_only=True)
class KnownClient:
    """A client. Each place is a path below a root, such as `{home}/.cursor/mcp.json`; `windows:`
    and the like before it restrict it to a system, and it may have a `*`.
    """

    id: str
    title: str
    user: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    keys: Keys = MCP_SERVERS
    url_name: str = "url"
    """The member with the URL of a remote server whose transport is not named."""
    plain_url: str | None = None
    """The transport that `url` stands for in a server without a type, if it is always the same."""
    restart: str
    """What makes it read a changed file: an order to the user."""
    approval: str = ""
    """Which approval hangs on the entry that is changed, if any."""
    one_list: bool = False
    """Whether the whole command line is one list."""
    members: tuple[tuple[str, Any], ...] = ()
    """What its entries have besides a command."""
    checked: str = "2026-11-22"
    source: str


@attrs.frozen
class ConfigFile:
    """A place where clients look for servers. The same file may be read by several clients."""

    path: Path
    clients: tuple[str, ...]
    scope: str
    keys: Keys
    below: str = ""
    """A glob; then the files are those below `path`, which is a folder."""


@attrs.frozen
class Machine:
    """What decides where the files are. `platform` is `linux`, `macos` or `windows`; `root` is the
    folder of the project, or the home of the user or the like (`has_project`).
    """

    platform: str
    home: Path
    environment: Mapping[str, str]
    root: Path
    has_project: bool = True

    def folder(self, variable: str, default: Path) -> Path:
        """Return the folder that a variable of the environment names. As the XDG specification
        says, one that is not absolute is ignored.
        """
        named = Path(self.environment.get(variable, ""))
        return named if named.is_absolute() else default

    @property
    def data(self) -> Path:
        """Where programs of this user keep data."""
        if self.platform == "macos":
            return self.home / "Library/Application Support"
        if self.platform == "windows":
            return self.folder("LOCALAPPDATA", self.home / "AppData/Local")
        return self.folder("XDG_DATA_HOME", self.home / ".local/share")

    @property
    def roots(self) -> dict[str, Path]:
        """By the names that the table uses. `app` is where graphical programs keep settings."""
        home = self.home
        config = self.folder("XDG_CONFIG_HOME", home / ".config")
        appdata = self.folder("APPDATA", home / "AppData/Roaming")
        app = {"macos": home / "Library/Application Support", "windows": appdata}
        return {
            "home": home,
            "config": config,
            "app": app.get(self.platform, config),
            "appdata": appdata,
            "localappdata": self.folder("LOCALAPPDATA", home / "AppData/Local"),
            "claude": self.folder("CLAUDE_CONFIG_DIR", home),
            "codex": self.folder("CODEX_HOME", home / ".codex"),
        }


_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


def _extension(name: str, file: str) -> tuple[str, ...]:
    """Return the file that an extension keeps in each editor."""
    return tuple(f"{{app}}/{editor}/User/globalStorage/{name}/{file}" for editor in _EDITORS)


CLIENTS = (
    KnownClient(
        id="claude-code",
        title="Claude Code",
        user=(f"{{claude}}/{LIVE_STATE}",),
        project=(".mcp.json",),
        restart="start a new session of claude",
        # What a user has approved of a project is approved by its name: a changed command is not
        # asked about.
        source="claude 2.1.330, tried; agent-scan claude_code.py",
        checked="2026-11-23",
    ),
    KnownClient(
        id="claude-desktop",
        title="Claude Desktop",
        user=(
            # Since 2026-02 the packaged (MSIX) app on Windows reads a copy of its own, and the file
            # that its own "Edit Config" opens is not that one (claude-code#26073).
            "windows:{localappdata}/Packages/Claude_*/LocalCache/Roaming/Claude/"
            "claude_desktop_config.json",
            "{app}/Claude/claude_desktop_config.json",
        ),
        restart="quit Claude Desktop, also in the tray, and start it again",
        source="modelcontextprotocol.io debugging; claude-code#26073",
    ),
    KnownClient(
        id="cursor",
        title="Cursor",
        user=("{home}/.cursor/mcp.json",),
        project=(".cursor/mcp.json", ".mcp.json"),
        restart="switch the server off and on in Cursor's settings, or reload the window",
        source="agent-scan cursor.py",
    ),
    KnownClient(
        id="vscode",
        title="VS Code",
        user=tuple(
            f"{{app}}/{editor}/User/{place}mcp.json"
            for editor in _EDITORS[:3]
            for place in ("", "profiles/*/")
        ),
        project=(".vscode/mcp.json",),
        keys=("servers",),
        members=(("type", "stdio"),),
        restart="run `MCP: List Servers` in VS Code and restart the server",
        approval="VS Code asks again whether the changed server is trusted",
        source="vscode-docs reference/mcp-configuration.md",
    ),
    KnownClient(
        id="windsurf",
        title="Windsurf",
        user=("{home}/.codeium/windsurf/mcp_config.json", "{home}/.codeium/mcp_config.json"),
        url_name="serverUrl",
        restart="press the refresh button of Windsurf's MCP servers",
        approval="the allow-list of a team matches commands: the changed one may be refused",
        source="docs.windsurf.com cascade/mcp",
    ),
    KnownClient(
        id="zed",
        title="Zed",
        user=(
            "linux:{config}/zed/settings.json",
            "linux:{home}/.var/app/dev.zed.Zed/config/zed/settings.json",
            "macos:{home}/.config/zed/settings.json",
            "windows:{appdata}/Zed/settings.json",
        ),
        project=(".zed/settings.json",),
        keys=("context_servers",),
        restart="Zed starts the server again when the file is saved",
        source="zed crates/paths/src/paths.rs, docs/src/ai/mcp.md",
    ),
    KnownClient(
        id="codex",
        title="Codex",
        user=("{codex}/config.toml", "{codex}/*.config.toml"),
        project=(".codex/config.toml",),
        keys=("mcp_servers",),
        restart="start a new session of codex",
        source="codex 0.169.0, tried; codex-rs config mcp_types",
        checked="2026-11-23",
    ),
    KnownClient(
        id="gemini",
        title="Gemini CLI",
        user=("{home}/.gemini/settings.json",),
        project=(".gemini/settings.json",),
        restart="run `/mcp reload` in gemini, or start it again",
        source="gemini 0.61.0, tried; gemini-cli docs/tools/mcp-server.md",
        checked="2026-11-23",
    ),
    KnownClient(
        id="opencode",
        title="opencode",
        user=(
            "{config}/opencode/opencode.json",
            "{config}/opencode/opencode.jsonc",
            "{home}/.opencode/opencode.json",
            "{home}/.agents/mcp.json",
        ),
        project=("opencode.json", "opencode.jsonc", ".agents/mcp.json"),
        keys=("mcp",),
        one_list=True,
        members=(("type", "local"),),
        restart="start opencode again",
        approval="opencode may ask to approve a changed server of a project",
        source="opencode 1.18.33, tried; opencode docs/mcp-servers.mdx",
        checked="2026-11-23",
    ),
    KnownClient(
        id="cline",
        title="Cline",
        user=(
            *_extension("saoudrizwan.claude-dev", "settings/cline_mcp_settings.json"),
            "{home}/.cline/data/settings/cline_mcp_settings.json",
        ),
        restart="press the restart button of the server in Cline",
        source="cline docs; add-mcp 2.4.0",
    ),
    KnownClient(
        id="roo",
        title="Roo Code",
        user=_extension("rooveterinaryinc.roo-cline", "settings/mcp_settings.json"),
        project=(".roo/mcp.json",),
        restart="press the restart button of the server in Roo Code",
        source="Roo-Code-Docs using-mcp-in-roo",
    ),
    KnownClient(
        id="lmstudio",
        title="LM Studio",
        user=("{home}/.lmstudio/mcp.json",),
        restart="switch the server off and on in LM Studio",
        source="add-mcp 2.4.0",
    ),
    KnownClient(
        id="junie",
        title="Junie",
        user=("{home}/.junie/mcp/mcp.json",),
        project=(".junie/mcp/mcp.json",),
        restart="restart the IDE, or the server in Junie's settings",
        source="add-mcp 2.4.0",
    ),
    KnownClient(
        id="warp",
        title="Warp",
        user=("{home}/.warp/.mcp.json",),
        project=(".warp/.mcp.json",),
        restart="restart the server in Warp's settings",
        source="warpdotdev/warp, 2026-08",
    ),
    KnownClient(
        id="kiro",
        title="Kiro",
        user=("{home}/.kiro/settings/mcp.json",),
        project=(".kiro/settings/mcp.json",),
        restart="Kiro starts the server again when the file is saved",
        source="kiro.dev",
    ),
    KnownClient(
        id="antigravity",
        title="Antigravity",
        user=(
            "{home}/.gemini/config/mcp_config.json",
            "{home}/.gemini/antigravity/mcp_config.json",
        ),
        url_name="serverUrl",
        restart="press the refresh button of Antigravity's MCP servers",
        source="agent-scan; add-mcp 2.4.0",
    ),
    KnownClient(
        id="copilot",
        title="Copilot CLI",
        user=("{home}/.copilot/mcp-config.json",),
        project=(".mcp.json", ".github/mcp.json"),
        members=(("type", "local"), ("tools", ["*"])),
        restart="start copilot again",
        source="copilot 1.0.102, tried; agent-scan",
        checked="2026-11-23",
    ),
    KnownClient(
        id="qwen",
        title="Qwen Code",
        user=("{home}/.qwen/settings.json",),
        project=(".qwen/settings.json", ".mcp.json"),
        plain_url="sse",
        restart="start qwen again",
        approval="qwen's approval is bound to the entry: approve the changed server again",
        source="qwen 0.24.4, tried",
        checked="2026-11-23",
    ),
)
BY_ID = {client.id: client for client in CLIENTS}
_BARE = Path(".agents/mcp.json")
"""A file without anything around the servers."""


def config_files(
    machine: Machine, clients: Sequence[KnownClient] = CLIENTS
) -> Iterator[ConfigFile]:
    """Yield every place where one of these clients looks on this machine, whether there is a file
    or not.
    """
    found: dict[tuple[Path, str, Keys], ConfigFile] = {}
    for client in clients:
        for scope, places in ((USER, client.user), (PROJECT, client.project)):
            for place in places:
                resolved = _resolve(place, machine, scope)
                if resolved is None:
                    continue
                path, below = resolved
                keys = () if path.match(str(_BARE)) else client.keys
                # In the home of a user, a file of the project is that of the user.
                owner = scope if machine.has_project else USER
                known = found.get((path, below, keys), ConfigFile(path, (), owner, keys, below))
                others = tuple(other for other in known.clients if other != client.id)
                found[path, below, keys] = attrs.evolve(known, clients=(*others, client.id))
                if path.name == LIVE_STATE:
                    here = ("projects", str(machine.root), *MCP_SERVERS)
                    found[path, below, here] = ConfigFile(path, (client.id,), LOCAL, here)
    yield from found.values()


def _resolve(place: str, machine: Machine, scope: str) -> tuple[Path, str] | None:
    """Return a path, or a folder and a glob below it; None on other systems."""
    platform, colon, rest = place.partition(":")
    if colon and platform != machine.platform:
        return None
    template = rest if colon else place
    if scope == PROJECT:
        return machine.root / template, ""
    root, _, below = template.partition("/")
    folder = machine.roots[root[1:-1]]
    return (folder, below) if "*" in below else (folder / below, "")
