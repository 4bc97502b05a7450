"""Canaries: secrets in every spelling and every place, and whether one is left in a cassette."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote_to_bytes

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
    Stderr,
)

CANARY = "c4n/Ry+v9\u00e9=q'w.Zx7"
"""Has what JSON, percent encoding and base64 each spell otherwise."""


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _all_escaped(text: str) -> str:
    """JSON in a string, with each letter as an escape."""
    return '{"v":"' + "".join(f"\\u{ord(character):04x}" for character in text) + '"}'


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda v: v,
    "in a sentence": lambda v: f"the value is {v}, as before",
    "inside a word": lambda v: f"x{v}y",
    "JSON in a string": lambda v: json.dumps({"v": [v]}, indent=1),
    "JSON in JSON in a string": lambda v: json.dumps({"a": json.dumps({"b": v})}),
    "escaped letters": _all_escaped,
    "escaped slashes": lambda v: json.dumps({"v": v}).replace("/", "\\/"),
    "percent": lambda v: f"https://h/?q={quote(v, safe='')}&page=2",
    "base64": _b64,
    "base64 in a sentence": lambda v: f"here it is: {_b64('1 ' + v + ' rest')} (base64)",
    "base64 behind one byte": lambda v: _b64("k" + v),
    "base64 behind two bytes": lambda v: _b64("kk" + v + "!"),
    "URL-safe base64": lambda v: (
        base64.urlsafe_b64encode(("?>~" + v).encode()).decode().rstrip("=")
    ),
    "base64 in lines": lambda v: base64.encodebytes(("filler text " * 9 + v).encode()).decode(),
    "data URL": lambda v: f"data:text/plain;base64,{_b64(f'v: {v}')}",
    "percent in JSON": lambda v: json.dumps({"u": f"a%20{quote(v, safe='')}"}),
    "JSON in base64": lambda v: _b64(json.dumps({"v": v, "w": "text"})),
}


def _message(value: object, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **more, "x": value}).encode()


PLACES: dict[str, Callable[[str], Frame]] = {
    "arguments": lambda t: Frame(
        C2S, _message(0, id=1, method="tools/call", params={"arguments": {"a": t}})
    ),
    "list of arguments": lambda t: Frame(
        C2S, _message(0, id=1, method="m", params={"a": [1, [t]]})
    ),
    "result": lambda t: Frame(
        S2C, _message(0, id=1, result={"content": [{"type": "text", "text": t}]})
    ),
    "structured content": lambda t: Frame(
        S2C, _message(0, id=1, result={"structuredContent": {"r": {"s": t}}})
    ),
    "resource": lambda t: Frame(
        S2C, _message(0, id=1, result={"contents": [{"uri": "file:///a", "text": t}]})
    ),
    "error message": lambda t: Frame(S2C, _message(0, id=1, error={"code": 1, "message": t})),
    "error data": lambda t: Frame(
        S2C, _message(0, id=1, error={"code": 1, "message": "", "data": {"d": t}})
    ),
    "log": lambda t: Frame(S2C, _message(0, method="notifications/message", params={"data": t})),
    "meta": lambda t: Frame(S2C, _message(0, id=1, result={"_meta": {"a/b": t}})),
    "member name": lambda t: Frame(S2C, _message(0, id=1, result={"map": {t: 1}})),
    "batch": lambda t: Frame(C2S, b"[" + _message(t, id=1, method="m") + b"]"),
    "banner": lambda t: Frame(S2C, b"ready: " + t.encode()),
    "torn line": lambda t: Frame(S2C, _message(t)[:-1], b""),
    "pretty-printed": lambda t: Frame(
        S2C, json.dumps({"id": 1, "result": {"v": t}}, indent=1).encode(), exchange=1
    ),
    "not UTF-8": lambda t: Frame(S2C, b"\xff " + t.encode() + b" \xfe"),
    "standard error": lambda t: Frame(S2C, f"12:00 INFO {t}\n".encode(), b"", Stderr()),
    "HTTP message": lambda t: Frame(S2C, _message(0, id=1, result={"text": t}), exchange=3),
    "HTTP page": lambda t: Frame(S2C, f"<p>{t}</p>".encode(), fact=HttpBody(), exchange=3),
    "SSE comment": lambda t: Frame(S2C, fact=SseMeta(comment=t.replace("\n", " ")), exchange=3),
    "SSE id": lambda t: Frame(
        S2C, fact=SseMeta(id=t.replace("\n", " "), event="message"), exchange=3
    ),
    "request target": lambda t: Frame(
        C2S, fact=HttpRequest("POST", f"/mcp?q={quote(t, safe='')}", []), exchange=3
    ),
    "request field": lambda t: Frame(
        C2S, fact=HttpRequest("POST", "/", [("X-Echo", t.replace("\n", " "))]), exchange=3
    ),
    "response field": lambda t: Frame(
        S2C, fact=HttpResponse(200, "OK", [("X-Echo", t.replace("\n", " "))]), exchange=3
    ),
}


def leaks(data: bytes, secret: str, depth: int = 4) -> bool:
    """Whether a secret is in these bytes, in any spelling: the slow and certain way."""
    wanted = secret.encode()
    return any(wanted in text for text in _decodings(data, depth, {}))


def _decodings(data: bytes, depth: int, known: dict[bytes, int]) -> Iterator[bytes]:
    """Each text once at each depth; `known` says down to which."""
    if known.get(data, -1) >= depth:
        return
    known[data] = depth
    yield data
    if depth == 0:
        return
    inner = [unquote_to_bytes(data)] if b"%" in data else []
    if b"\\" in data:
        inner.append(re.sub(rb'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])', _unescape, data))
    for run in re.findall(rb"[A-Za-z0-9+/_-]{8,}(?:(?:\r?\n|\\n)[A-Za-z0-9+/]+)*", data):
        letters = (
            run.replace(b"\\n", b"").replace(b"\n", b"").translate(bytes.maketrans(b"-_", b"+/"))
        )
        for start in range(4):
            part = letters[start:]
            try:
                inner.append(base64.b64decode(part[: len(part) // 4 * 4]))
                inner.append(base64.b64decode(part + b"=" * (-len(part) % 4)))
            except binascii.Error:
                pass
    for text in inner:
        if text != data:
            yield from _decodings(text, depth - 1, known)


def _unescape(match: re.Match[bytes]) -> bytes:
    spelled = json.loads(b'"' + match[0] + b'"')
    return str(spelled).encode("utf-8", "surrogatepass")


WORD = "c4nRy9vZx7Qw3Lm5"
"""A canary that can stand in every format."""
GIVEN_AWAY: dict[str, str] = {
    "a member": json.dumps({"user": "u", "db_password": WORD}),
    "a list": json.dumps({"secrets": [WORD, "x"]}),
    "a setting": f"# settings\nPORT=80\nexport API_KEY={WORD} # mine\n",
    "a quoted setting": f'[db]\npassword = "{WORD}"\n',
    "a header": f"GET / HTTP/1.1\nX-Api-Key: {WORD}\nHost: h\n",
    "YAML": f"db:\n  user: u\n  password: {WORD}\n",
    "Python": f"{{'user': 'u', 'token': '{WORD}'}}",
    "an authorization": f"Authorization: Bearer {WORD}",
    "Basic": f"Authorization: Basic {_b64('user:' + WORD)}",
    "a URL": f"postgres://user:{WORD}@host/db?x=1",
    "a query": f"https://h/a?page=1&access_token={WORD}",
    "GitHub": f"see ghp_{WORD}{WORD}",
    "JWT": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{WORD}",
    "a key": f"-----BEGIN PRIVATE KEY-----\n{WORD}{WORD}\n-----END PRIVATE KEY-----\n",
    "an encrypted key": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
    f"DEK-Info: AES-256-CBC,0A1B\n\n{WORD}{WORD}\n-----END RSA PRIVATE KEY-----\n",
    "half a key": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{WORD}{WORD}\n{WORD}",
}
"""Texts in which a name or a format gives it away."""
