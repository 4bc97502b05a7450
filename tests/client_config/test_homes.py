"""Every client of the table: its real files, wrapped and unwrapped."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mcpmock.client_config.changes import plan_unwrap, plan_wrap, recording_path, write_edit
from mcpmock.client_config.clients import CLIENTS, LIVE_STATE, Machine
from mcpmock.client_config.entry import RecordCommand, RecorderWords
from mcpmock.client_config.files import FoundServer, find_servers, side_store
from tests.support.client_homes import CLIENT_HOMES, ClientHome


def found_in(machine: Machine, path: Path, name: str = "weather") -> FoundServer:
    found = find_servers(machine)
    assert [] == found.errors
    (one,) = [one for one in found.servers if one.entry.name == name and one.config.path == path]
    return one


@pytest.mark.parametrize("home", CLIENT_HOMES, ids=lambda home: home.name)
def test_wrap_and_unwrap(home: ClientHome, tmp_path: Path) -> None:
    """The file is found and belongs to the client; the recorder stands before the same command; and
    what is unwrapped is the file as it was: its bytes, its mode and, if it was one, its link.
    """
    machine, path = home.make(tmp_path)
    before, store = path.read_bytes(), side_store(machine)
    found = found_in(machine, path)
    output = recording_path(found.config, "weather", machine, None)
    write_edit(
        plan_wrap(found, RecorderWords(["/opt/my tools/mcpmock"], output)), store, machine, print
    )
    wrapped = found_in(machine, path)

    assert (home.client in found.config.clients, home.scope) == (True, found.config.scope)
    words = wrapped.entry.words
    assert ["/opt/my tools/mcpmock", "record", "-q", "-o", output, "--"] == words[:6]
    assert found.entry.words == words[6:]
    assert found.entry.value.keys() <= wrapped.entry.value.keys()

    edit = plan_unwrap(wrapped, store)
    write_edit(edit, store, machine, print)

    assert edit.exact
    assert before == path.read_bytes()
    assert (home.linked, 0o640) == (path.is_symlink(), stat.S_IMODE(path.stat().st_mode))
    assert [] == list(store.all())


@pytest.mark.parametrize(
    "home", [home for home in CLIENT_HOMES if "remote" in home.text], ids=lambda home: home.name
)
@pytest.mark.parametrize("lost", [False, True])
def test_a_remote_server(home: ClientHome, lost: bool, tmp_path: Path) -> None:
    """It becomes one over stdio that speaks to the same URL with the same headers, of which no
    value is in the command line, and then the file as it was; without what undoes it, the same
    server.
    """
    machine, path = home.make(tmp_path)
    before, store = path.read_bytes(), side_store(machine)
    found = found_in(machine, path, "remote")
    output = recording_path(found.config, "remote", machine, None)
    write_edit(
        plan_wrap(found, RecorderWords(["/opt/my tools/mcpmock"], output)), store, machine, print
    )
    wrapped = found_in(machine, path, "remote")

    words = wrapped.entry.words
    assert ["/opt/my tools/mcpmock", "proxy", "-q", "--record", output] == words[:5]
    assert "abc" not in " ".join(words)
    assert RecordCommand(output, None, remote=True) == wrapped.entry.recorder

    if lost:
        for file in store.folder.iterdir():
            file.unlink()
    edit = plan_unwrap(wrapped, store)
    write_edit(edit, store, machine, print)

    assert found.entry.value == found_in(machine, path, "remote").entry.value
    assert lost or (edit.exact and before == path.read_bytes())


def test_each_client_has_a_home() -> None:
    """The table of clients has no row that no file shows."""
    assert {client.id for client in CLIENTS} == {home.client for home in CLIENT_HOMES}


@pytest.mark.parametrize(
    ("variable", "file"),
    [("CODEX_HOME", "config.toml"), ("CLAUDE_CONFIG_DIR", LIVE_STATE)],
)
def test_a_variable_moves_it(variable: str, file: str, tmp_path: Path) -> None:
    """Two clients have a variable that names the folder of their configuration."""
    other = tmp_path / "elsewhere" / file
    other.parent.mkdir()
    entry = '[mcp_servers.a]\ncommand = "x"\n' if file[-1] == "l" else _servers("mcpServers")
    other.write_text(entry, "utf-8")
    machine = Machine("linux", tmp_path / "home", {variable: str(other.parent)}, tmp_path)

    assert [other] == [one.config.path for one in find_servers(machine).servers]


def test_the_state_of_claude(tmp_path: Path) -> None:
    """It is read: the servers of the user, and those of the user in this project."""
    root = tmp_path / "project"
    inside = f'{{"projects": {{"{root}": {_servers("mcpServers")}}}, {_servers("mcpServers")[1:]}'
    (tmp_path / LIVE_STATE).write_text(inside, "utf-8")
    found = find_servers(Machine("linux", tmp_path, {}, root)).servers

    assert [("user", True), ("local", True)] == [(one.config.scope, one.live) for one in found]


def _servers(key: str) -> str:
    return f'{{"{key}": {{"a": {{"command": "x"}}}}}}'
