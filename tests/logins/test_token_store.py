"""Where logins are kept: files, a keyring, and who may read them."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from threading import Event

import attrs
import pytest

from mcpmock.errors import McpMockError
from mcpmock.logins.token_store import ServerLogin, TokenStore

URL = "https://mcp.example/mcp"


def login(url: str = URL, issuer: str = "https://issuer.example", token: str = "t") -> ServerLogin:
    tokens = {"access_token": token, "scope": "a b"}
    return ServerLogin(url=url, issuer=issuer, client={"client_id": "c"}, tokens=tokens)


def spoil(folder: Path) -> None:
    """What a full disk leaves of the one file there."""
    next(folder.glob("*.json")).write_bytes(b"{")


class Keyring:
    """One in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.mark.parametrize("keyring", [None, Keyring()])
def test_a_login_is_kept(tmp_path: Path, keyring: Keyring | None) -> None:
    """Until it is removed."""
    store = TokenStore(tmp_path / "logins", keyring)
    store.save(login())

    assert login() == store.load(URL)
    assert store.load("https://other.example/") is None
    assert [True, False] == [store.remove(URL), store.remove(URL)]
    assert store.load(URL) is None


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    """The folder and each file in it."""
    store = TokenStore(tmp_path / "logins")
    store.save(login())
    with store.locked(URL):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()}

    assert {0o600} == modes
    assert 0o700 == stat.S_IMODE(store.folder.stat().st_mode)


def test_with_a_keyring_no_token_is_in_a_file(tmp_path: Path) -> None:
    """The folder holds the lock and a mark that there is a login."""
    store = TokenStore(tmp_path / "logins", Keyring())
    store.save(login(token="secret-token"))
    with store.locked(URL):
        assert [b"", b""] == [path.read_bytes() for path in store.folder.iterdir()]


def test_servers_and_issuers(tmp_path: Path) -> None:
    """Two servers with one issuer have a token each; of two issuers of one server the newest
    counts.
    """
    store = TokenStore(tmp_path)
    store.save(login(token="one"))
    store.save(login(url="https://other.example/", token="two"))
    store.save(login(issuer="https://new.example", token="three"))

    found = store.load(URL), store.load("https://other.example/")
    assert ["three", "two"] == [one.access_token for one in found if one is not None]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """It says what to do."""
    store = TokenStore(tmp_path)
    store.save(login())
    spoil(tmp_path)

    with pytest.raises(McpMockError, match="mcpmock logout https"):
        store.load(URL)


def test_logging_out_of_what_cannot_be_read(tmp_path: Path) -> None:
    """It is removed all the same."""
    store = TokenStore(tmp_path)
    store.save(login())
    spoil(tmp_path)

    assert store.remove(URL)
    assert store.load(URL) is None


def test_a_keyring_that_is_locked(tmp_path: Path) -> None:
    """Its error is told in a line, whatever class it has."""

    class Locked(Keyring):
        def get_password(self, service: str, username: str) -> str | None:
            raise RuntimeError("locked")

    with pytest.raises(McpMockError, match="the keyring: locked"):
        TokenStore(tmp_path, Locked()).load(URL)


def test_a_keyring_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has its time."""
    monkeypatch.setattr("mcpmock.logins.token_store.KEYRING_TIMEOUT_S", 0)
    unlocked = Event()

    class Prompting(Keyring):
        def get_password(self, service: str, username: str) -> str | None:
            unlocked.wait()
            return None

    with pytest.raises(McpMockError, match="unlock it and try again"):
        TokenStore(tmp_path, Prompting()).load(URL)
    unlocked.set()


def test_a_keyring_that_is_not_here(tmp_path: Path) -> None:
    """A login in it is not taken for none; logging out and in again is possible."""
    TokenStore(tmp_path, Keyring()).save(login())
    store = TokenStore(tmp_path)

    with pytest.raises(McpMockError, match="install the package `keyring` beside mcpmock"):
        store.load(URL)
    store.save(login())
    assert login() == store.load(URL)


def test_a_login_without_a_token(tmp_path: Path) -> None:
    """It cannot be read either."""
    store = TokenStore(tmp_path)
    store.save(ServerLogin(url=URL, issuer="i", client={}, tokens={"refresh_token": "r"}))

    with pytest.raises(McpMockError, match="mcpmock logout https"):
        store.load(URL)


def test_the_folder_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what `wrap` keeps."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")

    store = TokenStore.of_user()
    store.save(login())

    assert tmp_path / "mcpmock/logins" == store.folder
    assert [".json"] == [path.suffix for path in store.folder.iterdir()]
    assert f"XDG_DATA_HOME={tmp_path}" == store.needed_variable
    assert attrs.evolve(store, keyring=Keyring()).needed_variable is None


@pytest.mark.parametrize("named", ["", "data", "./data", "~/data"])
def test_a_folder_that_is_not_absolute_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """As the XDG specification says; nobody needs the variable then."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", named)
    monkeypatch.setattr(sys, "platform", "linux")
    store = TokenStore.of_user()

    assert (tmp_path / ".local/share/mcpmock/logins", None) == (store.folder, store.needed_variable)


@pytest.mark.parametrize("inside", ["file", "loop", "a" * 300, "file/deep"])
@pytest.mark.parametrize("variable", [None, "XDG_DATA_HOME"])
def test_a_folder_that_holds_nothing(tmp_path: Path, inside: str, variable: str | None) -> None:
    """Whatever is tried first says which it is, why, and what moves it."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    store = TokenStore(tmp_path / inside / "logins", variable=variable)

    for attempt in (
        lambda: store.save(login()),
        lambda: store.load(URL),
        lambda: store.remove(URL),
        lambda: store.locked(URL).__enter__(),
    ):
        with pytest.raises(McpMockError) as caught:
            attempt()
        assert f"logins cannot be kept in {store.folder}" in str(caught.value)
        assert str(caught.value).endswith("; set XDG_DATA_HOME to a folder that you can write to")
        assert (variable is not None) is ("named by XDG_DATA_HOME" in str(caught.value))
