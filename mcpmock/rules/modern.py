"""The modern era's messages: the `_meta` of every request, the type of every result, the codes of
errors, and what nobody sends any more.
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


def watch(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    """What is wrong with a message of the modern era, whatever it is about."""
    if not heard.modern:
        return
    message = heard.message
    if isinstance(message, Request):
        if heard.from_client:
            yield from _meta(heard.meta)
        else:
            yield Breach("server-request", f"the server asks {short(message.method)}")
    elif isinstance(message, Response) and heard.from_client:
        name = "client-response" if heard.exchange is None else "client-response-posted"
        yield Breach(name, "the client answers")
    elif isinstance(message, Response) and state.server.modern:
        if heard.result is not None:
            yield from _result(heard, heard.result)
        elif heard.error is not None and _answers_a_post(heard):
            yield from _error(heard.error)


def settle(heard: CheckedMessage, state: State) -> None:
    """Whether the server has shown itself as one of the modern era: of a legacy one nothing of this
    is asked, though a client may speak to it as if it were.
    """
    if heard.from_client or not heard.modern or state.phase is not Phase.NEW:
        return
    result = heard.result
    if result is not None and ("resultType" in result or "supportedVersions" in result):
        state.server.modern = True
        if heard.method == DISCOVER:
            state.server.capabilities = as_object(result.get("capabilities"))
            state.server.only_modern = result.get("supportedVersions") == [LATEST]
    elif heard.code in DEFINED_MODERN:
        state.server.modern = True


def _answers_a_post(heard: CheckedMessage) -> bool:
    """Servers of both eras answer to other methods as they did in the legacy one."""
    return heard.exchange is None or heard.exchange.method in ("POST", "")


def _meta(meta: Object) -> Iterator[Breach]:
    missing = [
        name
        for name, kind in ((VERSION, str), (CAPABILITIES, dict))
        if not isinstance(meta.get(name), kind)
    ]
    if missing:
        yield Breach("meta-required", f"no {' and no '.join(missing)} in _meta")
    elif f"{PREFIX}clientInfo" not in meta:
        yield Breach("meta-client-info", f"no {PREFIX}clientInfo in _meta")


def _result(heard: CheckedMessage, result: Object) -> Iterator[Breach]:
    kind = result.get("resultType")
    if kind is None:
        yield Breach("result-type", f"a result of {heard.method} without a resultType")
    elif kind not in (COMPLETE, INPUT_REQUIRED) and not _has_extensions(heard):
        yield Breach("result-type-unknown", f"the resultType {short(kind)}")
    if f"{PREFIX}serverInfo" not in as_object(result.get("_meta")):
        yield Breach("meta-server-info", f"no {PREFIX}serverInfo in the _meta of a result")
    if heard.method in CACHEABLE and kind == COMPLETE:
        missing = [name for name in ("ttlMs", "cacheScope") if name not in result]
        if missing:
            text = f"a result of {heard.method} without {' and '.join(missing)}"
            yield Breach("cache-hints", text)
    ttl = result.get("ttlMs")
    if isinstance(ttl, int | float) and ttl < 0:
        yield Breach("cache-ttl", f"ttlMs is {short(ttl)}")
    if heard.method == DISCOVER:
        missing = [name for name in ("supportedVersions", "capabilities") if name not in result]
        if missing:
            yield Breach("discover-result", f"a result without {' and '.join(missing)}")


def _has_extensions(heard: CheckedMessage) -> bool:
    """Whether the client told of any: they may have types of their own."""
    capabilities = as_object(as_object(heard.asked.get("_meta")).get(CAPABILITIES))
    return bool(capabilities.get("extensions"))


def _error(error: Object) -> Iterator[Breach]:
    code, data = error.get("code"), as_object(error.get("data"))
    if code in RETIRED_MODERN:
        yield Breach("error-retired", f"the code {code}")
    elif code in RESERVED_MODERN and code not in DEFINED_MODERN:
        yield Breach("error-reserved", f"the code {code}")
    elif code in LEGACY_SERVER_ERRORS:
        yield Breach("error-legacy", f"the code {code}")
    elif code == UNSUPPORTED_PROTOCOL_VERSION and not data.get("supported"):
        yield Breach("error-data", f"{code} that does not list the versions supported")
