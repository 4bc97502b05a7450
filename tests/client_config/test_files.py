"""Configuration files on a disk: found, read, replaced; and what undoes a change."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from mcpmock.client_config.changes import plan_unwrap, plan_wrap, recording_path, write_edit
from mcpmock.client_config.clients import ConfigFile, Machine
from mcpmock.client_config.document import ConfigError
from mcpmock.client_config.entry import RecorderWords
from mcpmock.client_config.files import (
    ConfigChanged,
    FoundServer,
    find_servers,
    find_stored,
    is_live,
    side_store,
)
from mcpmock.client_config.remote import CannotRecord

TEXT = '{"mcpServers": {"a": {"command": "x", "args": ["--token", "sesame"]}}}\n'
PROGRAM = ["/opt/mcpmock"]
RECORDER = RecorderWords(PROGRAM, "/data/a/")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """The machine of a user with one server in Cursor."""
    file = tmp_path / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(TEXT, "utf-8")
    return Machine("linux", tmp_path, {}, tmp_path / "project")


def only(machine: Machine) -> FoundServer:
    (found,) = find_servers(machine).servers
    return found


def wrapped(machine: Machine) -> FoundServer:
    write_edit(
        plan_wrap(only(machine), RECORDER),
        side_store(machine),
        machine,
        print,
    )
    return only(machine)


def test_what_undoes_it_is_private(machine: Machine) -> None:
    """It holds command lines, and with them secrets."""
    wrapped(machine)
    folder = side_store(machine).folder
    (file,) = folder.iterdir()

    assert "sesame" in file.read_text("utf-8")
    assert [0o700, 0o600] == [stat.S_IMODE(path.stat().st_mode) for path in (folder, file)]


@pytest.mark.parametrize("stored", [b"", b"{}", b"\xff"])
def test_what_undoes_it_is_lost(machine: Machine, stored: bytes) -> None:
    """Then what stands behind the recorder is the command."""
    found = wrapped(machine)
    store = side_store(machine)
    next(store.folder.iterdir()).write_bytes(stored)
    edit = plan_unwrap(found, store)

    assert (TEXT, False) == (edit.document.text, edit.exact)
    assert [] == list(find_stored(machine, print))


def test_what_somebody_else_wrote_meanwhile(machine: Machine) -> None:
    """It stays, and the change that was shown is made; one of the entry itself is none of it."""
    found, store = only(machine), side_store(machine)
    edit = plan_wrap(found, RECORDER)
    found.config.path.write_text(f" {TEXT}", "utf-8")
    made = write_edit(edit, store, machine, print)
    assert [f" {edit.document.text}"] * 2 == [
        made.document.text, found.config.path.read_text("utf-8"),
    ]  # fmt: skip
    assert f" {TEXT}" == plan_unwrap(only(machine), store).document.text

    found.config.path.write_text(changed := TEXT.replace('"x"', '"y"'), "utf-8")
    with pytest.raises(ConfigChanged, match=r"was changed meanwhile; nothing was written"):
        write_edit(edit, store, machine, print)
    assert changed == found.config.path.read_text("utf-8")


def test_a_file_that_is_written_beside_ours(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody writes while the new file goes to a slow disk is not lost, and nothing is left
    to be undone.
    """
    found, flush = only(machine), os.fsync

    def write_meanwhile(fd: int) -> None:
        flush(fd)
        if any(side_store(machine).all()):  # what undoes it was stored before
            found.config.path.write_text(f"{TEXT} ", "utf-8")

    monkeypatch.setattr(os, "fsync", write_meanwhile)
    edit = plan_wrap(found, RECORDER)

    with pytest.raises(ConfigChanged, match=r"was changed meanwhile; nothing was written"):
        write_edit(edit, side_store(machine), machine, print)
    assert f"{TEXT} " == found.config.path.read_text("utf-8")
    assert ([], [found.config.path]) == (
        list(side_store(machine).all()), list(found.config.path.parent.iterdir()),
    )  # fmt: skip


def test_what_a_killed_process_left(machine: Machine) -> None:
    """A file with the configuration's secrets beside it goes with the next change."""
    found = only(machine)
    left = found.config.path.with_name(".mcp.json.123.tmp")
    left.write_text("sesame", "utf-8")
    wrapped(machine)

    assert not left.exists()


def test_a_file_with_two_names(machine: Machine) -> None:
    """Replaced, the other one would keep the old text: it is refused."""
    found = only(machine)
    os.link(found.config.path, machine.home / "dotfile")

    with pytest.raises(ConfigError, match="has another name \\(a hard link\\)"):
        wrapped(machine)
    assert TEXT == found.config.path.read_text("utf-8")


