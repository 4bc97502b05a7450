"""A server that is added to the configuration of a client, and taken out again, byte for byte."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from mcpmock.client_config.changes import plan_add, plan_remove, write_edit
from mcpmock.client_config.clients import CLIENTS, LIVE_STATE, ConfigFile, KnownClient, Machine
from mcpmock.client_config.document import ConfigError
from mcpmock.client_config.edit import parse_config, servers_of
from mcpmock.client_config.files import added_store, place_for, server_at

KEYS = ("mcpServers",)
VALUE = {"command": "mcpmock", "args": ["mcp", "."]}
JSON = [
    "",
    "\n",
    "\ufeff",
    "// none yet",
    "/* none */ // yet\n",
    "// none\r\n// yet",
    "{}",
    "{}\n",
    "{\n}\n",
    "{ // nothing yet\n}\n",
    '{"mcpServers": {}}',
    '{"mcpServers": {"a": {"command": "x"}}}',
    '{\n  "mcpServers": {\n    "a": {"command": "x"}\n  }\n}\n',
    '{\n\t"other": [1],\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // c\n\t},\n}\n',
    '{\r\n    "mcpServers": {\r\n        "a": {"command": "x"}\r\n    }\r\n}\r\n',
    '\ufeff{"theme": "dark"}\n',
    '{\n  "theme": "dark"\n}',
    '{\n  "mcpServers": {\n  },\n  "theme": "}"\n}',
]
TOML = [
    "",
    'model = "o4"',
    'model = "o4"\n\n[mcp_servers.a] # mine\ncommand = "x"\n',
    '[mcp_servers.a]\r\ncommand = "x"\r\n',
    '[mcp_servers.a]\ncommand = "x"\n\n[other]\nb = 1\n',
]
FILES = [
    *[("a.json", KEYS, text) for text in JSON],
    *[("a.toml", ("mcp_servers",), text) for text in TOML],
]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "home"
    return Machine("linux", home, {}, tmp_path / "project")


def written(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def added(config: ConfigFile, machine: Machine) -> None:
    write_edit(plan_add(server_at(config, "mcpmock"), VALUE), added_store(machine), machine, print)


def removed(config: ConfigFile, machine: Machine) -> bool:
    store = added_store(machine)
    edit = plan_remove(server_at(config, "mcpmock"), store)
    return write_edit(edit, store, machine, print).exact


@pytest.mark.parametrize(("name", "keys", "text"), FILES)
def test_every_other_byte_stays(
    tmp_path: Path, machine: Machine, name: str, keys: tuple[str, ...], text: str
) -> None:
    """The entry is there, beside those that were; taken out, the file is as it was."""
    file = tmp_path / name
    file.write_bytes(text.encode())
    config = ConfigFile(file, (), "user", keys)
    before = servers_of(parse_config(file, text, may_be_blank=True), keys)
    added(config, machine)

    document = parse_config(file, file.read_bytes().decode())
    after = servers_of(document, keys)
    assert after.pop("mcpmock").value == VALUE
    assert before == after
    assert "\n" not in document.text.replace("\r\n", "") or "\r\n" not in text
    assert removed(config, machine)
    assert written(file) == text.encode()


@pytest.mark.parametrize(("name", "keys", "text"), FILES)
def test_taken_out_of_a_file_that_changed(
    tmp_path: Path, machine: Machine, name: str, keys: tuple[str, ...], text: str
) -> None:
    """What somebody wrote meanwhile stays; also without what `--add` stored."""
    file = tmp_path / name
    file.write_bytes(text.encode())
    config = ConfigFile(file, (), "user", keys)
    added(config, machine)
    mark = "# later\n" if name.endswith("toml") else "// later\n"
    if not text.startswith("\ufeff"):
        file.write_bytes(mark.encode() + file.read_bytes())
        assert not removed(config, machine)
        assert (written(file) or b"").startswith(mark.encode())
        file.write_bytes(text.encode())
        added(config, machine)
    for stored in added_store(machine).folder.glob("*.json"):
        stored.unlink()
    try:
        removed(config, machine)
    except ConfigError as error:
        assert "by hand" in str(error)  # noqa: PT017 (comments may stand around it)
    else:
        left = parse_config(file, file.read_bytes().decode()) if file.exists() else None
        before = servers_of(parse_config(file, text, may_be_blank=True), keys)
        assert before == (servers_of(left, keys) if left else {})


@pytest.mark.parametrize("later", ["# later\n", '[projects."/x"]\ntrust_level = "trusted"\n', "\n"])
@pytest.mark.parametrize("text", [text for _, _, text in FILES[len(JSON) :] if text])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_what_was_written_behind_it_stays_a_line(
    tmp_path: Path, machine: Machine, text: str, end: str, later: str
) -> None:
    """Codex writes tables of its own at the end of its file, which may have ended without a line
    break.
    """
    file, text = tmp_path / "a.toml", text.rstrip() + end
    file.write_bytes(text.encode())
    config = ConfigFile(file, (), "user", ("mcp_servers",))
    added(config, machine)
    file.write_bytes((written(file) or b"") + later.encode())
    assert not removed(config, machine)

    left = (written(file) or b"").decode()
    assert (text, later.strip()) == (left[: len(text)], left[len(text) :].strip())
    assert left[len(text.rstrip()) :].startswith(("\n", "\r\n"))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"mcpServers": {"b": {}, "b": {}}}',
        '{"mcpServers": {}, "mcpServers": {}}',
    ],
)
def test_what_is_there_twice(tmp_path: Path, machine: Machine, text: str) -> None:
    """Nothing is added that could not be found again, wherever the name is that is there twice."""
    file = tmp_path / "a.json"
    file.write_text(text, "utf-8")
    for keys in (("mcpServers",), ("servers",)):
        with suppress(ConfigError):
            added(ConfigFile(file, (), "user", keys), machine)
            assert removed(ConfigFile(file, (), "user", keys), machine)
        assert text == file.read_text("utf-8")


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_each_client_has_a_place(machine: Machine, client: KnownClient) -> None:
    """A file that is not there yet is made, and removed with the entry."""
    for scope in ("user", "project"):
        config = place_for(machine, client, scope)
        if config is None:
            assert scope == "project"
            assert not client.project
            continue
        if config.path.name == LIVE_STATE:
            continue  # the client itself changes it
        added(config, machine)
        assert config.path.exists()
        assert removed(config, machine)
        assert not config.path.exists()


def test_nothing_else_is_taken_for_an_object(tmp_path: Path, machine: Machine) -> None:
    """A configuration of another form is refused, and stays as it is."""
    for text in ('{"mcpServers": null}', '{"mcpServers": []}', "[]", '{"mcpServers": {}', "1"):
        file = tmp_path / "a.json"
        file.write_text(text)
        with pytest.raises(ConfigError):
            added(ConfigFile(file, (), "user", KEYS), machine)
        assert file.read_text() == text
    file = tmp_path / "a.toml"
    file.write_text("mcp_servers = { a = { command = 'x' } }\n")
    with pytest.raises(ConfigError):
        added(ConfigFile(file, (), "user", ("mcp_servers",)), machine)
