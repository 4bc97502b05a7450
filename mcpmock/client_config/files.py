"""The one module of this room that touches the disk: finds and reads configuration files, replaces
one, and keeps what undoes a change (`SideStore`).

A file is replaced whole or not at all, and only if it still holds what was read. Links stay, and
what they point to is replaced: configurations are often links into a repository (stow, chezmoi).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.file import replace_file
from mcpmock.cassette.project_folder import is_project, project_root
from mcpmock.errors import McpMockError
from mcpmock.platforms import BINARY, NO_WAIT, SYSTEM, open_lock_of, wait_lock

from .clients import (
    ALL_KEYS,
    LIVE_STATE,
    LOCAL,
    PROJECT,
    USER,
    ConfigFile,
    Keys,
    KnownClient,
    Machine,
    config_files,
)
from .document import MAX_CONFIG_BYTES, ConfigError, Document
from .edit import Pieces, parse_config, servers_of
from .entry import ServerEntry

FOLDER = "mcpmock"
"""Below the data folder of the user: a folder of recordings for each server, and the stores."""
_STORE, _ADDED = ".wrapped", ".added"  # no folder of a server begins with a dot
_OWNED = "belongs to running sessions of claude, which rewrite it"


class ConfigChanged(McpMockError):
    """Another program wrote the file between our reading and our writing."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file}: was changed meanwhile; nothing was written, run it again")


@attrs.frozen
class FoundServer:
    """A server in a configuration file of this machine."""

    config: ConfigFile
    document: Document
    entry: ServerEntry

    @property
    def live(self) -> bool:
        """Whether running sessions of the client rewrite the file."""
        return is_live(self.config.path)


@attrs.frozen
class FoundConfigs:
    """What the configuration files of a machine hold: the servers, the files without any, and why
    others could not be read.
    """

    servers: list[FoundServer]
    empty: list[ConfigFile]
    errors: list[ConfigError]


class WrappedServer(msgspec.Struct, frozen=True):
    """What `wrap` did to a server: enough to take it back, byte for byte."""

    file: str
    clients: tuple[str, ...]
    scope: str
    keys: Keys
    server: str
    pieces: Pieces
    sha256: tuple[str, str]
    """Of the file, before and after."""
    removed: dict[str, Any] | None = None
    """The entry without a recorder, while commands of the client take it out and add another."""
    made: bool = False
    """Whether the file was not there before."""

    @classmethod
    def of(cls, config: ConfigFile, server: str) -> WrappedServer:
        """Return a server of a file, with nothing that undoes a change."""
        return cls(
            file=str(config.path),
            clients=config.clients,
            scope=config.scope,
            keys=config.keys,
            server=server,
            pieces=Pieces(),
            sha256=("", ""),
        )


class SideStore:
    """What `wrap` did, a file for each server. It holds command lines, with the secrets that may be
    in them: only the user can read it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be alone among all processes that change configurations. Waits for others. A store that
        cannot be opened is not waited for: nothing can be saved in it either.
        """
        handle = None
        with suppress(OSError):
            make_private_folder(self.folder)
        with suppress(OSError):
            handle = open_lock_of(self.folder)
        try:
            if handle is not None:
                wait_lock(handle)
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def save(self, wrapped: WrappedServer) -> None:
        """Store what undoes a change. Raises OSError."""
        make_private_folder(self.folder)
        name = self._name(Path(wrapped.file), wrapped.keys, wrapped.server)
        replace_file(name, msgspec.json.encode(wrapped))

    def load(self, file: Path, keys: Keys, server: str) -> WrappedServer | None:
        return self._read(self._name(file, keys, server))

    def forget(self, wrapped: WrappedServer) -> None:
        """Forget what undid a change. Raises OSError."""
        name = self._name(Path(wrapped.file), wrapped.keys, wrapped.server)
        name.unlink(missing_ok=True)

    def all(self) -> Iterator[WrappedServer]:
        """Yield all stored servers, in the order of their files and names."""
        found = [self._read(name) for name in self.folder.glob("*.json")]
        yield from sorted((one for one in found if one), key=lambda one: (one.file, one.server))

    def _name(self, file: Path, keys: Keys, server: str) -> Path:
        told = msgspec.json.encode([os.fsencode(file).hex(), keys, server])
        return self.folder / f"{hashlib.sha256(told).hexdigest()[:32]}.json"

    def _read(self, name: Path) -> WrappedServer | None:
        try:
            return msgspec.json.decode(name.read_bytes(), type=WrappedServer)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None  # then the entry is taken back by what stands in it


