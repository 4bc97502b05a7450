"""Authorization servers that are broken or hostile: whatever one answers, a login or a refresh ends
in its time, with one line of our own words and no secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import trio
from trio.testing import MockClock

from mcpmock.errors import McpMockError
from mcpmock.logins.answers import MAX_ANSWER_BYTES
from mcpmock.logins.provider import REFRESH_TIMEOUT_S, LoginOptions, log_in, refresh
from mcpmock.logins.token_store import ServerLogin, TokenStore
from mcpmock.printable import printable
from tests.logins.hostile_answers import PLAIN, ROWS, Row, challenge, changed
from tests.logins.memory_issuer import (
    CODES,
    DEVICE,
    FORM,
    MCP,
    METADATA,
    ORIGIN,
    PIECE_BYTES,
    PROTECTED,
    RESOURCE,
    TOKEN,
    TOKENS,
    Answer,
    Answers,
    MemoryIssuer,
)
from tests.logins.test_token_store import URL

LINE_CHARACTERS = 600


def stored() -> ServerLogin:
    return ServerLogin(
        url=URL,
        issuer=ORIGIN,
        client={"client_id": "c"},
        tokens=TOKENS,
        server_metadata=METADATA,
        resource_metadata=PROTECTED,
    )


async def play(row: Row, store: TokenStore, said: list[str]) -> None:
    """The login or refresh of a row."""
    if row.how == "refresh":
        store.save(stored())
        await refresh(store, stored())
    else:
        await log_in(URL, store, LoginOptions(device=row.how == "device"), said.append)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_one_line(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """It ends in its time, is told in one short line without a secret, and no more than an answer
    may have was read.
    """
    issuer, said = MemoryIssuer.changed(row.changes), list[str]()
    issuer.install(monkeypatch)
    store = TokenStore(tmp_path)
    began = trio.current_time()

    with pytest.raises(McpMockError) as caught:
        await play(row, store, said)

    line = str(caught.value)
    assert row.words in line
    assert row.after_s == trio.current_time() - began
    assert printable(line) == line
    assert len(line) < LINE_CHARACTERS
    assert not [secret for secret in ("SECRET", *issuer.verifiers) if secret in line + str(said)]
    assert issuer.sent_bytes <= MAX_ANSWER_BYTES + PIECE_BYTES
    assert not [request for request in issuer.asked if request.url.host != "mcp.example"]


ENDLESS = json.loads("9" * 400)
SOUND = {
    "form": {
        TOKEN: Answer(
            b"access_token=SECRET-access&scope=a&token_type=bearer&refresh_token=r",
            fields={"Content-Type": f"{FORM}; charset=utf-8"},
        )
    },
    "expires-never": {TOKEN: changed(TOKENS, expires_in=ENDLESS)},
    "expires-now": {TOKEN: changed(TOKENS, expires_in=0)},
    "expires-in-words": {TOKEN: changed(TOKENS, expires_in="soon")},
    "page-at-any-path": {RESOURCE: [Answer(b"<html>"), Answer(PROTECTED)]},
    "within-the-origin": {
        RESOURCE: Answer(status=307, fields={"Location": f"{RESOURCE}/"}),
        f"{RESOURCE}/": Answer(PROTECTED),
    },
    "post-alone": {
        MCP: [
            Answer(status=405),
            challenge('Bearer scope="a"'),
        ]
    },
    "stream-without-an-event": {MCP: [Answer(status=404), Answer(status=401)]},
}


@pytest.mark.parametrize("changes", SOUND.values(), ids=SOUND)
async def test_what_works(
    changes: Mapping[str, Answers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Odd answers that a login can do with: a form, any lifetime, a page where there are no
    metadata, a redirect within the origin, a GET that says nothing.
    """
    MemoryIssuer.changed(changes).install(monkeypatch)

    login = await log_in(URL, TokenStore(tmp_path), LoginOptions(), lambda _: None)

    assert "SECRET-access" == login.access_token


async def test_scopes_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not asked for, whoever names them."""
    issuer = MemoryIssuer.changed(
        {
            MCP: challenge('Bearer scope="a\\b ok x\u00e9y"'),
            RESOURCE: changed(PROTECTED, scopes_supported=['a"b', "ok", "x\ny", 7]),
        }
    )
    issuer.install(monkeypatch)

    await log_in(URL, TokenStore(tmp_path), LoginOptions(), lambda _: None)

    assert ["ok"] == parse_qs(issuer.pages[0])["scope"]


PENDING = Answer({"error": "authorization_pending"}, 400)
SLOWER = Answer({"error": "slow_down"}, 400)


@pytest.mark.parametrize(
    ("codes", "answers", "waited_s"),
    [
        (CODES, [PENDING, PENDING, Answer(TOKENS)], 10),
        (CODES, [SLOWER, PENDING, Answer(TOKENS)], 20),
        ({**CODES, "interval": 0}, [PENDING, Answer(TOKENS)], 1),
        ({**CODES, "interval": ENDLESS}, [PENDING, Answer(TOKENS)], 60),
        ({**CODES, "expires_in": 12}, [PENDING], 12),
    ],
)
async def test_a_device(
    codes: dict[str, object],
    answers: list[Answer],
    waited_s: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    """It is asked for as often as the server wants, never more than once a second, and until the
    code is over.
    """
    issuer = MemoryIssuer.changed({DEVICE: Answer(codes), TOKEN: answers})
    issuer.install(monkeypatch)
    said: list[str] = []
    ends = codes["expires_in"] == waited_s or codes["interval"] == ENDLESS
    over = pytest.raises(McpMockError, match="the code was not entered in time")

    with over if ends else nullcontext():
        await log_in(URL, TokenStore(tmp_path), LoginOptions(device=True), said.append)

    assert waited_s == trio.current_time()
    assert [f"open {ORIGIN}{DEVICE} on any device and enter the code ABCD"] == said


async def test_a_refresh_behind_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """It ends in its time too, and nothing is sent."""
    issuer, store = MemoryIssuer.changed({}), TokenStore(tmp_path)
    issuer.install(monkeypatch)
    store.save(stored())

    with store.locked(URL), pytest.raises(McpMockError, match="no refresh of the login within"):
        await refresh(store, stored())

    assert REFRESH_TIMEOUT_S == trio.current_time()
    assert [] == issuer.asked


@pytest.mark.parametrize(
    ("status", "error"), [(400, "invalid_grant"), (200, "bad_refresh_token"), (401, "")]
)
async def test_a_refresh_that_is_refused(
    status: int, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login is worth nothing any more."""
    MemoryIssuer.changed({TOKEN: Answer({"error": error}, status)}).install(monkeypatch)
    store = TokenStore(tmp_path)
    store.save(stored())

    assert await refresh(store, stored()) is None


async def test_a_server_in_the_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent to it, and the line says what to do."""
    issuer = MemoryIssuer.changed({})
    issuer.install(monkeypatch)

    with pytest.raises(McpMockError, match="use one with https://, or a tunnel"):
        await log_in(PLAIN, TokenStore(tmp_path), LoginOptions(), lambda _: None)

    assert [] == issuer.asked