def test_a_file_of_another_user(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaced, it would be ours: it is refused."""
    found = only(machine)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    wrapped(machine)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    edit = plan_unwrap(only(machine), side_store(machine))
    with pytest.raises(ConfigError, match="belongs to another user; it was not changed"):
        write_edit(edit, side_store(machine), machine, print)
    assert "record" in found.config.path.read_text("utf-8")


def test_a_store_that_cannot_be_changed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is as it was all the same, and what stays is said."""
    found, told = wrapped(machine), list[str]()
    store = side_store(machine)

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied", str(store.folder))

    monkeypatch.setattr(store, "forget", refuse)
    write_edit(plan_unwrap(found, store), store, machine, told.append)

    assert TEXT == found.config.path.read_text("utf-8")
    assert [f"what `wrap` stored of a stays: {store.folder}: permission denied"] == told


def test_folders_that_are_made(machine: Machine) -> None:
    """Nobody else looks into them, whatever the umask is."""
    before = os.umask(0)
    try:
        wrapped(machine)
    finally:
        os.umask(before)
    folder = side_store(machine).folder

    assert {0o700} == {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)}


def test_a_home_with_a_star(tmp_path: Path) -> None:
    """Its name is no pattern: other homes are not looked into."""
    for name in ("h*", "hx"):
        (tmp_path / name / ".codex").mkdir(parents=True)
        text = '[mcp_servers.a]\ncommand = "x"\n'
        (tmp_path / name / ".codex/work.config.toml").write_text(text, "utf-8")
    found = find_servers(Machine("linux", tmp_path / "h*", {}, tmp_path / "project"))

    assert [tmp_path / "h*/.codex/work.config.toml"] == [one.config.path for one in found.servers]


@pytest.mark.parametrize("left", [TEXT, "{}", "", None, "no folder"])
def test_a_recorder_that_somebody_took_out(machine: Machine, left: str | None) -> None:
    """It is forgotten, without a word: with its entry, its file or the folder of that."""
    found = wrapped(machine)
    said: list[str] = []
    assert ["a"] == [one.entry.name for one in find_stored(machine, said.append)]
    if left == "no folder":
        shutil.rmtree(found.config.path.parent)
    elif left is None:
        found.config.path.unlink()
    else:
        found.config.path.write_text(left, "utf-8")

    assert [] == list(find_stored(machine, said.append))
    assert 1 == len(list(side_store(machine).all()))
    assert [] == list(find_stored(machine, said.append, forget=True))
    assert ([], []) == (list(side_store(machine).all()), said)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe{\x00", "not UTF-8: invalid start byte at byte 0"),
        (b"{", "expected a value"),
        (b" " * ((1 << 24) + 1), "holds more than 16 MiB"),
    ],
)
def test_a_file_that_cannot_be_read(machine: Machine, data: bytes, reason: str) -> None:
    """It is an error; the others are found."""
    other = machine.home / ".qwen/settings.json"
    other.parent.mkdir()
    other.write_bytes(data)
    found = find_servers(machine)

    assert ["a"] == [one.entry.name for one in found.servers]
    assert [True] == [reason in str(error) for error in found.errors]


def test_what_is_no_file(machine: Machine) -> None:
    """A pipe is not waited for, a loop of links is no crash."""
    pipe, loop = machine.home / ".qwen/settings.json", machine.home / ".lmstudio/mcp.json"
    for path in (pipe, loop):
        path.parent.mkdir()
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    errors = find_servers(machine).errors

    assert ["is not a regular file", "too many levels of symbolic links"] == sorted(
        error.reason for error in errors
    )


@pytest.mark.parametrize(
    ("name", "text", "keys"),
    [
        ("a.json", '{"mcpServers": {"a": {"command": "x"}}}', ("mcpServers",)),
        ("a.json", '{"servers": {"a": {"command": "x"}}}', ("servers",)),
        ("a.json", '{"mcp": {"servers": {"a": {"command": "x"}}}}', ("mcp", "servers")),
        ("a.json", '{"mcp": {"a": {"command": ["x"]}}}', ("mcp",)),
        ("a.json", '{"a": {"command": "x"}}', ()),
        ("a.toml", '[mcp_servers.a]\ncommand = "x"', ("mcp_servers",)),
    ],
)
def test_a_file_in_no_table(machine: Machine, name: str, text: str, keys: tuple[str, ...]) -> None:
    """Its shape tells where the servers are."""
    file = machine.home / name
    file.write_text(text, "utf-8")
    (found,) = find_servers(machine, file).servers

    assert ConfigFile(file, (), "user", keys) == found.config


