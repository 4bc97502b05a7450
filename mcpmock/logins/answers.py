"""`fetch`: one answer to a step of a login, however its server behaves; and what is wrong with it,
in words of our own.

An answer is whole within a deadline and MAX_ANSWER_BYTES, or an error. Nothing of an answer is
shown but its status and, made short, the `error` and `error_description` of OAuth: what else is in
it may be a token, and is often a page of HTML. Models of the SDK check documents, but their errors
show the values, so only the names of members are taken from those.
"""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import aclosing
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx2
import trio
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from mcpmock.channels.http.addresses import reason_of
from mcpmock.errors import McpMockError

from .limits import check_endpoint, shorten, split_scopes

STEP_TIMEOUT_S = 30.0
"""Seconds that servers have for a step, with all requests that it takes."""
MAX_ANSWER_BYTES = 1 << 20
"""The longest answer, after decompression."""
_SECRETS = {"access_token", "client_secret", "code", "code_verifier", "device_code"} | {
    "refresh_token"
}
_TOKEN_MEMBERS = ("access_token", "token_type", "refresh_token")


class Step(StrEnum):
    """What is asked for, as messages name it."""

    PROBE = "the URL of the server"
    RESOURCE = "the metadata of the protected resource"
    ISSUER = "the metadata of the authorization server"
    REGISTRATION = "the client registration"
    DEVICE = "the device authorization"
    TOKEN = "the token endpoint"


def new_client() -> httpx2.AsyncClient:
    """Return a new HTTP client. Requests have the deadline of their step: one for each read
    would never end a drip.
    """
    return httpx2.AsyncClient(timeout=None)


