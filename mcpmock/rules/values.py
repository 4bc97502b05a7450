"""Rules of single values wherever a message has them: Base64 and MIME types of contents, URIs, the
keys of `_meta` and of extensions, the trace context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.methods import LATEST, LISTS, REVISIONS

from .context import PREFIX, CheckedMessage, Object, as_object, place, short
from .specification import Breach

Steps = tuple[str | int, ...]
"""The way from a message to a value in it."""

HINT = re.compile(rb'"(?:blob|data|uri|url|_meta|extensions)"')
"""What is in each message that these rules can find something in."""
_BASE64 = re.compile(r"([A-Za-z0-9+/]*)(={0,2})")
_MIME_TYPE = re.compile(r"[!#$%&'*+.^`|~\w-]+/[!#$%&'*+.^`|~\w-]+\s*(;.*)?", re.ASCII)
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:([\w.~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*", re.ASCII
)
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = r"(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)?"
_PREFIXED = rf"{_LABEL}(?:\.{_LABEL})*/{_NAME}"
_KEY = re.compile(rf"{_PREFIXED}|{_NAME}", re.ASCII)
_PREFIXED_KEY = re.compile(_PREFIXED, re.ASCII)
# W3C Trace Context, 3.2.2: version ff is invalid, 00 has these four fields and no more.
TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}"
    r"(?:(?<!^00.{53})-.*)?"
)
"""The ids of a trace and of a span, as `traceparent` has them."""
_TRACE_MEMBER = re.compile(r"\s*([\w!#$%&'*+.^`|~@/-]+\s*=[^,]*)?", re.ASCII)
"""A member of `tracestate` or `baggage`."""
_IMAGES = ("image", "audio")
_MAX_DEPTH = 4
"""How deep contents and `_meta` are nested: a message, its content, a tool result in it, its
content.
"""
_MAX_ITEMS = 10_000
_NESTED = {
    *("content", "resource", "messages", "contents", "task", "roots", "tasks"),
    *LISTS.values(),
}
"""The members in which contents, and objects with a `_meta`, stand."""
_JUDGED = {"data", "mimeType", "blob", "_meta", "uri"}
"""The members that are judged wherever they stand."""
_WITH_URI = ("resource", "contents", "resources", "roots", "params")
"""The members in which an object with a URI stands."""
_CAPABILITIES = f"{PREFIX}clientCapabilities"
_URL = ("The url parameter MUST contain a valid URL.", "client/elicitation")
_EXTENSION_KEYS = (
    "Extension identifiers MUST follow the _meta key naming rules, with a mandatory prefix.",
    "basic/versioning",
)


def check_message(checked: CheckedMessage) -> Iterator[Breach]:
    """Yield the breaches in the values of a message."""
    for name, part in (("params", checked.params), ("result", checked.result or {})):
        if part:
            yield from _check_part(checked, (name,), part)
    asked = as_object(as_object(checked.error).get("data")).get("elicitations")
    for index, one in enumerate(asked if isinstance(asked, list) else ()):
        yield from _check_url(as_object(one), ("error", "data", "elicitations", index))


def is_base64(text: str) -> bool:
    """Return whether a text is Base64 (RFC 4648, 4), white space apart, with or without padding."""
    found = _BASE64.fullmatch(text) or _BASE64.fullmatch("".join(text.split()))
    if found is None:
        return False
    left = len(found[1]) % 4
    return left != 1 and left + len(found[2]) <= (4 if left else 0)


def is_uri(text: str) -> bool:
    """Return whether a text is a URI by its characters (RFC 3986), with a scheme."""
    return _URI.fullmatch(text) is not None or SECRET_MARK in text


def _check_part(checked: CheckedMessage, steps: Steps, part: Object) -> Iterator[Breach]:
    """Check the params or the result of a message."""
    yield from _check_contents(checked, steps, part)
    if checked.method == "elicitation/create":
        yield from _check_url(part, steps)
    for name, one in as_object(part.get("inputRequests")).items():
        inside = (*steps, "inputRequests", name, "params")
        params = as_object(as_object(one).get("params"))
        yield from _check_url(params, inside)
        yield from _check_contents(checked, inside, params)
    for name, one in as_object(part.get("inputResponses")).items():
        yield from _check_contents(checked, (*steps, "inputResponses", name), as_object(one))
    if checked.revision == LATEST:
        client = as_object(part.get("_meta")).get(_CAPABILITIES)
        yield from _check_extensions((*steps, "_meta", _CAPABILITIES), client)
        yield from _check_extensions((*steps, "capabilities"), part.get("capabilities"))


def _check_contents(checked: CheckedMessage, steps: Steps, part: Object) -> Iterator[Breach]:
    judged: list[tuple[Steps, Object]] = []
    _walk(steps, part, 0, judged)
    for inside, one in judged:
        yield from _check_object(checked, inside, one)


def _walk(steps: Steps, part: Object, depth: int, judged: list[tuple[Steps, Object]]) -> None:
    """Collect each object with a member that is judged; contents and a `_meta` stand in many."""
    if not _JUDGED.isdisjoint(part):
        judged.append((steps, part))
    if depth >= _MAX_DEPTH or _NESTED.isdisjoint(part):
        return
    for name in sorted(_NESTED & part.keys()):
        inside = part[name]
        if isinstance(inside, dict):
            _walk((*steps, name), inside, depth + 1, judged)
        elif isinstance(inside, list):
            for index, one in enumerate(inside[:_MAX_ITEMS]):
                if isinstance(one, dict):
                    _walk((*steps, name, index), one, depth + 1, judged)


def _check_object(checked: CheckedMessage, steps: Steps, one: Object) -> Iterator[Breach]:
    kind = one.get("type")
    if kind in _IMAGES:
        yield from _check_base64(one.get("data"), (*steps, "data"))
        mime = one.get("mimeType")
        if isinstance(mime, str) and not _MIME_TYPE.fullmatch(mime) and SECRET_MARK not in mime:
            path = place(*steps, "mimeType")
            yield Breach("mime-type", f"the mimeType of {kind} content: {short(mime)}", path)
    if "blob" in one:
        yield from _check_base64(one["blob"], (*steps, "blob"))
    meta = one.get("_meta")
    if isinstance(meta, dict):
        yield from _check_meta((*steps, "_meta"), meta)
    if "uri" in one and (kind == "resource_link" or _parent(steps) in _WITH_URI):
        yield from _check_uri_member(checked, steps, one["uri"])


def _parent(steps: Steps) -> str | int:
    """Return the member that an object stands in."""
    return steps[-2] if isinstance(steps[-1], int) else steps[-1]


def _check_base64(value: object, steps: Steps) -> Iterator[Breach]:
    if isinstance(value, str) and not is_base64(value) and SECRET_MARK not in value:
        yield Breach("base64", f"not Base64: {short(value)}", place(*steps))


def _check_uri_member(checked: CheckedMessage, steps: Steps, uri: object) -> Iterator[Breach]:
    if not isinstance(uri, str):
        return
    if "roots" in steps:
        if checked.from_client and uri[:7].lower() != "file://" and SECRET_MARK not in uri:
            text = f"a root that is not a file: {short(uri)}"
            yield Breach("root-uri", text, place(*steps, "uri"))
        return
    # Before 2025-06-18 only the page of prompts asks for valid URIs. What a client asked for under
    # a URI comes back under it.
    holds = (checked.revision or "") >= REVISIONS[2] or checked.method == "prompts/get"
    if holds and not checked.from_client and uri != checked.call_params.get("uri"):
        yield from _check_uri(uri, (*steps, "uri"))


def _check_uri(uri: str, steps: Steps, *cited: str) -> Iterator[Breach]:
    if not is_uri(uri):
        yield Breach("uri-syntax", f"not a URI: {short(uri)}", place(*steps), *cited)


def _check_url(elicitation: Object, steps: Steps) -> Iterator[Breach]:
    url = elicitation.get("url")
    if elicitation.get("mode") == "url" and isinstance(url, str):
        yield from _check_uri(url, (*steps, "url"), *_URL)


def _check_meta(steps: Steps, meta: Object) -> Iterator[Breach]:
    for key, value in meta.items():
        if not _KEY.fullmatch(key) and SECRET_MARK not in key:
            yield Breach("meta-key", f"the key {short(key)} of _meta", place(*steps, key))
        elif key in _TRACE_KEYS and not _is_trace(key, value):
            yield Breach("trace-context", f"{key} is {short(value)}", place(*steps, key))


def _is_trace(key: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    if SECRET_MARK in value:
        return True
    if key == "traceparent":
        return TRACEPARENT.fullmatch(value) is not None
    return all(_TRACE_MEMBER.fullmatch(one) for one in value.split(","))


def _check_extensions(steps: Steps, capabilities: Any) -> Iterator[Breach]:
    """Check the names of the extensions in the capabilities of a client or a server."""
    for key in as_object(as_object(capabilities).get("extensions")):
        if not _PREFIXED_KEY.fullmatch(key) and SECRET_MARK not in key:
            text = f"the extension {short(key)} without a prefix, or with a wrong one"
            yield Breach("meta-key", text, place(*steps, "extensions", key), *_EXTENSION_KEYS)


_TRACE_KEYS = ("traceparent", "tracestate", "baggage")
