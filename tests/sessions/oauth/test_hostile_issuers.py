"""Authorization servers that are broken or hostile: whatever one answers, a login or a refresh ends
in its time, with one line of our own words and no secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import parse_qs

import attrs
import pytest
import trio
from trio.testing import MockClock

from mcpmock.errors import McpMockError
from mcpmock.printable import printable
from mcpmock.sessions.oauth.answers import MAX_ANSWER_BYTES, STEP_TIMEOUT_S
from mcpmock.sessions.oauth.provider import REFRESH_TIMEOUT_S, LoginOptions, log_in, refresh
from mcpmock.sessions.oauth.token_store import ServerLogin, TokenStore
from tests.sessions.oauth.memory_issuer import (
    CODES,
    DEVICE,
    FORM,
    ISSUER,
    MCP,
    METADATA,
    ORIGIN,
    PIECE_BYTES,
    PROTECTED,
    REGISTER,
    RESOURCE,
    TOKEN,
    TOKENS,
    Answer,
    Answers,
    MemoryIssuer,
    bomb,
    drip,
    flood,
)
from tests.sessions.oauth.test_token_store import URL

LINE_CHARACTERS = 600
HTML = Answer(b"<html>SECRET</html>" * 50_000, 500)
DRIP = Answer(drip, rest_s=5)
FLOOD = Answer(flood(600 << 20))
BOMB = bomb(300 << 20)
HEAD = Answer(status=307, fields={"Location": "https://other.example/token"})
PLAIN = "http://192.0.2.2:9/x"
TOKEN_PLACE = f"{ORIGIN}{TOKEN}"


@attrs.frozen
class Row:
    """`words` are in the line; `after_s` is when it comes, if that is not at once."""

    changes: Mapping[str, Answers]
    words: str
    how: str = "login"
    after_s: float = 0


def without(document: Mapping[str, object], name: str) -> Answer:
    return Answer({key: value for key, value in document.items() if key != name})


def changed(document: Mapping[str, object], **members: object) -> Answer:
    return Answer({**document, **members})


def challenge(text: str) -> Answer:
    return Answer(status=401, fields={"WWW-Authenticate": text})


def echo(secret: str) -> Answer:
    return Answer({"error": "invalid_request", "error_description": f"{secret} " * 99}, 400)


ROWS = {
    "open-server": Row(
        {MCP: [Answer(status=405), Answer()]},
        "asks for no login: GET has status 405, POST has status 200; leave out --oauth",
    ),
    "wrong-path": Row(
        {MCP: Answer(status=404)}, "GET has status 404, POST has status 404; correct the URL"
    ),
    "challenge-of-no-url": Row(
        {MCP: challenge("Bearer resource_metadata=http://[é")},
        "cannot be used",
    ),
    "challenge-in-the-clear": Row(
        {MCP: challenge(f'Bearer resource_metadata="{PLAIN}"')},
        "not encrypted",
    ),
    "resource-flood": Row({RESOURCE: FLOOD}, "more than 1 MiB"),
    "resource-bomb": Row({RESOURCE: BOMB}, "more than 1 MiB"),
    "resource-drip": Row({RESOURCE: DRIP}, "within 30 s", after_s=STEP_TIMEOUT_S),
    "resource-elsewhere": Row(
        {RESOURCE: changed(PROTECTED, resource="https://other.example/" + "x" * 100_000)},
        "Protected resource https://other",
    ),
    "resource-of-nobody": Row(
        {RESOURCE: changed(PROTECTED, authorization_servers=[]), ISSUER: Answer(status=404),
         REGISTER: Answer(status=404)},
        "authorization_servers is wrong",
    ),
    "resource-in-the-clear": Row(
        {RESOURCE: changed(PROTECTED, authorization_servers=["http://192.0.2.2"])}, "not encrypted"
    ),
    "issuer-flood": Row({ISSUER: FLOOD}, "more than 1 MiB"),
    "issuer-bomb": Row({ISSUER: BOMB}, "more than 1 MiB"),
    "issuer-brotli": Row(
        {ISSUER: Answer(b"x", fields={"Content-Encoding": "br"})}, "compressed in a way"
    ),
    "issuer-bad-gzip": Row(
        {ISSUER: Answer(b"x", fields={"Content-Encoding": "gzip"})}, "compressed in a way"
    ),
    "issuer-drip": Row({ISSUER: DRIP}, "within 30 s", after_s=STEP_TIMEOUT_S),
    "issuer-deep": Row(
        {ISSUER: Answer(b"[" * 900_000), REGISTER: Answer(status=404)}, "is not a JSON object"
    ),
    "issuer-incomplete": Row(
        {ISSUER: without(METADATA, "token_endpoint"), REGISTER: Answer(status=404)},
        "token_endpoint is missing",
    ),
    "issuer-another": Row(
        {ISSUER: changed(METADATA, issuer="https://other.example")}, "issuer mismatch"
    ),
    "token-endpoint-in-the-clear": Row(
        {ISSUER: changed(METADATA, token_endpoint=PLAIN)}, "not encrypted"
    ),
    "page-in-the-clear": Row(
        {ISSUER: changed(METADATA, authorization_endpoint=PLAIN)}, "not encrypted"
    ),
    "page-flood": Row(
        {ISSUER: changed(METADATA, authorization_endpoint=f"{ORIGIN}/{'x' * 500_000}")},
        "not a URL that a login can use",
    ),
    "registration-html": Row({REGISTER: HTML}, f"{REGISTER} answers with status 500"),
    "registration-flood": Row({REGISTER: FLOOD}, "more than 1 MiB"),
    "registration-list": Row({REGISTER: Answer(["SECRET"], 201)}, "it is not a JSON object"),
    "registration-empty": Row({REGISTER: Answer({}, 201)}, "client_id is missing"),
    "registration-type": Row({REGISTER: Answer({"client_id": 7}, 201)}, "client_id is wrong"),
    "registration-method": Row(
        {REGISTER: Answer({"client_id": "c", "token_endpoint_auth_method": "x" * 900_000}, 201)},
        "unsupported token_endpoint_auth_method",
    ),
    "registration-id-flood": Row(
        {REGISTER: Answer({"client_id": "c" * 900_000}, 201)}, "the URL of the page is too long"
    ),
    "token-html": Row({TOKEN: HTML}, f"{TOKEN} answers with status 500"),
    "token-bad-form": Row(
        {TOKEN: Answer(b"refresh_token=SECRET", fields={"Content-Type": FORM})},
        "access_token is missing",
    ),
    "token-form-as-json": Row({TOKEN: Answer(b"access_token=SECRET")}, "access_token is missing"),
    "token-missing": Row({TOKEN: without(TOKENS, "access_token")}, "access_token is missing"),
    "token-type": Row({TOKEN: changed(TOKENS, access_token=["SECRET"])}, "access_token is wrong"),
    "token-injection": Row(
        {TOKEN: changed(TOKENS, access_token="SECRET\r\nX: y")}, "access_token is wrong"
    ),
    "token-kind": Row({TOKEN: changed(TOKENS, token_type="SECRET")}, "token_type is wrong"),
    "token-bomb": Row({TOKEN: BOMB}, "more than 1 MiB"),
    "token-drip": Row({TOKEN: DRIP}, "within 30 s", after_s=STEP_TIMEOUT_S),
    "token-redirect": Row({TOKEN: HEAD}, "a redirect that is not followed"),
    "token-error": Row(
        {TOKEN: Answer({"error": "server_error\x1b[2J\n", "error_description": "x" * 90_000}, 400)},
        r"server_error\u001b[2J\u000a (xxx",
    ),
    "token-echo": Row({TOKEN: echo("SECRET-code")}, "invalid_request (***"),
    "token-error-of-200": Row({TOKEN: Answer({"error": "bad_code"})}, "the login: bad_code"),
    "device-list": Row({DEVICE: Answer([])}, "it is not a JSON object", "device"),
    "device-codeless": Row({DEVICE: without(CODES, "user_code")}, "user_code is missing", "device"),
    "device-secretless": Row(
        {DEVICE: without(CODES, "device_code")}, "device_code is missing", "device"
    ),
    "device-pageless": Row(
        {DEVICE: without(CODES, "verification_uri")}, "verification_uri is missing", "device"
    ),
    "device-script": Row(
        {DEVICE: changed(CODES, verification_uri="javascript:alert(1)")}, "not a URL", "device"
    ),
    "device-code-flood": Row(
        {DEVICE: changed(CODES, user_code="x" * 500_000)}, "user_code is wrong", "device"
    ),
    "device-in-the-clear": Row(
        {ISSUER: changed(METADATA, device_authorization_endpoint=PLAIN)}, "not encrypted", "device"
    ),
    "device-denied": Row(
        {TOKEN: Answer({"error": "access_denied"}, 400)}, "the login: access_denied", "device"
    ),
    "device-echo": Row({TOKEN: echo("SECRET-device")}, "invalid_request (***", "device"),
    "device-poll-drip": Row({TOKEN: DRIP}, "within 30 s", "device", STEP_TIMEOUT_S),
    "refresh-drip": Row({TOKEN: DRIP}, "30 s", "refresh", REFRESH_TIMEOUT_S),
    "refresh-flood": Row({TOKEN: FLOOD}, "more than 1 MiB", "refresh"),
    "refresh-html": Row({TOKEN: HTML}, "answers with status 500", "refresh"),
    "refresh-type": Row({TOKEN: changed(TOKENS, access_token=7)}, "is wrong", "refresh"),
    "refresh-redirect": Row({TOKEN: HEAD}, "a redirect that is not followed", "refresh"),
}  # fmt: skip


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
    over = pytest.raises(McpMockError, match="nobody has entered the code")

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