def test_a_file_without_servers(machine: Machine) -> None:
    """A file that the user names has servers."""
    file = machine.home / "package.json"
    file.write_text('{"scripts": {"start": "x"}}', "utf-8")

    with pytest.raises(ConfigError, match="names no MCP servers"):
        find_servers(machine, file)


def test_a_user_who_works_in_the_home(machine: Machine) -> None:
    """What would be a file of a project is that of the user."""
    (machine.home / ".mcp.json").write_text(TEXT, "utf-8")
    (machine.home / "own.json").write_text(TEXT, "utf-8")
    machine = Machine("linux", machine.home, {}, machine.home, has_project=False)
    found = [
        *find_servers(machine).servers,
        *find_servers(machine, machine.home / "own.json").servers,
    ]

    assert [".mcp.json", ".cursor/mcp.json", "own.json"] == [
        str(one.config.path.relative_to(machine.home)) for one in found
    ]
    assert {"user"} == {one.config.scope for one in found}


@pytest.mark.parametrize("name", ["url", "httpUrl", "serverUrl", "uri"])
@pytest.mark.parametrize(
    "words",
    [
        {"command": "x"},
        {"command": "x", "args": ["y"]},
        {"command": ["x", "y"]},
        {"command": "x y"},
    ],
)
def test_a_command_and_a_url(machine: Machine, words: dict[str, Any], name: str) -> None:
    """Gemini and Qwen take the URL, where a recorder of the command would never be asked."""
    entry = {**words, name: "https://a.example/mcp"}
    file = machine.home / ".cursor/mcp.json"
    file.write_text(json.dumps({"mcpServers": {"s": entry}}), "utf-8")
    with pytest.raises(CannotRecord, match=f"has a command and `{name}`; clients differ in which"):
        plan_wrap(only(machine), RECORDER)


def test_a_name_that_is_not_utf_8(machine: Machine) -> None:
    """It cannot stand in a file that is."""
    with pytest.raises(CannotRecord, match="is not valid UTF-8"):
        plan_wrap(only(machine), RecorderWords(["/opt/\udcff/mcpmock"], "/data/a/"))


def test_the_state_of_a_client_by_another_name(tmp_path: Path) -> None:
    """A link to it is it."""
    (tmp_path / "c.json").symlink_to(tmp_path / ".claude.json")

    assert [True, False] == [is_live(tmp_path / name) for name in ("c.json", "d.json")]
    with pytest.raises(ConfigError, match="belongs to running sessions of claude"):
        find_servers(Machine("linux", tmp_path, {}, tmp_path), tmp_path / "c.json")


@pytest.mark.parametrize(
    ("scope", "folder", "path"),
    [
        ("user", None, "HOME/.local/share/mcpmock/my-server-61fa9474/"),
        ("user", "HOME/rec", "HOME/rec/"),
        ("project", None, ".mcpmock/my-server-61fa9474.jsonl"),
        ("project", "HOME/project/rec", "rec/"),
        ("project", "HOME/rec", "HOME/rec/"),
    ],
)
def test_where_it_is_recorded(machine: Machine, scope: str, folder: str | None, path: str) -> None:
    """A user's servers start in any folder, a project's on any machine."""
    home = str(machine.home)
    config = ConfigFile(machine.home / "c.json", (), scope, ())
    given = None if folder is None else Path(folder.replace("HOME", home))

    assert path.replace("HOME", home) == recording_path(config, "my/server", machine, given)


@pytest.mark.parametrize("name", ["..", "/", ".wrapped", "a" * 300])
def test_a_name_that_is_no_file_name(machine: Machine, name: str) -> None:
    """A recording stays below the folder of recordings."""
    config = ConfigFile(machine.home / "c.json", (), "user", ())
    path = Path(recording_path(config, name, machine, None))

    assert machine.home / ".local/share/mcpmock" == path.parent
    assert (True, True) == (not path.name.startswith("."), len(path.name) <= 109)


def test_servers_with_almost_the_same_name(machine: Machine) -> None:
    """None shares a recording with another one, also where file names have no case."""
    names = ["a b", "a-b", "A-b", "a/b", "天気", "株価", "server", "", "-server"]
    config = ConfigFile(machine.home / "c.json", (), "user", ())
    paths = {recording_path(config, name, machine, None).lower() for name in names}

    assert len(names) == len(paths)
    assert "a-b" == Path(recording_path(config, "a-b", machine, None)).name
