"""The two eras of MCP as two ways to serve the same tools.

Legacy (2024-11-05 to 2025-11-25): a handshake, state for the session, questions to the client as
requests of the server's own. Modern (2026-07-28): no handshake, every request carries its version
and capabilities, a question is an unfinished result that the client answers by calling again. What
both share is in `tools` and `catalog`, which never ask for the era.
"""

from __future__ import annotations

from typing import Any

from mcpmock.protocol.messages import Request, decode, member
from mcpmock.protocol.methods import CACHEABLE, LAST_LEGACY, LATEST, REVISIONS

from .call import LEVELS, DemoAnswer, DemoCall, Era, Failure, Handler, InputRequired, as_object
from .peer import INVALID_PARAMS, DemoRefusal, Peer

SERVER_INFO = {"name": "mcpmock-demo", "title": "mcpmock's demo server", "version": "1.0.0"}
CAPABILITIES = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
}
INSTRUCTIONS = "A small server that does a little of everything, always the same way."

_META = "io.modelcontextprotocol/"
VERSION = _META + "protocolVersion"


class Legacy(Era):
    """A session with a handshake. Members that came with later revisions go to clients of earlier
    ones too, which ignore them; a client that skips the handshake is served all the same.
    """

    not_found = -32002

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self._capabilities: DemoAnswer = {}
        self._level = "info"
        self._subscribed: set[str] = set()

    @property
    def methods(self) -> dict[str, Handler]:
        return {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }

    def admit(self, call: DemoCall) -> None:
        """Everybody is let in."""

    def dressed(self, call: DemoCall, result: DemoAnswer) -> DemoAnswer:  # noqa: ARG002
        return result

    def forget(self, id_: bytes) -> None:
        """Nothing outlives its call."""

    def log_level(self, call: DemoCall) -> str:  # noqa: ARG002
        return self._level

    async def ask(self, call: DemoCall, method: str, params: DemoAnswer) -> Any:  # noqa: ARG002
        feature = method.partition("/")[0]
        if feature not in self._capabilities:
            raise Failure(f"this client offers no {feature}")
        try:
            return await self._peer.ask(method, params).result()
        except DemoRefusal as refusal:
            raise Failure(f"the client refused {method}: {refusal.message}") from refusal

    def changed(self, uri: str) -> None:
        if uri in self._subscribed:
            self._peer.notify("notifications/resources/updated", {"uri": uri})

    def _initialize(self, call: DemoCall) -> DemoAnswer:
        self._capabilities = as_object(call.params.get("capabilities"))
        asked = call.params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in REVISIONS and asked != LATEST else LAST_LEGACY,
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER_INFO,
            "instructions": INSTRUCTIONS,
        }

    def _set_level(self, call: DemoCall) -> DemoAnswer:
        level = call.text("level")
        if level not in LEVELS:
            raise DemoRefusal(INVALID_PARAMS, f"Unknown level: {level}")
        self._level = level
        return {}

    def _subscribe(self, call: DemoCall) -> DemoAnswer:
        self._subscribed.add(call.text("uri"))
        return {}

    def _unsubscribe(self, call: DemoCall) -> DemoAnswer:
        self._subscribed.discard(call.text("uri"))
        return {}


class Modern(Era):
    """Stateless requests. Only what the client listens to outlives a call."""

    not_found = INVALID_PARAMS

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self._listening: dict[bytes, list[str]] = {}

    @property
    def methods(self) -> dict[str, Handler]:
        return {"server/discover": self._discover, "subscriptions/listen": self._listen}

    def admit(self, call: DemoCall) -> None:
        version = call.meta.get(VERSION)
        if version is None or not isinstance(call.meta.get(_META + "clientCapabilities"), dict):
            wanted = f"{VERSION} and {_META}clientCapabilities"
            raise DemoRefusal(INVALID_PARAMS, f"params._meta must carry {wanted}")
        if version != LATEST:
            known = {"supported": [LATEST], "requested": version}
            raise DemoRefusal(-32022, "Unsupported protocol version", known)

    def dressed(self, call: DemoCall, result: DemoAnswer) -> DemoAnswer:
        fresh = {"ttlMs": 0, "cacheScope": "public"} if call.method in CACHEABLE else {}
        meta = {_META + "serverInfo": SERVER_INFO}
        return {"resultType": "complete", **result, **fresh, "_meta": meta}

    def forget(self, id_: bytes) -> None:
        self._listening.pop(id_, None)

    def log_level(self, call: DemoCall) -> str | None:
        level = call.meta.get(_META + "logLevel")
        return level if isinstance(level, str) else None

    async def ask(self, call: DemoCall, method: str, params: DemoAnswer) -> Any:
        """The answer is in the call if this is the second time it is made."""
        feature = method.partition("/")[0]
        if feature not in call.meta[_META + "clientCapabilities"]:
            required: DemoAnswer = {"requiredCapabilities": {feature: {}}}
            raise DemoRefusal(-32021, f"This needs a client with {feature}", required)
        answers = as_object(call.params.get("inputResponses"))
        if feature not in answers:
            raise InputRequired({feature: {"method": method, "params": params}})
        return answers[feature]

    def changed(self, uri: str) -> None:
        for id_, uris in self._listening.items():
            if uri in uris:
                tagged = {"_meta": _subscription(id_), "uri": uri}
                self._peer.notify("notifications/resources/updated", tagged)

    def _discover(self, _: DemoCall) -> DemoAnswer:
        return {
            "supportedVersions": [LATEST],
            "capabilities": CAPABILITIES,
            "instructions": INSTRUCTIONS,
        }

    def _listen(self, call: DemoCall) -> None:
        wanted = as_object(call.params.get("notifications")).get("resourceSubscriptions")
        uris = [uri for uri in wanted if isinstance(uri, str)] if isinstance(wanted, list) else []
        self._listening[call.id] = uris
        honoured = {"resourceSubscriptions": uris} if uris else {}
        accepted = {"_meta": _subscription(call.id), "notifications": honoured}
        self._peer.notify("notifications/subscriptions/acknowledged", accepted)


def opened_by(request: Request, peer: Peer) -> Era:
    """The era that a client means whose first request this is."""
    versioned = member(request.params, "_meta", VERSION) is not None
    return Modern(peer) if versioned or request.method == "server/discover" else Legacy(peer)


def _subscription(id_: bytes) -> DemoAnswer:
    return {_META + "subscriptionId": decode(id_)}
