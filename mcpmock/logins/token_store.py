"""`TokenStore`: what logins gave, by the URL of the server and the issuer that gave it.

In the keyring of the system, if there is one and the package `keyring` is installed; else in a file
that only its owner may read, one for each server. A lock for each server keeps two processes from
using the same refresh token: authorization servers take a second use for theft.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, Protocol, TypeVar

import attrs
import msgspec

from mcpmock.cassette.file import replace_file
from mcpmock.client_config.files import FOLDER, machine_here, make_private_folder
from mcpmock.errors import McpMockError
from mcpmock.platforms import BINARY, session_bus, try_lock
from mcpmock.printable import mcpmock_command

from .limits import split_scopes

Answer = TypeVar("Answer")
KEYRING_SERVICE = "mcpmock"
_DATA_VARIABLE = "XDG_DATA_HOME"
KEYRING_TIMEOUT_S = 30.0
"""Seconds for an answer of the keyring: the user may have to unlock it, or may not be there."""


class ServerLogin(msgspec.Struct, kw_only=True):
    """What one issuer gave for one server. The dictionaries are as they came over the wire."""

    url: str
    issuer: str
    client: dict[str, Any]
    tokens: dict[str, Any]
    server_metadata: dict[str, Any] | None = None
    resource_metadata: dict[str, Any] | None = None
    resource: str | None = None
    """What the user gave as `--resource`."""

    @property
    def access_token(self) -> str:
        return str(self.tokens["access_token"])

    @property
    def scopes(self) -> list[str]:
        return split_scopes(str(self.tokens.get("scope") or ""))

    @property
    def described(self) -> dict[str, Any]:
        """What a cassette says of it."""
        return {"how": "oauth", "issuer": self.issuer, "scopes": self.scopes}


class _Tokens(msgspec.Struct):
    """What there must be of `ServerLogin.tokens`."""

    access_token: str


class _Kept(msgspec.Struct):
    """All logins of one server, by issuer; `current` is the newest one."""

    current: str = ""
    logins: dict[str, ServerLogin] = msgspec.field(default_factory=dict)


class Keyring(Protocol):
    """A backend of the package `keyring`."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


