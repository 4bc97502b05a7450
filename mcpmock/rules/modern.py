"""Rules of modern messages: the `_meta` of requests, the type of results, error codes, and messages
of the legacy era that are no longer sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.error_codes import (
    DEFINED_MODERN,
    LEGACY_SERVER_ERRORS,
    RESERVED_MODERN,
    RETIRED_MODERN,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcpmock.protocol.messages import Request, Response
from mcpmock.protocol.methods import CACHEABLE, LATEST
from mcpmock.protocol.revisions import VERSION_PATH

from .context import PREFIX, CheckedMessage, Object, Phase, State, as_object, short
from .lifecycle import DISCOVER
from .specification import Breach

VERSION, CAPABILITIES = VERSION_PATH[-1], f"{PREFIX}clientCapabilities"
COMPLETE, INPUT_REQUIRED = "complete", "input_required"


def check_message(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches in a modern message, independent of its method."""
    message = checked.message
    if isinstance(message, Request):
        if checked.from_client:
            yield from _check_meta(checked.meta)
        else:
            yield Breach("server-request", f"the server asks {short(message.method)}")
    elif isinstance(message, Response) and checked.from_client:
        name = "client-response" if checked.exchange is None else "client-response-posted"
        yield Breach(name, "the client answers")
    elif isinstance(message, Response) and state.server.modern:
        if checked.result is not None:
            yield from _check_result(checked, checked.result)
        elif checked.error is not None and _answers_a_post(checked):
            yield from _check_error(checked.error)


def update_server(checked: CheckedMessage, state: State) -> None:
    """Note whether the server answers as a modern one. A legacy server is not bound by these
    rules, even if a client sends it modern requests.
    """
    if checked.from_client or not checked.modern or state.phase is not Phase.NEW:
        return
    result = checked.result
    if result is not None and ("resultType" in result or "supportedVersions" in result):
        state.server.modern = True
        if checked.method == DISCOVER:
            state.server.capabilities = as_object(result.get("capabilities"))
            state.server.only_modern = result.get("supportedVersions") == [LATEST]
    elif checked.code in DEFINED_MODERN:
        state.server.modern = True


def _answers_a_post(checked: CheckedMessage) -> bool:
    """Servers of both eras answer other HTTP methods as in the legacy era."""
    return checked.exchange is None or checked.exchange.method in ("POST", "")


def _check_meta(meta: Object) -> Iterator[Breach]:
    missing = [
        name
        for name, kind in ((VERSION, str), (CAPABILITIES, dict))
        if not isinstance(meta.get(name), kind)
    ]
    if missing:
        yield Breach("meta-required", f"no {' and no '.join(missing)} in _meta")
    elif f"{PREFIX}clientInfo" not in meta:
        yield Breach("meta-client-info", f"no {PREFIX}clientInfo in _meta")


def _check_result(checked: CheckedMessage, result: Object) -> Iterator[Breach]:
    kind = result.get("resultType")
    if kind is None:
        yield Breach("result-type", f"a result of {checked.method} without a resultType")
    elif kind not in (COMPLETE, INPUT_REQUIRED) and not _has_extensions(checked):
        yield Breach("result-type-unknown", f"the resultType {short(kind)}")
    if f"{PREFIX}serverInfo" not in as_object(result.get("_meta")):
        yield Breach("meta-server-info", f"no {PREFIX}serverInfo in the _meta of a result")
    if checked.method in CACHEABLE and kind == COMPLETE:
        missing = [name for name in ("ttlMs", "cacheScope") if name not in result]
        if missing:
            text = f"a result of {checked.method} without {' and '.join(missing)}"
            yield Breach("cache-hints", text)
    ttl = result.get("ttlMs")
    if isinstance(ttl, int | float) and ttl < 0:
        yield Breach("cache-ttl", f"ttlMs is {short(ttl)}")
    if checked.method == DISCOVER:
        missing = [name for name in ("supportedVersions", "capabilities") if name not in result]
        if missing:
            yield Breach("discover-result", f"a result without {' and '.join(missing)}")


def _has_extensions(checked: CheckedMessage) -> bool:
    """Return whether the client declared extensions: they may define result types of their own."""
    capabilities = as_object(as_object(checked.call_params.get("_meta")).get(CAPABILITIES))
    return bool(capabilities.get("extensions"))


def _check_error(error: Object) -> Iterator[Breach]:
    code, data = error.get("code"), as_object(error.get("data"))
    if code in RETIRED_MODERN:
        yield Breach("error-retired", f"the code {code}")
    elif code in RESERVED_MODERN and code not in DEFINED_MODERN:
        yield Breach("error-reserved", f"the code {code}")
    elif code in LEGACY_SERVER_ERRORS:
        yield Breach("error-legacy", f"the code {code}")
    elif code == UNSUPPORTED_PROTOCOL_VERSION and not data.get("supported"):
        yield Breach("error-data", f"{code} that does not list the versions supported")