def machine_here() -> Machine:
    """Return this machine, user and folder."""
    home = Path.home()
    root = project_root(Path.cwd(), home)
    return Machine(SYSTEM, home, os.environ, root, has_project=is_project(root, home))


def side_store(machine: Machine) -> SideStore:
    return SideStore(machine.data / FOLDER / _STORE)


def added_store(machine: Machine) -> SideStore:
    """Return the store of what `mcpmock mcp --add` added."""
    return SideStore(machine.data / FOLDER / _ADDED)


def place_for(machine: Machine, client: KnownClient, scope: str | None) -> ConfigFile | None:
    """Return the file in which a server is added to a client: the first that is there, else the
    first; without a scope that of the project, where there is one. None if it has none.
    """
    places = [one for one in config_files(machine, [client]) if not one.below]
    scopes = [PROJECT, USER] if scope is None else [scope]
    for wanted in scopes:
        meant = [one for one in places if one.scope == wanted]
        if meant:
            return next((one for one in meant if os.path.lexists(one.path)), meant[0])
    return None


def server_at(config: ConfigFile, name: str) -> FoundServer:
    """Return a server of a file; its entry is empty if it is not there. Raises ConfigError."""
    document = parse_config(config.path, text_or_nothing(config.path), may_be_blank=True)
    entry = servers_of(document, config.keys).get(name, ServerEntry(name, {}))
    return FoundServer(config, document, entry)


def find_servers(machine: Machine, only: Path | None = None) -> FoundConfigs:
    """Return the servers in all configuration files of this machine, or in one file. Raises
    ConfigError for one that the user named.
    """
    found = FoundConfigs([], [], [])
    files = _existing_files(machine) if only is None else _described(machine, only)
    documents: dict[Path, Document] = {}  # a file may hold servers in two places
    for config in files:
        try:
            if config.path not in documents:
                documents[config.path] = read_config(config.path)
            document = documents[config.path]
            entries = servers_of(document, config.keys)
        except ConfigError as error:
            if str(error) not in map(str, found.errors):
                found.errors.append(error)
            continue
        found.servers.extend(FoundServer(config, document, entry) for entry in entries.values())
        if not entries and config.scope != LOCAL:
            found.empty.append(config)
    return found


def find_stored(
    machine: Machine, say: Callable[[str], None], *, forget: bool = False
) -> Iterator[FoundServer]:
    """Yield the servers that `wrap` wrote, in whatever folder, as they stand now. What cannot be
    read is said. With `forget`, what undoes those that were taken back since, or whose file is
    gone, is removed.
    """
    store = side_store(machine)
    for stored in store.all():
        config = ConfigFile(Path(stored.file), stored.clients, stored.scope, stored.keys)
        try:
            text = text_or_nothing(config.path)
            document = parse_config(config.path, text, may_be_blank=True)
            entry = servers_of(document, config.keys).get(stored.server)
        except ConfigError as error:
            say(str(error))
            continue
        if entry is None and stored.removed is not None:
            yield FoundServer(config, document, ServerEntry(stored.server, {}))
        elif entry is not None and entry.recorder is not None:
            yield FoundServer(config, document, entry)
        elif forget:
            store.forget(stored)


def approved_servers(machine: Machine) -> Callable[[str], bool]:
    """Return whether Claude Code starts a server of this project without a question: the user has
    answered it, or settled it for all. What the project itself says does not count.
    """
    home = machine.folder("CLAUDE_CONFIG_DIR", machine.home / ".claude")
    state = _value_in(machine.roots["claude"] / LIVE_STATE)
    project = state.get("projects", {}).get(str(machine.root), {})
    local = _value_in(machine.root / ".claude/settings.local.json")
    settings = (_value_in(home / "settings.json"), local, project)
    everything = any(one.get("enableAllProjectMcpServers") is True for one in settings)
    names = {name for one in settings for name in one.get("enabledMcpjsonServers") or ()}
    return lambda name: everything or name in names


def _value_in(path: Path) -> dict[str, Any]:
    """Return the object in a file, empty if there is none."""
    try:
        value = read_config(path).value
    except ConfigError:
        return {}
    return value if isinstance(value, dict) else {}


