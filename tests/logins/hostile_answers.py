"""Answers of authorization servers that are broken or hostile, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from mcpmock.logins.answers import STEP_TIMEOUT_S
from mcpmock.logins.provider import REFRESH_TIMEOUT_S
from tests.logins.memory_issuer import (
    CODES,
    DEVICE,
    FORM,
    ISSUER,
    MCP,
    METADATA,
    ORIGIN,
    PROTECTED,
    REGISTER,
    RESOURCE,
    TOKEN,
    TOKENS,
    Answer,
    Answers,
    bomb,
    drip,
    flood,
)

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
        "needs no login: GET has status 405, POST has status 200; remove --oauth",
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
