"""The login on the requests to a server: what is said, and when nothing may wait. The protocol is
in `tests/e2e/test_oauth.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.logins.credentials import OAuthCredentials
from mcpmock.logins.token_store import TokenStore
from mcpmock.protocol.messages import HttpResponse
from tests.logins.test_token_store import URL, login, spoil
from tests.support.shell import HOSTILE, split

REFUSED = HttpResponse(401, "Unauthorized", [])
MORE = ("WWW-Authenticate", 'Bearer error="insufficient_scope", scope="b c"')
STEP_UP = HttpResponse(403, "Forbidden", [MORE])


def opened(store: TokenStore, said: list[str]) -> OAuthCredentials:
    credentials = OAuthCredentials(URL, store)
    credentials.open(said.append)
    return credentials


async def test_without_a_login(tmp_path: Path) -> None:
    """It is said once, however many requests are refused, and not before: a server may need none.
    Nothing is sent.
    """
    said: list[str] = []
    credentials = opened(TokenStore(tmp_path), said)
    assert [] == said

    told = [await credentials.renew(REFUSED, []) for _ in range(2)]

    assert [] == credentials.fields()
    assert [f"there is no login for {URL}; run `mcpmock login {URL}`"] == said
    assert said * 2 == told


async def test_a_login_that_is_made_meanwhile(tmp_path: Path) -> None:
    """It is taken with the next refusal, and the recording hears of it."""
    store, said, seen = TokenStore(tmp_path), list[str](), list[object]()
    credentials = opened(store, said)
    credentials.watch(seen.append)
    store.save(login())

    assert await credentials.renew(REFUSED, []) is None
    assert [("Authorization", "Bearer t")] == credentials.fields()
    assert [{"how": "oauth", "issuer": "https://issuer.example", "scopes": ["a", "b"]}] == seen


async def test_refusals_together(tmp_path: Path) -> None:
    """What was refused with an older token than the one of now is just sent again."""
    store, said = TokenStore(tmp_path), list[str]()
    store.save(login())
    credentials = opened(store, said)

    assert await credentials.renew(REFUSED, [("Authorization", "Bearer older")]) is None
    assert [] == said


async def test_a_login_that_cannot_be_refreshed(tmp_path: Path) -> None:
    """Without a refresh token the user has to log in."""
    store, said = TokenStore(tmp_path), list[str]()
    store.save(login())
    credentials = opened(store, said)

    told = await credentials.renew(REFUSED, credentials.fields())

    assert [f"{URL} does not take the login any more; run `mcpmock login {URL}`"] == said == [told]


async def test_more_scopes_and_nobody_there(tmp_path: Path) -> None:
    """The command asks for what there was and what is missing."""
    store, said = TokenStore(tmp_path), list[str]()
    store.save(login())
    credentials = opened(store, said)

    await credentials.renew(STEP_UP, credentials.fields())

    assert [f"{URL} needs more scopes; run `mcpmock login {URL} --scope 'a b c'`"] == said


async def test_scopes_of_a_hostile_server(tmp_path: Path) -> None:
    """What others have written is never run: the command has scopes only, as words of a shell."""
    store, said = TokenStore(tmp_path), list[str]()
    store.save(login())
    credentials = opened(store, said)
    hostile = HttpResponse(
        403, "Forbidden", [("WWW-Authenticate", f'Bearer scope="{" ".join(HOSTILE)} {"x" * 9999}"')]
    )

    told = await credentials.renew(hostile, credentials.fields())

    assert [told] == said
    assert told is not None
    command = told.partition("run `")[2].removesuffix("`")
    [[*words, scopes]] = split([command])
    assert ["mcpmock", "login", URL, "--scope"] == words
    assert scopes.startswith("a b $(touch ")
    assert scopes.isascii()
    assert "\\" not in scopes
    assert len(scopes) < 100


async def test_a_server_in_the_clear(tmp_path: Path) -> None:
    """No token is sent where others could read it; the client is told so when it is refused."""
    url, store, said = "http://192.0.2.2/mcp", TokenStore(tmp_path), list[str]()
    store.save(login(url=url))
    credentials = OAuthCredentials(url, store)
    credentials.open(said.append)

    assert [] == credentials.fields()
    assert [] == said
    assert "not encrypted" in (await credentials.renew(REFUSED, []) or "")
    assert [] == credentials.fields()


async def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names both commands that lead to a login."""
    monkeypatch.setattr("mcpmock.logins.credentials.find_spec", lambda _: None)
    credentials = opened(TokenStore(tmp_path), [])

    told = await credentials.renew(REFUSED, [])

    commands = f"run `pip install 'mcpmock[oauth]'`, then run `mcpmock login {URL}`"
    assert f"there is no login for {URL}; {commands}" == told


async def test_a_store_that_cannot_be_read(tmp_path: Path) -> None:
    """The request is refused in words; the session goes on."""
    store, said = TokenStore(tmp_path), list[str]()
    store.save(login())
    credentials = opened(store, said)
    spoil(tmp_path)

    told = await credentials.renew(REFUSED, credentials.fields())

    assert told is not None
    assert "cannot be read" in told
