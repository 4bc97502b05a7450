"""`Launch`: a client that takes servers as options, started with a recorder in front of each: no
file of its configuration changes.

The options only replace the command of a server that the client would start anyway. They never
start one that the user has not approved: of a project, only what is approved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

import attrs
import msgspec

from mcpmock.errors import McpMockError

from .changes import ServerEdit, log_beside, plan_rewrap, plan_wrap, recording_path
from .clients import LOCAL, PROJECT, USER, Machine
from .edit import quote
from .entry import RecorderWords, ServerEntry
from .files import FoundServer, SideStore, newest_recording
from .remote import needs_login

CONFIG_FILE = "servers.json"
"""Below the temporary folder of a launch."""
_OPENCODE_VARIABLE = "OPENCODE_CONFIG_CONTENT"


class CannotLaunch(McpMockError):
    """The client takes no servers as options, or has none that can be recorded."""

    exit_code = 2


@attrs.frozen
class Launch:
    """How to start a client: its command line, variables that are added to the environment, and the
    text of the file `CONFIG_FILE`, if it needs one. `outputs` says where each server is recorded,
    `left` why others are not.
    """

    words: list[str]
    outputs: dict[str, str]
    left: dict[str, str] = attrs.field(factory=dict)
    environment: dict[str, str] = attrs.field(factory=dict)
    config: bytes = b""


@attrs.frozen
class _Start:
    """What a client is started with: its words, its servers as they are recorded, the folder for a
    file of this launch, the environment.
    """

    words: list[str]
    edits: dict[str, ServerEdit]
    temporary: Path
    environment: Mapping[str, str]


@attrs.frozen
class _Launcher:
    """How one client takes servers."""

    client: str
    scopes: tuple[str, ...]
    """Whose servers it starts, a later one in place of one of the same name."""
    asks: bool
    """Whether it asks before it starts a server of a project."""
    launch: Callable[[_Start], Launch]
    remote: bool = False
    """Whether a server over stdio can take the place of a remote one."""


def plan_launch(
    words: Sequence[str],
    servers: Sequence[FoundServer],
    machine: Machine,
    program: Sequence[str],
    *,
    output: Path | None,
    temporary: Path,
    approved: Callable[[str], bool],
    redaction: Sequence[str] = (),
    replayed: SideStore | None = None,
) -> Launch:
    """Return how to start a client with its servers recorded, or with `replayed`, the store of
    `wrap`, with the newest recording of each in its place. `approved` tells of a server of the
    project whether the user lets this client start it; `redaction` are options of the recorder.
    Raises CannotLaunch, ConfigError.
    """
    launcher = _LAUNCHERS.get(PurePath(words[0]).name)
    if launcher is None:
        known = ", ".join(_LAUNCHERS)
        raise CannotLaunch(
            f"{words[0]} takes no servers as options ({known} do); use `mcpmock wrap`"
        )
    edits: dict[str, ServerEdit] = {}
    left: dict[str, str] = {}
    for found in _started_by(launcher, servers):
        config, name = found.config, found.entry.name
        if config.scope == PROJECT and launcher.asks and not approved(name):
            left[name] = f"it is not approved; start {words[0]} once and approve it"
            continue
        edits.pop(name, None)
        user = attrs.evolve(config, scope=USER)  # nothing is committed
        path = recording_path(user, name, machine, output)
        if replayed is not None:
            edit = _plan_replay(launcher, found, program, machine.root / path, replayed)
            if edit is None:
                left[name] = f"nothing is recorded of it in {path}"
            else:
                edits[name] = edit
        elif found.entry.unsplit:
            left[name] = "its command is a whole command line, which no client can start"
        elif _takes_recorder(launcher, found.entry):
            edits[name] = plan_wrap(found, RecorderWords(program, path, redaction))
    left = {name: why for name, why in left.items() if name not in edits}
    if not edits:
        reasons = [f"{name}: {why}" for name, why in left.items()]
        hint = "; ".join(reasons or ["`mcpmock wrap --list` lists what there is"])
        raise CannotLaunch(f"{words[0]} has no server that can be recorded; {hint}")
    launch = launcher.launch(_Start(list(words), edits, temporary, machine.environment))
    return attrs.evolve(launch, left=left | launch.left)


def _plan_replay(
    launcher: _Launcher,
    found: FoundServer,
    program: Sequence[str],
    folder: Path,
    store: SideStore,
) -> ServerEdit | None:
    """Return what puts the newest recording of a server in its place; None without one."""
    recorder, entry = found.entry.recorder, found.entry
    stdio = entry.transport == "stdio" and not (recorder is not None and recorder.remote)
    newest = newest_recording(folder)
    if newest is None or not (stdio or launcher.remote):
        return None
    recorder_words = RecorderWords(program, str(newest), log=log_beside(str(newest)))
    again = partial(plan_wrap, recorder=recorder_words)
    return again(found) if recorder is None else plan_rewrap(found, store, again)


def _takes_recorder(launcher: _Launcher, entry: ServerEntry) -> bool:
    """Leave alone what is recorded already, and a remote server whose login the client made."""
    if entry.transport == "remote":
        return launcher.remote and not needs_login(entry)
    return entry.transport == "stdio" and entry.recorder is None


def _started_by(launcher: _Launcher, servers: Sequence[FoundServer]) -> list[FoundServer]:
    order = {scope: place for place, scope in enumerate(launcher.scopes)}
    own = (one for one in servers if launcher.client in one.config.clients)
    return sorted(
        (one for one in own if one.config.scope in order), key=lambda one: order[one.config.scope]
    )


def _launch_claude(start: _Start) -> Launch:
    """Name the file in an option: its servers win over those of the same name, and the others are
    as ever (claude 2.1.330, tried).
    """
    entries = {name: edit.entry.value for name, edit in start.edits.items()}
    # With `=`, because the option takes all words behind it otherwise.
    option = f"--mcp-config={start.temporary / CONFIG_FILE}"
    words = [start.words[0], option, *start.words[1:]]
    config = msgspec.json.encode({"mcpServers": entries})
    return Launch(words, _outputs(start.edits), config=config)


def _launch_codex(start: _Start) -> Launch:
    """`-c` replaces single values; it takes no quotes around a name (codex 0.169.0, tried)."""
    edits = start.edits.items()
    kept = {name: edit for name, edit in edits if name.replace("-", "_").isidentifier()}
    options: list[str] = []
    for name, edit in kept.items():
        program, *arguments = edit.entry.words
        listed = ", ".join(map(quote, arguments))
        options += ["-c", f"mcp_servers.{name}.command={quote(program)}"]
        options += ["-c", f"mcp_servers.{name}.args=[{listed}]"]
    why = "codex takes no option for a server of that name"
    left = dict.fromkeys((name for name in start.edits if name not in kept), why)
    return Launch([start.words[0], *options, *start.words[1:]], _outputs(kept), left)


def _launch_opencode(start: _Start) -> Launch:
    """Set the variable that wins over files, member by member (opencode 1.18.33, tried)."""
    try:
        settings = json.loads(start.environment.get(_OPENCODE_VARIABLE) or "{}")
        servers = settings.setdefault("mcp", {})
        for name, edit in start.edits.items():
            servers.setdefault(name, {}).update(type="local", command=edit.entry.words)
    except (ValueError, AttributeError, RecursionError) as error:
        reason = "holds no JSON object with objects for `mcp` and its servers"
        raise CannotLaunch(f"{_OPENCODE_VARIABLE} {reason}; correct it") from error
    variables = {_OPENCODE_VARIABLE: json.dumps(settings)}
    return Launch(start.words, _outputs(start.edits), environment=variables)


def _outputs(edits: Mapping[str, ServerEdit]) -> dict[str, str]:
    return {name: edit.output for name, edit in edits.items()}


_LAUNCHERS = {
    "claude": _Launcher("claude-code", (USER, PROJECT, LOCAL), True, _launch_claude, True),
    # The file of a project counts if the project is trusted, an option would count always.
    "codex": _Launcher("codex", (USER,), False, _launch_codex),
    "opencode": _Launcher("opencode", (USER, PROJECT), False, _launch_opencode),
}
