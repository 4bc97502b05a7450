"""Who may send which method: by revision, by side, and by what the other side, or it itself, has
declared.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.messages import Notification, Request
from mcpmock.protocol.methods import (
    LAST_LEGACY,
    LATEST,
    REVISIONS,
    ROWS,
    MessageKind,
    Method,
    Sender,
    methods,
)

from .context import CheckedMessage, Object, State, declared, short
from .rule import Breach, must, should

_LIFECYCLE = "basic/lifecycle"
_2025_03, _2025_06 = REVISIONS[1], REVISIONS[2]
_RESPECT = "Respect the negotiated protocol version"
_NEGOTIATED = "Only use capabilities that were successfully negotiated"
_LOGGING = "notifications/message"

RULES = (
    should("method-revision", _LIFECYCLE, f"Both parties SHOULD: {_RESPECT}", until=_2025_03),
    must(
        "method-revision",
        _LIFECYCLE,
        f"Both parties MUST: {_RESPECT}",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    must(
        "method-revision",
        "basic/versioning",
        "Every request declares the protocol version it is using in its _meta field.",
        since=LATEST,
    ),
    must(
        "method-sender",
        "schema",
        "ClientRequest, ServerRequest, ClientNotification and ServerNotification list what each "
        "side sends.",
    ),
    should("capability", _LIFECYCLE, f"Both parties SHOULD: {_NEGOTIATED}", until=_2025_03),
    must(
        "capability",
        _LIFECYCLE,
        f"Both parties MUST: {_NEGOTIATED}",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    must(
        "logging-undeclared",
        "server/utilities/logging",
        "Servers that emit log message notifications MUST declare the logging capability",
    ),
    *(
        must(
            f"{feature}-undeclared",
            f"server/{feature}",
            f"Servers that support {feature} MUST declare the {feature} capability",
        )
        for feature in ("tools", "resources", "prompts")
    ),
    must(
        "completions-undeclared",
        "server/utilities/completion",
        "Servers that support completions MUST declare the completions capability",
        since=_2025_03,
    ),
    must(
        "elicitation-mode",
        "client/elicitation",
        "Servers MUST NOT send elicitation requests with modes that are not supported by the "
        "client.",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
    must(
        "sampling-tools",
        "client/sampling",
        "Servers MUST NOT send tool-enabled sampling requests to Clients that have not declared "
        "support for tool use via the sampling.tools capability.",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
    must(
        "task-undeclared",
        "basic/utilities/tasks",
        "If a server's capabilities do not include tasks.requests.tools.call, then clients MUST "
        "NOT attempt to use task augmentation on that server's tools",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
)
_KNOWN = {row.name for row in ROWS}
_BY_SENDER = {
    (revision, sender): methods(revision, sender)
    for revision in REVISIONS
    for sender in (Sender.CLIENT, Sender.SERVER)
}
_FEATURES = ("tools", "resources", "prompts", "completions")


def watch(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    """What is wrong with who sent this, and with what was declared for it."""
    if heard.revision is None:
        return
    if heard.result is not None:
        yield from _undeclared(heard, state)
    if not isinstance(heard.message, Request | Notification):
        return
    method = heard.message.method
    mine, theirs = _sides(heard)
    row = _BY_SENDER[heard.revision, mine].get(method)
    if row is None:
        if method in _BY_SENDER[heard.revision, theirs]:
            side = "client" if heard.from_client else "server"
            yield Breach("method-sender", f"{method} from the {side}")
        elif method in _KNOWN:
            yield Breach("method-revision", f"{method} is no method of {heard.revision}")
    elif method == _LOGGING:
        if not declared(_of(heard, state, server=True), "logging"):
            yield Breach("logging-undeclared", f"{_LOGGING} without the capability logging")
    elif row.extension is None:
        yield from _gated(heard, state, row)
        yield from _inside(heard, state)


def _sides(heard: CheckedMessage) -> tuple[Sender, Sender]:
    sides = Sender.CLIENT, Sender.SERVER
    return sides if heard.from_client else (sides[1], sides[0])


def _of(heard: CheckedMessage, state: State, *, server: bool) -> Object | None:
    """What a side has declared; None where nobody has seen it do so."""
    if heard.modern:
        return state.server.capabilities if server else None
    return state.server_capabilities if server else state.client_capabilities


def _gated(heard: CheckedMessage, state: State, row: Method) -> Iterator[Breach]:
    """A request needs what its receiver declared, a notification what its sender did."""
    if row.gate is None:
        return
    servers = heard.from_client is (row.kind is MessageKind.REQUEST)
    if not declared(_of(heard, state, server=servers), row.gate):
        side = "server" if servers else "client"
        text = f"{row.name}, but the {side} has not declared {row.gate}"
        yield Breach("capability", text)


def _undeclared(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    """The result of a method whose capability the server has not declared. Servers alone are held
    to that: they are asked about anything.
    """
    row = _BY_SENDER[heard.revision or LATEST, Sender.CLIENT].get(heard.method or "")
    if heard.from_client or row is None or row.gate is None:
        return
    feature = row.gate.partition(".")[0]
    if feature in _FEATURES and not declared(_of(heard, state, server=True), feature):
        text = f"a result of {row.name} without the capability {feature}"
        yield Breach(f"{feature}-undeclared", text)


def _inside(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    """What is asked for within a request, where that has a capability of its own."""
    client, server = state.client_capabilities, state.server_capabilities
    url = heard.params.get("mode") == "url"
    match heard.method:
        case "elicitation/create" if url and not declared(client, "elicitation.url"):
            yield Breach("elicitation-mode", "mode url, but the client has not declared it")
        case "sampling/createMessage" if "tools" in heard.params:
            if not declared(client, "sampling.tools"):
                text = "tools, but the client has not declared sampling.tools"
                yield Breach("sampling-tools", text)
        case "tools/call" if "task" in heard.params:
            if not declared(server, "tasks.requests.tools.call"):
                name = short(heard.params.get("name"))
                text = f"{name} as a task, which the server has not declared"
                yield Breach("task-undeclared", text)
        case _:
            pass
