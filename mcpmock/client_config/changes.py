"""`ServerEdit`: `wrap` or `unwrap` of one server, planned from what was found, and carried out.

What undoes an edit is stored before the file is replaced, and forgotten after it was replaced back:
whenever the process ends, what stands in a file can be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import attrs
import msgspec

from mcpmock.errors import MissingExtra

from .clients import BY_ID, LOCAL, PROJECT, ConfigFile, Machine
from .edit import parse_config, servers_of, unwrap, wrap
from .entry import ServerEntry, record_words
from .files import (
    FOLDER,
    PROJECT_FOLDER,
    ConfigChanged,
    FoundServer,
    SideStore,
    WrappedServer,
    digest,
    make_project_folder,
    write_config,
)
from .remote import (
    CannotRecord,
    is_on_this_machine,
    needs_login,
    unwrap_remote,
    wrap_remote,
)

MAX_NAME_CHARS = 100
_NO_FILE_NAME = re.compile(r"[^\w.-]+", re.ASCII)


@attrs.frozen
class ServerEdit:
    """A change of one server's entry."""

    found: FoundServer
    text: str
    """The whole file, changed."""
    entry: ServerEntry
    """The server, changed."""
    stored: WrappedServer | None
    """What undoes it if it is that of `wrap`, what it undoes if it is that of `unwrap`."""

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """The command line, old and new; a URL for one."""
        old, new = ([*one.words] or [one.url] for one in (self.found.entry, self.entry))
        return old, new

    @property
    def variables(self) -> tuple[list[str], list[str]]:
        """The names of the variables that the entry sets, old and new."""
        old, new = (list(one.environment) for one in (self.found.entry, self.entry))
        return old, new

    @property
    def output(self) -> str:
        """Where the recorder writes that comes or goes."""
        recorder = self.entry.recorder or self.found.entry.recorder
        assert recorder is not None
        return recorder.output

    @property
    def logs_in(self) -> bool:
        """Whether what stands there now sends the login of `mcpmock login`."""
        return "--oauth" in self.entry.words

    @property
    def exact(self) -> bool:
        """Whether it gives the file as it was before `wrap`, byte for byte."""
        stored = None if self.found.live else self.stored
        return stored is not None and digest(self.text) == stored.sha256[0]


@attrs.frozen
class ClientCommand:
    """A command of a client that changes its own configuration, and what goes to its standard
    input: never into its arguments, which others on the machine can read.
    """

    words: list[str]
    stdin: bytes
    folder: Path


def recording_path(config: ConfigFile, name: str, machine: Machine, folder: Path | None) -> str:
    """Where a server of a configuration is recorded: for a user a folder with a file for each run,
    for a project a file below its root. `folder` is absolute: some clients start servers in `/`.
    """
    safe = _NO_FILE_NAME.sub("-", name)[:MAX_NAME_CHARS].strip(".-") or "server"
    if folder is None and config.scope == PROJECT:
        return f"{PROJECT_FOLDER}/{safe}.jsonl"
    if folder is None:
        return f"{machine.data / FOLDER / safe}/"
    if config.scope == PROJECT and folder.is_relative_to(machine.root):
        folder = folder.relative_to(machine.root)
    return f"{folder}/"


def plan_wrap(
    found: FoundServer, program: Sequence[str], output: str, *, can_log_in: bool = True
) -> ServerEdit:
    """A remote server without credentials in its entry gets the login of `mcpmock login`. Raises
    CannotRecord, ConfigError, and MissingExtra if nobody can log in (`can_log_in`).
    """
    config, entry = found.config, found.entry
    if entry.transport == "other":
        raise CannotRecord(f"{entry.name} in {config.path} has no command that can be recorded")
    try:
        "".join([entry.name, str(config.path), *program, output]).encode()
    except UnicodeEncodeError as error:
        raise CannotRecord(
            f"{config.path}: a name here is not UTF-8, and cannot stand in it"
        ) from error
    if entry.transport == "stdio":
        change = wrap(found.document, config.keys, entry.name, record_words(program, output))
    else:
        login = needs_login(entry)
        if login and not can_log_in:
            if not is_on_this_machine(entry):
                raise MissingExtra(f"a login to {entry.name}", "oauth")
            login = False
        plain = next((BY_ID[client].plain_url for client in config.clients), None)
        change = wrap_remote(
            found.document, config.keys, entry.name, program, output, login=login, plain_url=plain
        )
    old, new = found.document.text, change.text
    stored = WrappedServer(
        file=str(config.path),
        clients=config.clients,
        scope=config.scope,
        keys=config.keys,
        server=entry.name,
        pieces=change.pieces,
        sha256=(digest(old), digest(new)),
    )
    return ServerEdit(found, new, _entry_in(found, new), stored)


def plan_unwrap(found: FoundServer, store: SideStore) -> ServerEdit:
    """Raises ConfigError."""
    config, entry = found.config, found.entry
    stored = store.load(config.path, config.keys, entry.name)
    pieces = stored.pieces if stored else None
    recorder = entry.recorder
    if recorder is not None and recorder.remote:
        url_name = next((BY_ID[client].url_name for client in config.clients), "url")
        text = unwrap_remote(found.document, config.keys, entry.name, pieces, url_name)
    else:
        text = unwrap(found.document, config.keys, entry.name, pieces)
    return ServerEdit(found, text, _entry_in(found, text), stored)


def write_edit(edit: ServerEdit, store: SideStore, machine: Machine) -> None:
    """Raises ConfigError, ConfigChanged, OSError."""
    prepare_edit(edit, store, machine)
    try:
        write_config(edit.found.config.path, edit.text, edit.found.document)
    except ConfigChanged:
        if edit.entry.recorder is not None and edit.stored is not None:
            store.forget(edit.stored)
        raise
    finish_edit(edit, store)


def prepare_edit(edit: ServerEdit, store: SideStore, machine: Machine) -> None:
    """What comes before the change of the file. Raises OSError."""
    if edit.entry.recorder is None:
        return
    if edit.found.config.scope == PROJECT:
        make_project_folder(machine.root)
    if edit.stored is not None:
        store.save(edit.stored)


def finish_edit(edit: ServerEdit, store: SideStore) -> None:
    """What comes behind it. Raises OSError."""
    if edit.entry.recorder is None and edit.stored is not None:
        store.forget(edit.stored)


def client_commands(edit: ServerEdit, machine: Machine) -> list[ClientCommand]:
    """How Claude Code itself makes this change: it has no command that changes an entry, so one
    removes it and one adds it.
    """
    config, name = edit.found.config, edit.entry.name
    words = ["claude", "mcp", "remove", name, "-s", config.scope]
    remove = ClientCommand(words, b"", _folder_of(config, machine))
    return [remove, adding_command(edit.entry, config, machine)]


def adding_command(entry: ServerEntry, config: ConfigFile, machine: Machine) -> ClientCommand:
    """The command that adds a server to Claude Code."""
    words = ["claude", "mcp", "add-json", entry.name, "-s", config.scope, "-"]
    return ClientCommand(words, msgspec.json.encode(entry.value), _folder_of(config, machine))


def _folder_of(config: ConfigFile, machine: Machine) -> Path:
    """Servers of the local scope are those of the folder in which the client runs."""
    return Path(config.keys[1]) if config.scope == LOCAL else machine.root


def _entry_in(found: FoundServer, text: str) -> ServerEntry:
    config = found.config
    return servers_of(parse_config(config.path, text), config.keys)[found.entry.name]