@attrs.frozen
class TokenStore:
    """`folder` holds locks and, without a keyring, the tokens."""

    folder: Path
    keyring: Keyring | None = None
    variable: str | None = None
    """The variable of the environment that names where the folder is."""

    @classmethod
    def of_user(cls) -> TokenStore:
        """Return the store of the user who runs this."""
        machine = machine_here()
        variable = None if machine.platform == "macos" else _DATA_VARIABLE
        named = variable is not None and machine.data == Path(os.environ.get(variable, ""))
        folder = machine.data / FOLDER / "logins"
        return cls(folder, _system_keyring(), variable if named else None)

    @property
    def place(self) -> str:
        """Where the tokens are, for a message."""
        return str(self.folder) if self.keyring is None else "the keyring"

    @property
    def needed_variable(self) -> str | None:
        """The setting without which other processes do not find the tokens, as `NAME=FOLDER`.
        Clients give the servers that they start only a few variables, and this is none of them.
        """
        if self.keyring is not None or self.variable is None:
            return None
        return f"{self.variable}={self.folder.parent.parent}"

    def load(self, url: str) -> ServerLogin | None:
        """Return the newest login for this server. Raises McpMockError for a store that cannot be
        read.
        """
        kept = self._read(url)
        login = kept.logins.get(kept.current)
        if login is None and self.keyring is None and self._path(url, ".keyring").exists():
            raise McpMockError(
                f"the login for {url} is in the keyring, which cannot be reached from here; install"
                f" the package `keyring` beside mcpmock, or run `{mcpmock_command('login', url)}`"
            )
        return login

    def save(self, login: ServerLogin) -> None:
        """Keep a login, which is the newest of its server now. Raises McpMockError."""
        kept = self._read(login.url)
        kept.logins[login.issuer] = login
        kept.current = login.issuer
        self._write(login.url, msgspec.json.encode(kept))

    def remove(self, url: str) -> bool:
        """Forget all logins of a server; whether there were any."""
        found = bool(self._data(url))
        if self.keyring is not None and found:
            _answer_of(self.keyring.delete_password, url)
        try:
            for suffix in (".json", ".keyring"):
                self._path(url, suffix).unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        return found

    @contextmanager
    def locked(self, url: str) -> Iterator[bool]:
        """Tell whether this process is alone with the login of a server in the block. Raises
        McpMockError for a folder in which nothing can be kept.
        """
        path = self._path(url, ".lock")
        try:
            make_private_folder(self.folder)
            handle = os.open(path, os.O_CREAT | os.O_RDWR | BINARY, 0o600)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield try_lock(handle)
        finally:
            os.close(handle)

    def _data(self, url: str) -> bytes:
        """Return what is kept for a server; nothing, if it is not known."""
        if self.keyring is not None:
            return (_answer_of(self.keyring.get_password, url) or "").encode()
        path = self._path(url, ".json")
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise self._unusable(error) from error

    def _read(self, url: str) -> _Kept:
        data = self._data(url)
        try:
            kept = msgspec.json.decode(data, type=_Kept) if data else _Kept()
            for login in kept.logins.values():
                msgspec.convert(login.tokens, _Tokens)
            return kept
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            command = mcpmock_command("logout", url)
            raise McpMockError(
                f"the login for {url} cannot be read; run `{command}` and log in again"
            ) from error

    def _write(self, url: str, data: bytes) -> None:
        if self.keyring is not None:
            _answer_of(self.keyring.set_password, url, data.decode())
        path = self._path(url, ".json" if self.keyring is None else ".keyring")
        try:
            make_private_folder(self.folder)
            replace_file(path, data if self.keyring is None else b"")
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> McpMockError:
        """Return the error of a folder, with what decides where it is."""
        named = "" if self.variable is None else f" (it is named by {self.variable})"
        return McpMockError(
            f"logins cannot be kept in {self.folder}{named}: {error.strerror}; set "
            f"{self.variable or _DATA_VARIABLE} to a folder that you can write to"
        )

    def _path(self, url: str, suffix: str) -> Path:
        return self.folder / (hashlib.sha256(url.encode()).hexdigest()[:32] + suffix)


def _answer_of(ask: Callable[..., Answer], *arguments: str) -> Answer:
    """Raise McpMockError for an error of any class, and for no answer in KEYRING_TIMEOUT_S."""
    answer = Future[Answer]()

    def run() -> None:
        try:
            answer.set_result(ask(KEYRING_SERVICE, *arguments))
        except Exception as error:  # noqa: BLE001 (raised where it is waited for)
            answer.set_exception(error)

    # Backends wait for a prompt of the desktop without an end: a thread that no exit waits for.
    Thread(target=run, daemon=True).start()
    try:
        return answer.result(KEYRING_TIMEOUT_S)
    except TimeoutError as error:
        raise McpMockError(
            f"the keyring does not answer within {KEYRING_TIMEOUT_S:g} s; unlock it and try again"
        ) from error
    except Exception as error:
        raise McpMockError(f"the keyring: {error}") from error


def _system_keyring() -> Keyring | None:
    """Return the keyring of the desktop; None on a headless machine, or without the package."""
    # SDKs start servers without this variable: its place is where sd-bus and GLib look then.
    bus = session_bus()
    if bus and "DBUS_SESSION_BUS_ADDRESS" not in os.environ and os.path.exists(bus):
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={bus}"
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        backend = keyring.get_keyring()
        if backend.priority <= 0:
            return None
    except (KeyringError, RuntimeError, OSError):
        return None
    try:
        _answer_of(backend.get_password, "probe")  # a locked or absent one says so only now
    except McpMockError as error:
        if isinstance(error.__cause__, KeyringError | RuntimeError | OSError):
            return None
        raise
    return backend