async def fetch(
    http: httpx2.AsyncClient, request: httpx2.Request, step: Step, *, deadline: float
) -> httpx2.Response:
    """Return the answer, decompressed; of PROBE the head alone. Raises McpMockError."""
    check_endpoint(str(request.url), step)
    request.headers["Accept-Encoding"] = "identity"
    place = _place(request)
    try:
        with trio.fail_at(deadline):
            response = await http.send(request, stream=True)
            try:
                body = b"" if step is Step.PROBE else await _body(response, place)
            finally:
                await response.aclose()
    except trio.TooSlowError:
        raise McpMockError(
            f"{place}: no whole answer within {STEP_TIMEOUT_S:g} s; try again later"
        ) from None
    except httpx2.ConnectError as error:
        raise McpMockError(f"cannot reach {place}: {shorten(reason_of(error))}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise McpMockError(f"{place}: the answer is broken off, or not HTTP") from None
    answer = _replaced(response, response.status_code, body)
    if request.method == "GET":  # what is posted is for this server alone
        answer.next_request = response.next_request
    return answer


def token_answer(response: httpx2.Response) -> httpx2.Response:
    """Return the answer of a token endpoint for the SDK, with the members that are used: a lifetime
    is not, as a refresh is due when a token is refused. GitHub's are forms, and its errors have
    200.
    """
    if response.status_code not in (200, 201):
        return response
    told = _members(response)
    if "access_token" not in told and "error" in told:
        return _replaced(response, 400, response.content)
    kept = {name: told[name] for name in _TOKEN_MEMBERS if told.get(name) is not None}
    if isinstance(told.get("scope"), str):
        kept["scope"] = " ".join(split_scopes(told["scope"]))
    for name in ("access_token", "refresh_token"):
        value = kept.get(name, "" if name == "access_token" else "none")
        # RFC 6749, A.12: what a header field could not carry is no token.
        if not (isinstance(value, str) and value.isascii() and value.isprintable() and value):
            problem = "is missing" if name not in kept else "is wrong"
            raise McpMockError(f"{_place(response.request)}: {name} {problem} in the answer")
    return _replaced(response, 200, to_json(kept))


def metadata_answer(response: httpx2.Response) -> httpx2.Response:
    """Return a document of metadata for the SDK, with scopes only that can be some."""
    told = _members(response)
    if isinstance(scopes := told.get("scopes_supported"), list):
        words = " ".join(scope for scope in scopes if isinstance(scope, str))
        told["scopes_supported"] = split_scopes(words)
        return _replaced(response, response.status_code, to_json(told))
    return response


def problem_of(response: httpx2.Response, model: type[BaseModel]) -> str | None:
    """Return what is wrong with a document, if anything is."""
    try:
        model.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if not first["loc"]:
            return "it is not a JSON object"
        word = "missing" if first["type"] == "missing" else "wrong"
        return f"{first['loc'][0]} is {word}"
    return None


def check_answer(response: httpx2.Response, step: Step, model: type[BaseModel]) -> None:
    """Raise McpMockError unless the answer is such a document."""
    if response.status_code not in (200, 201):
        raise error_answer(response)
    if (problem := problem_of(response, model)) is not None:
        raise McpMockError(f"{_place(response.request)}: bad answer from {step}: {problem}")


def error_of(response: httpx2.Response) -> str:
    """Return the `error` of OAuth in an answer; empty, if there is none."""
    error = _members(response).get("error")
    return error if isinstance(error, str) else ""


def error_answer(response: httpx2.Response) -> McpMockError:
    """Return what a response that is not OAuth says."""
    place, error = _place(response.request), error_of(response)
    if not error:
        redirect = ", a redirect that is not followed" if response.is_redirect else ""
        return McpMockError(f"{place} answers with status {response.status_code}{redirect}")
    why = _members(response).get("error_description")
    text = f"{error} ({why})" if isinstance(why, str) and why else error
    for secret in _secrets_in(response.request):
        text = text.replace(secret, "***")
    return McpMockError(f"{place} refuses the login: {shorten(text)}")


def _place(request: httpx2.Request) -> str:
    """Return a URL as messages name it: what stands behind the path may be secret."""
    return shorten(str(request.url).partition("?")[0])


def _replaced(response: httpx2.Response, status: int, body: bytes) -> httpx2.Response:
    dropped = {b"content-encoding", b"content-length", b"transfer-encoding"}
    # The raw ones: httpx2 gives no head of a text that is not ASCII.
    fields = [(name, text) for name, text in response.headers.raw if name.lower() not in dropped]
    return httpx2.Response(status, headers=fields, content=body, request=response.request)


def _members(response: httpx2.Response) -> dict[str, Any]:
    """Return the members of a JSON object or a form; none of anything else."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return dict(parse_qsl(response.content.decode("ascii", "replace")))
    try:
        value = from_json(response.content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _secrets_in(request: httpx2.Request) -> Iterator[str]:
    """Yield what was sent that must not come back to a terminal."""
    form = parse_qsl(request.content.decode("ascii", "replace"))
    yield from (value for name, value in form if name in _SECRETS)
    kind, _, login = request.headers.get("Authorization", "").partition(" ")
    if kind == "Basic":
        yield login
        yield unquote(b64decode(login).decode().partition(":")[2])


async def _body(response: httpx2.Response, place: str) -> bytes:
    """Read a body. Raises McpMockError beyond MAX_ANSWER_BYTES."""
    body = bytearray()
    # Not decoded by httpx2: it inflates each piece whole, which makes 64 MB of 64 KB.
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                break
    data = _decompressed(bytes(body), response.headers.get("Content-Encoding", "identity"))
    if data is None:
        raise McpMockError(f"{place}: the answer is compressed in a way that was not asked for")
    if max(len(body), len(data)) > MAX_ANSWER_BYTES:
        raise McpMockError(f"{place}: the answer has more than {MAX_ANSWER_BYTES >> 20} MiB")
    return data


def _decompressed(body: bytes, coding: str) -> bytes | None:
    """Stop a byte behind MAX_ANSWER_BYTES. None for what cannot be decompressed whole."""
    match coding.strip().lower():
        case "identity" | "":
            return body
        case "gzip" | "x-gzip" | "deflate":
            inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
            try:
                data = inflater.decompress(body, MAX_ANSWER_BYTES + 1)
            except zlib.error:
                return None
            return data if inflater.eof or len(data) > MAX_ANSWER_BYTES else None
        case _:
            return None