def read_config(path: Path) -> Document:
    """Return a configuration file. Raises ConfigError."""
    return parse_config(path, read_text(path))


def read_text(path: Path) -> str:
    """Return the text of a configuration file. Raises ConfigError."""
    data = _read(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(path, f"not UTF-8: {error.reason} at byte {error.start}") from error


def text_or_nothing(path: Path) -> str:
    """Return the text of a configuration file, empty if there is none. Raises ConfigError."""
    return read_text(path) if os.path.lexists(path) else ""


def is_live(path: Path) -> bool:
    """Return whether running sessions of a client rewrite the file, by whatever name it is
    reached.
    """
    return LIVE_STATE in (path.name, os.path.basename(os.path.realpath(path)))


def write_config(path: Path, text: str | None, was: Document) -> None:
    """Replace a configuration file, or make the one that was not there; None removes it. Call it
    with the store locked. Raises ConfigError, and ConfigChanged if it is no longer what was read.
    """
    if is_live(path):
        raise ConfigError(path, _OWNED)
    if text is not None and not os.path.lexists(path):
        return _make_config(path, text)

    def check() -> None:
        if read_text(target) != was.text:
            raise ConfigChanged(path)

    try:
        target = path.resolve(strict=True)
        if target.stat().st_nlink > 1:
            raise ConfigError(path, "has another name (a hard link), which would keep the old text")
        for left in target.parent.glob(f".{escape(target.name)}.*.tmp"):
            left.unlink()  # of a process that was killed
        if text is not None:
            replace_file(target, text.encode(), check)
        else:
            check()
            target.unlink()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        raise ConfigError(path, reason_of(error)) from error


def _make_config(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigChanged(path) from error
    except (OSError, UnicodeEncodeError) as error:
        raise ConfigError(path, reason_of(error)) from error


def make_private_folder(folder: Path) -> None:
    """Make a folder that only the user can read, and those above it that are missing; from one that
    is there, take away the permissions of all others. Raises OSError.
    """
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    folder.mkdir(0o700, exist_ok=True)
    folder.chmod(0o700)


def _existing_files(machine: Machine) -> Iterator[ConfigFile]:
    """Yield the files that exist, in the order of the table."""
    for config in config_files(machine):
        names = sorted(config.path.glob(config.below)) if config.below else [config.path]
        for name in names:
            if os.path.lexists(name):
                yield attrs.evolve(config, path=name, below="")


def _described(machine: Machine, path: Path) -> list[ConfigFile]:
    """Return a named file's row of the table, or what its own shape says."""
    path = path.absolute()
    known = [one for one in _existing_files(machine) if one.path == path]
    if known:
        return known
    if is_live(path):
        raise ConfigError(path, _OWNED)
    document = read_config(path)
    inside = machine.has_project and path.is_relative_to(machine.root)
    scope = PROJECT if inside else USER
    shapes = [keys for keys in ALL_KEYS if servers_of(document, keys)]
    bare = [entry.transport for entry in servers_of(document, ()).values()]
    if not shapes and (not bare or "other" in bare):
        raise ConfigError(path, "names no MCP servers")
    keys = shapes[0] if shapes else ()
    return [ConfigFile(path, (), scope, keys)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sizes_of_recordings(output: Path) -> list[int]:
    """Return the sizes of the recordings in a folder, or at a file."""
    return [file.stat().st_size for file in _recordings(output)]


def newest_recording(output: Path) -> Path | None:
    """Return the newest recording in a folder, or the one at a file."""
    return max(_recordings(output), key=lambda file: (file.stat().st_mtime_ns, file), default=None)


def _recordings(output: Path) -> list[Path]:
    files = sorted(output.glob("*.jsonl*")) if output.is_dir() else [output]
    return [file for file in files if file.is_file()]


def _read(path: Path) -> bytes:
    try:
        # Never waits for a writer, as opening a pipe does.
        with open(os.open(path, os.O_RDONLY | NO_WAIT | BINARY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(path, "is not a regular file")
            data = file.read(MAX_CONFIG_BYTES + 1)
    except (OSError, RuntimeError) as error:
        raise ConfigError(path, reason_of(error)) from error
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(path, f"holds more than {MAX_CONFIG_BYTES >> 20} MiB")
    return data


def reason_of(error: Exception) -> str:
    """Return why something could not be read or written, for a message."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason[:1].lower() + reason[1:]
