"""`ServerEdit`: `wrap` or `unwrap` of one server, planned from what was found, and carried out.

What undoes an edit is stored before the file is replaced, and forgotten after it was replaced back:
whenever the process ends, what stands in a file can be taken back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.project_folder import PROJECT_FOLDER, make_project_folder
from mcpmock.errors import MissingExtra

from .clients import BY_ID, LOCAL, PROJECT, ConfigFile, Machine
from .document import ConfigError, Document
from .edit import (
    Pieces,
    difference,
    parse_config,
    servers_of,
    unwrap,
    with_server,
    without_server,
    wrap,
)
from .entry import RecorderWords, ServerEntry
from .files import (
    FOLDER,
    ConfigChanged,
    FoundServer,
    SideStore,
    WrappedServer,
    digest,
    read_config,
    reason_of,
    text_or_nothing,
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
    document: Document
    """The whole file, changed."""
    entry: ServerEntry
    """The server, changed."""
    stored: WrappedServer
    """What undoes it if it is that of `wrap`, what it undoes if it is that of `unwrap`."""
    plan: Callable[[FoundServer], ServerEdit] = attrs.field(repr=False)
    """The same change of the server as it stands by then."""

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
        """Where the recorder writes that comes or goes; empty if it has gone already."""
        recorder = self.entry.recorder or self.found.entry.recorder
        return recorder.output if recorder is not None else ""

    @property
    def wraps(self) -> bool:
        """Whether a recorder stands there now."""
        return self.entry.recorder is not None

    @property
    def undoable(self) -> bool:
        """Whether what undoes it is stored: it puts something there."""
        return self.wraps or (not self.found.entry.value and self.stored.removed is None)

    @property
    def logs_in(self) -> bool:
        """Whether what stands there now sends the login of `mcpmock login`."""
        return "--oauth" in self.entry.words

    @property
    def exact(self) -> bool:
        """Whether it gives the file as it was before `wrap`, byte for byte."""
        return not self.found.live and digest(self.document.text) == self.stored.sha256[0]


@attrs.frozen
class ClientCommand:
    """A command of a client that changes its own configuration, and what goes to its standard
    input: never into its arguments, which others on the machine can read.
    """

    words: list[str]
    stdin: bytes
    folder: Path


def recording_path(config: ConfigFile, name: str, machine: Machine, folder: Path | None) -> str:
    """Return where a server of a configuration is recorded: for a user a folder with a file for
    each run, for a project a file below its root. `folder` is absolute: some clients start servers
    in `/`. Servers with different names never share one, also where file names have no case
    (macOS).
    """
    safe = _NO_FILE_NAME.sub("-", name)[:MAX_NAME_CHARS].strip(".-") or "server"
    if safe != name.lower():
        safe += f"-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    if folder is None and config.scope == PROJECT:
        return f"{PROJECT_FOLDER}/{safe}.jsonl"
    if folder is None:
        return f"{machine.data / FOLDER / safe}/"
    if config.scope == PROJECT and folder.is_relative_to(machine.root):
        folder = folder.relative_to(machine.root)
    return f"{folder}/"


def log_beside(cassette: str) -> str:
    """Return the file for what a replay reports of this cassette."""
    stem = cassette.rstrip("/").removesuffix(".gz").removesuffix(".jsonl")
    return f"{stem}.replay.log"


def plan_wrap(
    found: FoundServer, recorder: RecorderWords, *, can_log_in: bool = True
) -> ServerEdit:
    """Return what wrapping changes. A remote server without credentials gets the login of `mcpmock
    login`. Raises CannotRecord, ConfigError, and MissingExtra where a login is not possible
    (`can_log_in`).
    """
    config, entry = found.config, found.entry
    _refuse(found, recorder)
    if entry.transport == "stdio":
        change = wrap(found.document, config.keys, entry.name, recorder.before_command)
    else:
        login = needs_login(entry) and not recorder.log
        if login and not can_log_in:
            if not is_on_this_machine(entry):
                raise MissingExtra(f"a login to {entry.name}", "oauth")
            login = False
        plain = next((BY_ID[client].plain_url for client in config.clients), None)
        change = wrap_remote(
            found.document, config.keys, entry.name, recorder, login=login, plain_url=plain
        )
    texts = (found.document.text, change.document.text)
    stored = msgspec.structs.replace(
        WrappedServer.of(config, entry.name),
        pieces=change.pieces,
        sha256=(digest(texts[0]), digest(texts[1])),
    )
    plan = partial(plan_wrap, recorder=recorder, can_log_in=can_log_in)
    return ServerEdit(found, change.document, _entry_in(change.document, found), stored, plan)


def _refuse(found: FoundServer, recorder: RecorderWords) -> None:
    """Raise CannotRecord for a server that no recorder can stand before."""
    config, entry = found.config, found.entry
    if entry.transport == "other":
        raise CannotRecord(f"{entry.name} in {config.path} has no command that can be recorded")
    if entry.transport == "stdio" and entry.url:
        # Gemini and Qwen look for a URL before they look for a command.
        raise CannotRecord(
            f"{entry.name} in {config.path} has a command and `{entry.url_name}`; "
            "clients differ in which they use: keep one"
        )
    if entry.unsplit:
        program_word, *rest = map(json.dumps, [*entry.unsplit, *entry.words[1:]])
        raise CannotRecord(
            f"{entry.name} in {config.path} has a command line as its command, which no client can "
            f'start; write "command": {program_word}, "args": [{", ".join(rest)}]'
        )
    try:
        "".join([entry.name, str(config.path), *recorder.program, recorder.output]).encode()
    except UnicodeEncodeError as error:
        raise CannotRecord(
            f"{config.path}: a name or path is not valid UTF-8 and cannot be written into the file"
        ) from error


def plan_rewrap(
    found: FoundServer, store: SideStore, wrap_again: Callable[[FoundServer], ServerEdit]
) -> ServerEdit:
    """Return what `wrap_again` makes of a server without its recorder. What undoes it gives the
    entry as it was before both. Raises as `plan_unwrap` and `plan_wrap` do.
    """
    bare = plan_unwrap(found, store)
    edit = wrap_again(attrs.evolve(found, document=bare.document, entry=bare.entry))
    plan = partial(plan_rewrap, store=store, wrap_again=wrap_again)
    return attrs.evolve(edit, found=found, plan=plan)


def plan_add(found: FoundServer, value: dict[str, Any]) -> ServerEdit:
    """Return what adds a server that is not there yet. Raises ConfigError."""
    config, name = found.config, found.entry.name
    before = found.document.text
    document = with_server(found.document, config.keys, name, value)
    stored = msgspec.structs.replace(
        WrappedServer.of(config, name),
        pieces=Pieces(stretch=difference(before, document.text)),
        sha256=(digest(before), digest(document.text)),
        made=not config.path.exists(),
    )
    entry = ServerEntry(name, value)
    return ServerEdit(found, document, entry, stored, partial(plan_add, value=value))


def plan_remove(found: FoundServer, store: SideStore) -> ServerEdit:
    """Return what takes out a server that `plan_add` added, so that the file is as it was before.
    Raises ConfigError.
    """
    config, name = found.config, found.entry.name
    known = store.load(config.path, config.keys, name)
    stored = known or WrappedServer.of(config, name)
    document = without_server(found.document, config.keys, name, stored.pieces.stretch)
    plan = partial(plan_remove, store=store)
    return ServerEdit(found, document, ServerEntry(name, {}), stored, plan)


def plan_unwrap(found: FoundServer, store: SideStore) -> ServerEdit:
    """Plan the change that puts an entry back. Raises ConfigError."""
    config, entry = found.config, found.entry
    known = store.load(config.path, config.keys, entry.name)
    stored = known or WrappedServer.of(config, entry.name)
    pieces = known.pieces if known else None
    recorder = entry.recorder
    if stored.removed is not None and not entry.value:
        document, entry = found.document, ServerEntry(entry.name, stored.removed)
        return ServerEdit(found, document, entry, stored, partial(plan_unwrap, store=store))
    if recorder is not None and recorder.remote:
        url_name = next((BY_ID[client].url_name for client in config.clients), "url")
        document = unwrap_remote(found.document, config.keys, entry.name, pieces, url_name)
    else:
        document = unwrap(found.document, config.keys, entry.name, pieces)
    plan = partial(plan_unwrap, store=store)
    return ServerEdit(found, document, _entry_in(document, found), stored, plan)


def write_edit(
    edit: ServerEdit, store: SideStore, machine: Machine, say: Callable[[str], None]
) -> ServerEdit:
    """Make the change; gives it as it was made, in the file as it stood then. What stays in the
    store without need is said. Raises ConfigError, ConfigChanged, and OSError before anything is
    written.
    """
    with store.locked():
        edit = _renewed(edit)
        if edit.wraps and edit.found.config.scope == PROJECT:
            make_project_folder(machine.root)
        if edit.undoable:
            store.save(edit.stored)
        text = None if edit.stored.made and not edit.document.text else edit.document.text
        try:
            write_config(edit.found.config.path, text, edit.found.document)
        except ConfigChanged:
            if edit.undoable:
                store.forget(edit.stored)
            raise
        if not edit.undoable:
            _forget(edit, store, say)
        return edit


def run_commands(
    edit: ServerEdit,
    store: SideStore,
    machine: Machine,
    run: Callable[[ClientCommand], None],
    say: Callable[[str], None],
) -> None:
    """Make the change by commands of the client, which `run` carries out. The server without its
    recorder is stored before they remove it: whatever ends them, it is added again, if not here
    then by `unwrap`. Raises what `run` raises, and OSError before anything is changed.
    """
    found = edit.found
    with store.locked():
        before = store.load(found.config.path, found.config.keys, edit.entry.name)
        plain = found.entry if edit.undoable else edit.entry
        store.save(msgspec.structs.replace(edit.stored, removed=plain.value))
        try:
            for command in client_commands(edit, machine):
                run(command)
        except BaseException:
            if found.entry.value and not _stands(found):
                run(_adding_command(found.entry, found.config, machine))
            if before is None:
                store.forget(edit.stored)
            else:
                store.save(before)
            raise
        if edit.undoable:
            store.save(edit.stored)
        else:
            _forget(edit, store, say)


def _renewed(edit: ServerEdit) -> ServerEdit:
    """Return the change in the file of now. Raises ConfigError; ConfigChanged for another entry."""
    found = edit.found
    text = text_or_nothing(found.config.path)
    if text == found.document.text:
        return edit
    document = parse_config(found.config.path, text, may_be_blank=True)
    entry = servers_of(document, found.config.keys).get(
        edit.entry.name, ServerEntry(edit.entry.name, {})
    )
    if entry != found.entry:
        raise ConfigChanged(found.config.path)
    return edit.plan(attrs.evolve(found, document=document))


def _stands(found: FoundServer) -> bool:
    """Return whether a file has the server, as it was or as it becomes."""
    try:
        return found.entry.name in servers_of(read_config(found.config.path), found.config.keys)
    except ConfigError:
        return False


def _forget(edit: ServerEdit, store: SideStore, say: Callable[[str], None]) -> None:
    try:
        store.forget(edit.stored)
    except OSError as error:
        say(f"what `wrap` stored of {edit.entry.name} stays: {error.filename}: {reason_of(error)}")


def client_commands(edit: ServerEdit, machine: Machine) -> list[ClientCommand]:
    """Return how Claude Code itself makes this change: it has no command that changes an entry, so
    one removes it and one adds it.
    """
    config, name = edit.found.config, edit.entry.name
    words = _claude_mcp("remove", name, config)
    remove = ClientCommand(words, b"", _folder_of(config, machine))
    removes = [remove] if edit.found.entry.value else []
    adds = [_adding_command(edit.entry, config, machine)] if edit.entry.value else []
    return [*removes, *adds]


def _adding_command(entry: ServerEntry, config: ConfigFile, machine: Machine) -> ClientCommand:
    """Return the command that adds a server to Claude Code."""
    words = _claude_mcp("add-json", entry.name, config, "-")
    return ClientCommand(words, msgspec.json.encode(entry.value), _folder_of(config, machine))


def _claude_mcp(command: str, name: str, config: ConfigFile, *operands: str) -> list[str]:
    """Return a command line. A name may look like an option."""
    options = ["-s", config.scope]
    if name.startswith("-"):
        return ["claude", "mcp", command, *options, "--", name, *operands]
    return ["claude", "mcp", command, name, *options, *operands]


def _folder_of(config: ConfigFile, machine: Machine) -> Path:
    """Return the folder: local servers are those of the folder in which the client runs."""
    return Path(config.keys[1]) if config.scope == LOCAL else machine.root


def _entry_in(document: Document, found: FoundServer) -> ServerEntry:
    name = found.entry.name
    return ServerEntry(name, document.at((*found.config.keys, name)) or {})
