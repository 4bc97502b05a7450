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
from .rule import Breach, Rule, must, should

_INDEX = "basic/index"
_HTTP, _STDIO = "basic/transports/streamable-http", "basic/transports/stdio"
_CACHING = "server/utilities/caching"
VERSION, CAPABILITIES = VERSION_PATH[-1], f"{PREFIX}clientCapabilities"
COMPLETE, INPUT_REQUIRED = "complete", "input_required"


def _must(name: str, section: str, sentence: str) -> Rule:
    return must(name, section, sentence, since=LATEST)


def _should(name: str, section: str, sentence: str) -> Rule:
    return should(name, section, sentence, since=LATEST)


RULES = (
    _must(
        "meta-required",
        _INDEX,
        "Client requests carry the following io.modelcontextprotocol/* fields in _meta; fields "
        "marked as required MUST be included on every request.",
    ),
    _should(
        "meta-client-info",
        _INDEX,
        "Clients SHOULD include io.modelcontextprotocol/clientInfo on every request unless "
        "specifically configured not to do so.",
    ),
    _should(
        "meta-server-info",
        _INDEX,
        "Servers SHOULD include the following io.modelcontextprotocol/* field in every result's "
        "_meta",
    ),
    _must(
        "result-type",
        _INDEX,
        "The result MUST include a resultType field to indicate the type of the result.",
    ),
    _must(
        "result-type-unknown",
        _INDEX,
        "The set of supported ResultType values MUST be created from the set defined in the core "
        "protocol and include any additional values of supported extensions that are advertised "
        "via capabilities.",
    ),
    _must(
        "cache-hints",
        _CACHING,
        'Servers MUST include caching hints on results with resultType: "complete" returned by the '
        "following operations",
    ),
    _must("cache-ttl", _CACHING, "Servers MUST provide a ttlMs value that is >= 0."),
    _must("discover-result", "schema", "DiscoverResult requires supportedVersions, capabilities."),
    _must(
        "server-request",
        "basic/patterns/mrtr",
        "Servers MUST send server-to-client requests (such as roots/list, sampling/createMessage, "
        "or elicitation/create) using the MRTR pattern.",
    ),
    _must("client-response", _STDIO, "The client MUST NOT write JSON-RPC responses."),
    _must("client-response-posted", _HTTP, "The client MUST NOT send JSON-RPC responses."),
    _must(
        "error-reserved",
        _INDEX,
        "Implementations MUST NOT emit any code from this sub-range that is not defined by this "
        "specification",
    ),
    _must(
        "error-retired",
        _INDEX,
        "Implementations of this protocol version MUST NOT emit these codes",
    ),
    _should(
        "error-legacy",
        _INDEX,
        "new implementations SHOULD NOT use codes from this sub-range at all.",
    ),
    _must(
        "error-data",
        "basic/versioning",
        "it MUST respond with an UnsupportedProtocolVersionError listing the versions it does "
        "support",
    ),
)


def check_message(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches in a modern message, independent of its method."""
    if not checked.modern:
        return
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
    """Whether the client declared extensions: they may define result types of their own."""
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
