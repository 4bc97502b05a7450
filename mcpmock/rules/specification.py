"""All rules: the sentences of the specification that traffic can break (`Rule`), by revision and
name; and `Breach`, one case of that.

The rows follow the specification's pages, one set of pages for each revision, and are grouped by
the module that checks them. A sentence whose wording or page changed has several rows, like a
method in `protocol.methods`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

import attrs

from mcpmock.errors import Level
from mcpmock.matching.match_rule import Label
from mcpmock.protocol.methods import FIRST, LAST_LEGACY, LATEST, REVISIONS

from .known_deviations import Deviation

_MOVED = {(FIRST, "basic/index"): "basic/messages"}
"""Pages that have another path in a revision, with the same sentences."""
SKILLS, EXTENSION = "skills", "ext-skills"
"""The page of the skills extension (SEP-2640), and what stands for its revision."""

By = Literal["client", "server", "either"]


@attrs.frozen
class Rule:
    """One row: `since` and `until` are the first and the last revision in which it holds."""

    name: str
    level: Level
    by: By
    """Which side breaks it; `either` of those that both sides can."""
    section: str
    """The page of the specification, below the revision."""
    sentence: str
    """The sentence, verbatim; from a list, its introduction and the item."""
    since: str = FIRST
    until: str = LATEST

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions in which it holds."""
        return tuple(one for one in REVISIONS if self.since <= one <= self.until)


class Breach(NamedTuple):
    """A breach of the rule of this name; `text` describes it."""

    rule: str
    text: str
    path: str = ""
    """The place in the message, `$.result.tools[1].inputSchema`, if one place is wrong."""
    sentence: str = ""
    """What is said of it, for a rule that stands for many sentences."""
    section: str = ""
    """The page of that sentence, if it is another."""


class Unjudged(NamedTuple):
    """What a rule could not look at, and why; `quiet` if this is usual."""

    what: str
    why: str
    quiet: bool = False


@attrs.frozen
class Violation:
    """A broken rule: by which frame, in which revision, and how."""

    number: int
    """The number of the frame, as the caller counts; in a cassette, the `n` of the event."""
    rule: Rule
    revision: str
    text: str
    known: Deviation | None = None
    """The known deviation of an SDK that explains it."""
    by: Literal["client", "server"] = "server"
    """The side that sent what is wrong."""
    path: str = ""
    """The place in the message, `$.result.tools[1].inputSchema`, if one place is wrong."""
    said: str = ""
    """The sentence, where the rule stands for many."""
    method: str = ""
    """The method of the message; of a response, that of its request."""
    call: Label = ("", "")
    """The call that the message belongs to."""
    page: str = ""
    """The page of that sentence, if it is another."""

    @property
    def level(self) -> Level:
        return self.rule.level if self.known is None else Level.NOTICE

    @property
    def sentence(self) -> str:
        """The sentence that is broken."""
        return self.said or self.rule.sentence

    @property
    def cited(self) -> str:
        """The revision and page of the sentence: `2025-11-25 basic/lifecycle`."""
        return cite(self.revision, self.page or self.rule.section)


def cite(revision: str, section: str) -> str:
    """Return the revision and page of a sentence: `2025-11-25 basic/lifecycle`."""
    if section == SKILLS:
        return f"{EXTENSION} {SKILLS}"
    return f"{revision} {_MOVED.get((revision, section), section)}"


MUST, SHOULD = Level.ERROR, Level.WARNING
"""A breach of a MUST is an error, one of a SHOULD a warning; so is what looks like a breach where
two messages crossed on the wire.
"""
EITHER: By = "either"
CLIENT: By = "client"
SERVER: By = "server"
_2025_03, _2025_06 = REVISIONS[1], REVISIONS[2]

RULES = (
    # `jsonrpc`
    Rule("json-rpc", MUST, EITHER, "basic/index", "All messages in MCP MUST follow the JSON-RPC 2.0 specification.", until=FIRST),
    Rule("json-rpc", MUST, EITHER, "basic/index", "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.", since=_2025_03),
    Rule("not-a-message", MUST, EITHER, "basic/transports", "The server MUST NOT write anything to its stdout that is not a valid MCP message. The client MUST NOT write anything to the server's stdin that is not a valid MCP message.", until=LAST_LEGACY),
    Rule("not-a-message", MUST, EITHER, "basic/transports/stdio", "The server MUST NOT write anything to its stdout that is not a valid MCP message. The client MUST NOT write anything to the server's stdin that is not a valid MCP message.", since=LATEST),
    Rule("utf-8", MUST, EITHER, "basic/transports", "JSON-RPC messages MUST be UTF-8 encoded.", _2025_03, LAST_LEGACY),
    Rule("utf-8", MUST, EITHER, "basic/transports/index", "JSON-RPC messages MUST be UTF-8 encoded.", since=LATEST),
    Rule("id-type", MUST, EITHER, "basic/index", "Requests MUST include a string or integer ID."),
    Rule("id-null", MUST, EITHER, "basic/index", "Unlike base JSON-RPC, the ID MUST NOT be null."),
    Rule("notification-id", MUST, EITHER, "basic/index", "Notifications MUST NOT include an ID."),
    Rule("request-id", MUST, EITHER, "basic/index", "Requests MUST include a string or integer ID."),
    Rule("result-id", MUST, EITHER, "basic/index", "Responses MUST include the same ID as the request they correspond to.", until=_2025_06),
    Rule("result-id", MUST, EITHER, "basic/index", "Result responses MUST include the same ID as the request they correspond to.", since=LAST_LEGACY),
    Rule("result-and-error", MUST, EITHER, "basic/index", "Either a result or an error MUST be set. A response MUST NOT set both.", until=_2025_06),
    Rule("result-and-error", MUST, EITHER, "basic/index", "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.", since=LAST_LEGACY),
    Rule("error-code", MUST, EITHER, "basic/index", "Error codes MUST be integers."),
    Rule("error-members", MUST, EITHER, "basic/index", "errors MUST include an error code and message at minimum.", _2025_03, _2025_06),
    Rule("error-members", MUST, EITHER, "basic/index", "Error responses MUST include an error field with a code and message.", since=LAST_LEGACY),
    Rule("members-object", MUST, EITHER, "basic/index", "params?: { [key: string]: unknown; }"),
    Rule("batch", MUST, EITHER, "basic/transports", "The body of the POST request MUST be a single JSON-RPC request, notification, or response. Messages are individual JSON-RPC requests, notifications, or responses.", _2025_06, LAST_LEGACY),
    Rule("batch", MUST, EITHER, "basic/transports/streamable-http", "The body of the HTTP POST MUST be a single JSON-RPC request or notification.", since=LATEST),
    Rule("initialize-in-batch", MUST, CLIENT, "basic/lifecycle", "The initialize request MUST NOT be part of a JSON-RPC batch", _2025_03, _2025_03),
    # `shapes`, which quotes the definition
    Rule("shape", MUST, EITHER, "schema", "Each message has the members and types of its definition."),
    # `contents`
    Rule("output-schema", MUST, SERVER, "server/tools", "Servers MUST provide structured results that conform to this schema.", since=_2025_06),
    # A warning: no sentence forbids it. Models err, and servers answer.
    Rule("input-schema", SHOULD, CLIENT, "server/tools", "inputSchema: JSON Schema defining expected parameters"),
    Rule("input-accepted", MUST, SERVER, "server/tools", "Servers MUST: Validate all tool inputs"),
    Rule("tool-schema", MUST, SERVER, "basic/index", "Schemas MUST be valid according to their declared or default dialect", since=LAST_LEGACY),
    Rule("elicited-content", SHOULD, CLIENT, "client/elicitation", "Both parties SHOULD validate elicitation content against the provided schema", _2025_06, _2025_06),
    Rule("elicited-content", SHOULD, CLIENT, "client/elicitation", "Clients SHOULD validate all responses against the provided schema", since=LAST_LEGACY),
    Rule("prompt-arguments", SHOULD, CLIENT, "server/prompts", "arguments: Optional list of arguments for customization"),
    Rule("prompt-accepted", SHOULD, SERVER, "server/prompts", "Servers SHOULD validate prompt arguments before processing"),
    Rule("completion-ref", SHOULD, CLIENT, "server/utilities/completion", "Implementations MUST: Validate all completion inputs"),
    Rule("completion-accepted", SHOULD, SERVER, "server/utilities/completion", "Implementations MUST: Validate all completion inputs"),
    Rule("cursor-unknown", MUST, CLIENT, "server/utilities/pagination", "Clients MUST treat cursors as opaque tokens: Don't attempt to parse or modify cursors"),
    # `parameter_headers`
    Rule("header-param", MUST, CLIENT, "basic/transports/streamable-http", "When a server's tool definition includes x-mcp-header annotations, conforming clients MUST mirror the designated parameter values into HTTP headers.", since=LATEST),
    Rule("header-param-match", MUST, CLIENT, "basic/transports/streamable-http", "When a server's tool definition includes x-mcp-header annotations, conforming clients MUST mirror the designated parameter values into HTTP headers.", since=LATEST),
    Rule("header-param-extra", MUST, CLIENT, "basic/transports/streamable-http", "Parameter value is null: Client MUST omit the header", since=LATEST),
    Rule("header-schema", MUST, SERVER, "server/tools", "Constraints on x-mcp-header values: MUST only be applied to parameters with primitive types (integer, string, boolean).", since=LATEST),
    # `lifecycle`
    Rule("handshake-first", MUST, CLIENT, "basic/lifecycle", "The initialization phase MUST be the first interaction between client and server.", until=LAST_LEGACY),
    Rule("handshake-twice", MUST, CLIENT, "basic/lifecycle", "The initialization phase MUST be the first interaction between client and server.", until=LAST_LEGACY),
    Rule("request-before-answer", SHOULD, CLIENT, "basic/lifecycle", "The client SHOULD NOT send requests other than pings before the server has responded to the initialize request.", until=LAST_LEGACY),
    Rule("request-before-initialized", SHOULD, SERVER, "basic/lifecycle", "The server SHOULD NOT send requests other than pings and logging before receiving the initialized notification.", until=LAST_LEGACY),
    Rule("initialized-missing", MUST, CLIENT, "basic/lifecycle", "After successful initialization, the client MUST send an initialized notification to indicate it is ready to begin normal operations", until=LAST_LEGACY),
    Rule("initialize-params", MUST, CLIENT, "basic/lifecycle", "The client MUST initiate this phase by sending an initialize request containing: Protocol version supported, Client capabilities, Client implementation information", until=LAST_LEGACY),
    Rule("initialize-result", MUST, SERVER, "basic/lifecycle", "The server MUST respond with its own capabilities and information", until=LAST_LEGACY),
    Rule("handshake-modern", MUST, SERVER, "basic/versioning", "There is no negotiation handshake.", since=LATEST),
    # `capabilities`
    Rule("method-revision", SHOULD, EITHER, "basic/lifecycle", "Both parties SHOULD: Respect the negotiated protocol version", until=_2025_03),
    Rule("method-revision", MUST, EITHER, "basic/lifecycle", "Both parties MUST: Respect the negotiated protocol version", _2025_06, LAST_LEGACY),
    Rule("method-revision", MUST, EITHER, "basic/versioning", "Every request declares the protocol version it is using in its _meta field.", since=LATEST),
    Rule("method-sender", MUST, EITHER, "schema", "ClientRequest, ServerRequest, ClientNotification and ServerNotification list what each side sends."),
    Rule("capability", SHOULD, EITHER, "basic/lifecycle", "Both parties SHOULD: Only use capabilities that were successfully negotiated", until=_2025_03),
    Rule("capability", MUST, EITHER, "basic/lifecycle", "Both parties MUST: Only use capabilities that were successfully negotiated", _2025_06, LAST_LEGACY),
    Rule("logging-undeclared", MUST, SERVER, "server/utilities/logging", "Servers that emit log message notifications MUST declare the logging capability"),
    Rule("tools-undeclared", MUST, SERVER, "server/tools", "Servers that support tools MUST declare the tools capability"),
    Rule("resources-undeclared", MUST, SERVER, "server/resources", "Servers that support resources MUST declare the resources capability"),
    Rule("prompts-undeclared", MUST, SERVER, "server/prompts", "Servers that support prompts MUST declare the prompts capability"),
    Rule("completions-undeclared", MUST, SERVER, "server/utilities/completion", "Servers that support completions MUST declare the completions capability", since=_2025_03),
    Rule("elicitation-mode", MUST, SERVER, "client/elicitation", "Servers MUST NOT send elicitation requests with modes that are not supported by the client.", since=LAST_LEGACY),
    Rule("sampling-tools", MUST, SERVER, "client/sampling", "Servers MUST NOT send tool-enabled sampling requests to Clients that have not declared support for tool use via the sampling.tools capability.", since=LAST_LEGACY),
    Rule("task-undeclared", MUST, CLIENT, "basic/utilities/tasks", "If a server's capabilities do not include tasks.requests.tools.call, then clients MUST NOT attempt to use task augmentation on that server's tools", LAST_LEGACY, LAST_LEGACY),
    # `calls`
    Rule("id-reused", MUST, EITHER, "basic/index", "The request ID MUST NOT have been previously used by the requestor within the same session.", until=LAST_LEGACY),
    Rule("id-reused", MUST, EITHER, "basic/index", "The request ID MUST NOT match the ID of any other request the sender has issued and not yet received a response for.", since=LATEST),
    Rule("answers-nothing", MUST, EITHER, "basic/index", "Responses MUST include the same ID as the request they correspond to.", until=_2025_06),
    Rule("answers-nothing", MUST, EITHER, "basic/index", "Result responses MUST include the same ID as the request they correspond to. Error responses MUST include the same ID as the request they correspond to", since=LAST_LEGACY),
    Rule("answered-twice", MUST, EITHER, "basic/index", "Responses MUST include the same ID as the request they correspond to.", until=_2025_06),
    Rule("answered-twice", MUST, EITHER, "basic/index", "Result responses MUST include the same ID as the request they correspond to. Error responses MUST include the same ID as the request they correspond to", since=LAST_LEGACY),
    # A warning in any revision: the answer and the cancel may have crossed on the wire.
    Rule("answer-after-cancel", SHOULD, EITHER, "basic/utilities/cancellation", "Receivers of cancellation notifications SHOULD: Not send a response for the cancelled request", until=LAST_LEGACY),
    Rule("answer-after-cancel", SHOULD, EITHER, "basic/patterns/cancellation", "Servers receiving cancellation notifications SHOULD: Not send a response for the cancelled request", since=LATEST),
    Rule("cancels-nothing", MUST, EITHER, "basic/utilities/cancellation", "Cancellation notifications MUST only reference requests that: Were previously issued in the same direction", until=LAST_LEGACY),
    Rule("cancels-nothing", MUST, EITHER, "basic/patterns/cancellation", "Cancellation notifications MUST only reference requests that: Were previously issued by the client", since=LATEST),
    Rule("cancels-initialize", MUST, CLIENT, "basic/utilities/cancellation", "The initialize request MUST NOT be cancelled by clients", until=LAST_LEGACY),
    Rule("cancels-task", MUST, EITHER, "basic/utilities/cancellation", "For task-augmented requests, the tasks/cancel request MUST be used instead of the notifications/cancelled notification.", LAST_LEGACY, LAST_LEGACY),
    Rule("server-cancels", MUST, SERVER, "basic/patterns/cancellation", "Server-sent cancellation notifications MUST reference a subscriptions/listen request", since=LATEST),
    Rule("cancels-over-http", SHOULD, CLIENT, "basic/patterns/cancellation", "Streamable HTTP: Closing the SSE response stream is the cancellation signal. No notifications/cancelled message is required or expected.", since=LATEST),
    # `progress`
    Rule("token-type", MUST, EITHER, "basic/utilities/progress", "Progress tokens MUST be a string or integer value", until=LAST_LEGACY),
    Rule("token-type", MUST, EITHER, "basic/patterns/progress", "Progress tokens MUST be a string or integer value", since=LATEST),
    Rule("progress-increases", MUST, EITHER, "basic/utilities/progress", "The progress value MUST increase with each notification, even if the total is unknown.", until=LAST_LEGACY),
    Rule("progress-increases", MUST, EITHER, "basic/patterns/progress", "The progress value MUST increase with each notification, even if the total is unknown.", since=LATEST),
    Rule("progress-token", MUST, EITHER, "basic/utilities/progress", "Progress notifications MUST only reference tokens that: Were provided in an active request", until=LAST_LEGACY),
    Rule("progress-token", MUST, EITHER, "basic/patterns/progress", "Progress notifications MUST only reference tokens that: Were provided in an active request", since=LATEST),
    Rule("progress-after-answer", MUST, EITHER, "basic/utilities/progress", "Progress notifications MUST stop after completion", until=LAST_LEGACY),
    Rule("progress-after-answer", MUST, EITHER, "basic/patterns/progress", "Progress notifications MUST stop after completion", since=LATEST),
    Rule("token-reused", MUST, EITHER, "basic/utilities/progress", "Progress tokens can be chosen by the sender using any means, but MUST be unique across all active requests.", until=LAST_LEGACY),
    Rule("token-reused", MUST, EITHER, "basic/patterns/progress", "Progress tokens can be chosen by the client using any means, but MUST be unique across all active requests.", since=LATEST),
    Rule("progress-members", MUST, EITHER, "schema", "ProgressNotification requires progressToken and progress."),
    # A warning in any revision: the progress and the cancel may have crossed on the wire.
    Rule("progress-after-cancel", SHOULD, EITHER, "basic/utilities/cancellation", "Receivers of cancellation notifications SHOULD: Stop processing the cancelled request", until=LAST_LEGACY),
    Rule("progress-after-cancel", SHOULD, EITHER, "basic/patterns/cancellation", "Servers receiving cancellation notifications SHOULD: Stop processing the cancelled request", since=LATEST),
    # `modern`
    Rule("meta-required", MUST, CLIENT, "basic/index", "Client requests carry the following io.modelcontextprotocol/* fields in _meta; fields marked as required MUST be included on every request.", since=LATEST),
    Rule("meta-client-info", SHOULD, CLIENT, "basic/index", "Clients SHOULD include io.modelcontextprotocol/clientInfo on every request unless specifically configured not to do so.", since=LATEST),
    Rule("meta-server-info", SHOULD, SERVER, "basic/index", "Servers SHOULD include the following io.modelcontextprotocol/* field in every result's _meta", since=LATEST),
    Rule("result-type", MUST, SERVER, "basic/index", "The result MUST include a resultType field to indicate the type of the result.", since=LATEST),
    Rule("result-type-unknown", MUST, SERVER, "basic/index", "The set of supported ResultType values MUST be created from the set defined in the core protocol and include any additional values of supported extensions that are advertised via capabilities.", since=LATEST),
    Rule("cache-hints", MUST, SERVER, "server/utilities/caching", 'Servers MUST include caching hints on results with resultType: "complete" returned by the following operations', since=LATEST),
    Rule("cache-ttl", MUST, SERVER, "server/utilities/caching", "Servers MUST provide a ttlMs value that is >= 0.", since=LATEST),
    Rule("discover-result", MUST, SERVER, "schema", "DiscoverResult requires supportedVersions, capabilities.", since=LATEST),
    Rule("server-request", MUST, SERVER, "basic/patterns/mrtr", "Servers MUST send server-to-client requests (such as roots/list, sampling/createMessage, or elicitation/create) using the MRTR pattern.", since=LATEST),
    Rule("client-response", MUST, CLIENT, "basic/transports/stdio", "The client MUST NOT write JSON-RPC responses.", since=LATEST),
    Rule("client-response-posted", MUST, CLIENT, "basic/transports/streamable-http", "The client MUST NOT send JSON-RPC responses.", since=LATEST),
    Rule("error-reserved", MUST, SERVER, "basic/index", "Implementations MUST NOT emit any code from this sub-range that is not defined by this specification", since=LATEST),
    Rule("error-retired", MUST, SERVER, "basic/index", "Implementations of this protocol version MUST NOT emit these codes", since=LATEST),
    Rule("error-legacy", SHOULD, SERVER, "basic/index", "new implementations SHOULD NOT use codes from this sub-range at all.", since=LATEST),
    Rule("error-data", MUST, SERVER, "basic/versioning", "it MUST respond with an UnsupportedProtocolVersionError listing the versions it does support", since=LATEST),
    # `input_requests`
    Rule("input-where", MUST, SERVER, "basic/patterns/mrtr", "Servers MUST NOT send InputRequiredResult responses on any other client requests.", since=LATEST),
    Rule("input-empty", MUST, SERVER, "basic/patterns/mrtr", "Servers MUST include at least one of inputRequests or requestState in every InputRequiredResult response.", since=LATEST),
    Rule("input-kind", MUST, SERVER, "basic/patterns/mrtr", "inputRequests values are request objects that MUST be one of ElicitRequest, CreateMessageRequest, or ListRootsRequest", since=LATEST),
    Rule("input-undeclared", MUST, SERVER, "basic/patterns/mrtr", "Servers MUST NOT send an inputRequests that the client has not declared support for in its capabilities.", since=LATEST),
    Rule("request-state", MUST, CLIENT, "basic/patterns/mrtr", "If an InputRequiredResult contains the requestState field, the client MUST echo back the exact value of that field when retrying the original request.", since=LATEST),
    Rule("retry-id", MUST, CLIENT, "basic/patterns/mrtr", "The JSON-RPC id MUST be different between the initial request and the retry, as they are independent requests.", since=LATEST),
    Rule("input-missing", MUST, CLIENT, "basic/patterns/mrtr", "If a client receives an InputRequiredResult that contains the inputRequests field, the client MUST construct the requested inputs before retrying the original request.", since=LATEST),
    Rule("state-dropped", MUST, CLIENT, "basic/patterns/mrtr", "If an InputRequiredResult contains the requestState field, the client MUST echo back the exact value of that field when retrying the original request.", since=LATEST),
    # `subscriptions`
    Rule("subscription-id", MUST, SERVER, "basic/index", "On notifications delivered via a subscriptions/listen stream, the server MUST include io.modelcontextprotocol/subscriptionId in _meta", since=LATEST),
    Rule("subscription-unknown", MUST, SERVER, "basic/patterns/subscriptions", "The value is the JSON-RPC ID of the subscriptions/listen request.", since=LATEST),
    Rule("subscription-acknowledged", MUST, SERVER, "basic/patterns/subscriptions", "The server MUST send notifications/subscriptions/acknowledged as the first message carrying the subscription's ID", since=LATEST),
    Rule("subscription-unasked", MUST, SERVER, "basic/patterns/subscriptions", "The server MUST NOT send notification types the client has not explicitly requested.", since=LATEST),
    Rule("log-level", MUST, SERVER, "server/utilities/logging", "The server MUST NOT emit notifications/message for a request that does not include this field.", since=LATEST),
    Rule("log-stream", MUST, SERVER, "server/utilities/logging", "the server MUST NOT deliver it on a subscriptions/listen stream or on any stream other than the one carrying the response to the request that set the log level.", since=LATEST),
    # `values`
    Rule("base64", MUST, EITHER, "server/resources", "Binary data MUST be properly encoded"),
    Rule("mime-type", MUST, EITHER, "server/prompts", "The image data MUST be base64-encoded and include a valid MIME type."),
    Rule("uri-syntax", MUST, SERVER, "server/resources", "Custom URI schemes MUST be in accordance with RFC3986, taking the above guidance in to account.", since=_2025_06),
    Rule("uri-syntax", MUST, SERVER, "server/prompts", "Resources can contain either text or binary (blob) data and MUST include: A valid resource URI", until=_2025_03),
    Rule("root-uri", MUST, CLIENT, "client/roots", "A root definition includes: This MUST be a file:// URI in the current specification."),
    Rule("meta-key", MUST, EITHER, "basic/index", "If specified, MUST be a series of labels separated by dots (.), followed by a slash (/). Name: Unless empty, MUST begin and end with an alphanumeric character ([a-z0-9A-Z]).", since=_2025_06),
    Rule("trace-context", MUST, EITHER, "basic/index", "When present, their values MUST follow W3C Trace Context and W3C Baggage formats respectively.", since=LATEST),
    # `lists`
    Rule("tool-name", SHOULD, SERVER, "server/tools", "Tool names SHOULD be between 1 and 128 characters in length (inclusive). The following SHOULD be the only allowed characters: uppercase and lowercase ASCII letters (A-Z, a-z), digits (0-9), underscore (_), hyphen (-), and dot (.)", since=LAST_LEGACY),
    Rule("name-duplicate", SHOULD, SERVER, "server/tools", "Tool names SHOULD be unique within a server.", since=LAST_LEGACY),
    Rule("tools-order", SHOULD, SERVER, "server/tools", "Servers SHOULD return tools in a deterministic order (i.e., the same ordering across requests when the underlying set of tools has not changed).", since=LATEST),
    Rule("cache-scope-pages", MUST, SERVER, "server/utilities/caching", "Servers MUST apply the same cacheScope to all response pages for a given list request.", since=LATEST),
    Rule("list-refused", MUST, SERVER, "server/tools", "Servers that declare the tools capability MUST respond to tools/list requests with the set of tools currently available to the requesting client.", since=LATEST),
    Rule("list-changed-silent", SHOULD, SERVER, "server/tools", "When the list of available tools changes, servers that declared the listChanged capability SHOULD send a notification"),
    # `server_answers`
    Rule("log-secret", SHOULD, SERVER, "server/utilities/logging", "Log messages MUST NOT contain: Credentials or secrets"),
    Rule("structured-text", SHOULD, SERVER, "server/tools", "For backwards compatibility, a tool that returns structured content SHOULD also return the serialized JSON in a TextContent block.", since=_2025_06),
    Rule("embedded-undeclared", SHOULD, SERVER, "server/tools", "Servers that use embedded resources SHOULD implement the resources capability", since=_2025_06),
    Rule("error-code-differs", SHOULD, SERVER, "server/prompts", "Servers SHOULD return standard JSON-RPC errors for common failure cases: Invalid prompt name: -32602 (Invalid params)"),
    Rule("not-found-code", MUST, SERVER, "basic/utilities/tasks", "Receivers MUST return standard JSON-RPC errors for the following protocol error cases: Invalid or nonexistent taskId in tasks/get, tasks/result, or tasks/cancel: -32602 (Invalid params)", until=LAST_LEGACY),
    Rule("not-found-code", MUST, SERVER, "server/resources", "If the requested resource does not exist, servers MUST return a JSON-RPC error with code -32602 (Invalid Params).", since=LATEST),
    Rule("contents-empty", SHOULD, SERVER, "server/resources", "Servers MUST NOT return an empty contents array for a non-existent resource.", since=LATEST),
    Rule("ping-answer", MUST, EITHER, "basic/utilities/ping", "The receiver MUST respond promptly with an empty response", until=LAST_LEGACY),
    Rule("discover-missing", MUST, SERVER, "basic/versioning", "Servers MUST implement server/discover.", since=LATEST),
    Rule("meta-accepted", MUST, SERVER, "basic/index", "A request missing any required field is malformed; the server MUST reject it with JSON-RPC error code -32602 (Invalid params).", since=LATEST),
    # `client_requests`
    Rule("answer-undeclared", MUST, CLIENT, "client/sampling", "Clients that support sampling MUST declare the sampling capability during initialization", until=LAST_LEGACY),
    Rule("answer-undeclared", MUST, CLIENT, "client/sampling", "Clients that support sampling MUST declare the sampling capability in _meta.io.modelcontextprotocol/clientCapabilities on each request", since=LATEST),
    Rule("roots-changed-silent", MUST, CLIENT, "client/roots", "When roots change, clients that support listChanged MUST send a notification", until=LAST_LEGACY),
    Rule("elicits-secret", SHOULD, SERVER, "client/elicitation", "Servers MUST NOT request sensitive information through elicitation", _2025_06, _2025_06),
    Rule("elicits-secret", SHOULD, SERVER, "client/elicitation", "Servers MUST NOT request sensitive information (passwords, API keys, etc.) via form mode", since=LAST_LEGACY),
    Rule("elicitation-unknown", MUST, SERVER, "client/elicitation", "Servers sending notifications: MUST include the elicitationId established in the original elicitation/create request.", LAST_LEGACY, LAST_LEGACY),
    Rule("sampling-context", SHOULD, SERVER, "schema", "Servers SHOULD only use these values if the client declares ClientCapabilities.sampling.context.", LAST_LEGACY, LAST_LEGACY),
    Rule("sampling-context", SHOULD, SERVER, "schema", 'If not declared, servers SHOULD only use includeContext: "none" (or omit it).', since=LATEST),
    Rule("tool-results-mixed", MUST, SERVER, "client/sampling", 'When a user message contains tool results (type: "tool_result"), it MUST contain ONLY tool results.', since=LAST_LEGACY),
    Rule("tool-results-missing", MUST, SERVER, "client/sampling", "When using tool use in sampling, every assistant message containing ToolUseContent blocks MUST be followed by a user message that consists entirely of ToolResultContent blocks", since=LAST_LEGACY),
    Rule("tool-choice", MUST, CLIENT, "client/sampling", '{mode: "none"}: Model MUST NOT use any tools', since=LAST_LEGACY),
    # `tasks`
    Rule("task-required", MUST, CLIENT, "basic/utilities/tasks", 'If execution.taskSupport is "required", clients MUST invoke the tool as a task.', LAST_LEGACY, LAST_LEGACY),
    Rule("task-forbidden", MUST, CLIENT, "basic/utilities/tasks", 'If execution.taskSupport is not present or "forbidden", clients MUST NOT attempt to invoke the tool as a task.', LAST_LEGACY, LAST_LEGACY),
    Rule("task-required-answer", MUST, SERVER, "basic/utilities/tasks", "Servers MUST return a -32601 (Method not found) error if a client does not attempt to do so.", LAST_LEGACY, LAST_LEGACY),
    Rule("task-begin", MUST, SERVER, "basic/utilities/tasks", "Tasks MUST begin in the working status when created.", LAST_LEGACY, LAST_LEGACY),
    Rule("task-answer", MUST, SERVER, "basic/utilities/tasks", "Receivers that accept a task-augmented request MUST return a CreateTaskResult as the response.", LAST_LEGACY, LAST_LEGACY),
    Rule("task-id-reused", MUST, SERVER, "basic/utilities/tasks", "Task IDs MUST be unique among all tasks controlled by the receiver.", LAST_LEGACY, LAST_LEGACY),
    Rule("task-transition", MUST, SERVER, "basic/utilities/tasks", "Receivers MUST only transition tasks through the following valid paths: Tasks with a completed, failed, or cancelled status are in a terminal state", LAST_LEGACY, LAST_LEGACY),
    Rule("task-cancel-ended", MUST, SERVER, "basic/utilities/tasks", "Receivers MUST reject cancellation requests for tasks already in a terminal status (completed, failed, or cancelled) with error code -32602 (Invalid params).", LAST_LEGACY, LAST_LEGACY),
    Rule("related-task", MUST, SERVER, "basic/utilities/tasks", "The tasks/result operation MUST include this metadata in its response, as the result structure itself does not contain the task ID.", LAST_LEGACY, LAST_LEGACY),
    # `skills`, of SEP-2640
    Rule("skills-undeclared", SHOULD, CLIENT, SKILLS, "A server that declares this extension MUST implement skills/list and skills/get."),
    Rule("directory-undeclared", MUST, CLIENT, SKILLS, "Clients MUST NOT call resources/directory/read against a server that has not declared directoryRead: true."),
    Rule("skills-missing", MUST, SERVER, SKILLS, "A server that declares this extension MUST implement skills/list and skills/get. A server that additionally declares directoryRead: true MUST implement resources/directory/read."),
    Rule("skills-resources", MUST, SERVER, SKILLS, "A server declaring this extension therefore MUST also declare the resources capability."),
    Rule("skill-name", MUST, SERVER, SKILLS, "The final <skill-path> segment of the entry's uri MUST equal frontmatter.name. The final segment, being the skill name, MUST satisfy the Agent Skills specification's naming rules."),
    Rule("skill-manifest", MUST, SERVER, SKILLS, "When resources is an array, it MUST be complete. It lists every file of the skill, each exactly once, including SKILL.md. Each uri MUST be the skill's SKILL.md or a file within the skill's directory."),
    Rule("skill-limits", SHOULD, SERVER, SKILLS, "Servers SHOULD NOT serve a skill that exceeds either limit: 512 entries, 16,777,216 bytes."),
    Rule("skill-digest", MUST, SERVER, SKILLS, "When a host retrieves a file listed in a skill's resources, it MUST verify the content against that entry's digest and size."),
    Rule("skill-frontmatter", MUST, SERVER, SKILLS, "The frontmatter object MUST be identical in content to the frontmatter of the SKILL.md it describes."),
    Rule("skill-listed-refused", MUST, SERVER, SKILLS, "A server MUST answer for every skill it serves, whether or not that skill appears in its skills/list result."),
    Rule("skill-unlisted", SHOULD, CLIENT, SKILLS, "While acting on a skill, a host MUST resolve reads of the skill's files only to URIs listed in the held entry's resources."),
    Rule("directory-children", MUST, SERVER, SKILLS, "The result contains every direct child of the directory; the listing is not recursive."),
    # `http_heads`
    Rule("accept", MUST, CLIENT, "basic/transports", "The client MUST include an Accept header, listing both application/json and text/event-stream as supported content types.", _2025_03, LAST_LEGACY),
    Rule("accept", MUST, CLIENT, "basic/transports/streamable-http", "The client MUST include an Accept header listing both application/json and text/event-stream as supported content types.", since=LATEST),
    Rule("accept-get", MUST, CLIENT, "basic/transports", "The client MUST include an Accept header, listing text/event-stream as a supported content type.", _2025_03, LAST_LEGACY),
    Rule("accepted-status", MUST, SERVER, "basic/transports", "If the server accepts the input, the server MUST return HTTP status code 202 Accepted with no body.", _2025_03, LAST_LEGACY),
    Rule("accepted-status", MUST, SERVER, "basic/transports/streamable-http", "If the server accepts it, the server MUST return HTTP status code 202 Accepted with no body.", since=LATEST),
    Rule("accepted-body", MUST, SERVER, "basic/transports", "If the server accepts the input, the server MUST return HTTP status code 202 Accepted with no body.", _2025_03, LAST_LEGACY),
    Rule("accepted-body", MUST, SERVER, "basic/transports/streamable-http", "If the server accepts it, the server MUST return HTTP status code 202 Accepted with no body.", since=LATEST),
    Rule("answer-type", MUST, SERVER, "basic/transports", "the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object.", _2025_03, LAST_LEGACY),
    Rule("answer-type", MUST, SERVER, "basic/transports/streamable-http", "the server MUST return either Content-Type: application/json (a single JSON object) or Content-Type: text/event-stream (an SSE response stream).", since=LATEST),
    Rule("get-type", MUST, SERVER, "basic/transports", "The server MUST either return Content-Type: text/event-stream in response to this HTTP GET, or else return HTTP 405 Method Not Allowed", _2025_03, LAST_LEGACY),
    Rule("session-missing", MUST, CLIENT, "basic/transports", "clients using the Streamable HTTP transport MUST include it in the Mcp-Session-Id header on all of their subsequent HTTP requests.", _2025_03, _2025_06),
    Rule("session-missing", MUST, CLIENT, "basic/transports", "clients using the Streamable HTTP transport MUST include it in the MCP-Session-Id header on all of their subsequent HTTP requests.", LAST_LEGACY, LAST_LEGACY),
    Rule("session-characters", MUST, SERVER, "basic/transports", "The session ID MUST only contain visible ASCII characters (ranging from 0x21 to 0x7E).", _2025_03, LAST_LEGACY),
    Rule("session-ended", MUST, SERVER, "basic/transports", "The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found.", _2025_03, LAST_LEGACY),
    # A warning: the request and the 404 may have crossed on the wire.
    Rule("session-lost", SHOULD, CLIENT, "basic/transports", "When a client receives HTTP 404 in response to a request containing an Mcp-Session-Id, it MUST start a new session by sending a new InitializeRequest without a session ID attached.", _2025_03, _2025_06),
    Rule("session-lost", SHOULD, CLIENT, "basic/transports", "When a client receives HTTP 404 in response to a request containing an MCP-Session-Id, it MUST start a new session by sending a new InitializeRequest without a session ID attached.", LAST_LEGACY, LAST_LEGACY),
    Rule("version-missing", MUST, CLIENT, "basic/transports", "If using HTTP, the client MUST include the MCP-Protocol-Version: <protocol-version> HTTP header on all subsequent requests to the MCP server", _2025_06, LAST_LEGACY),
    Rule("version-differs", SHOULD, CLIENT, "basic/transports", "The protocol version sent by the client SHOULD be the one negotiated during initialization.", _2025_06, LAST_LEGACY),
    Rule("version-invalid", MUST, SERVER, "basic/transports", "If the server receives a request with an invalid or unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request.", _2025_06, LAST_LEGACY),
    Rule("session-minted", SHOULD, SERVER, "basic/transports/streamable-http", "An Mcp-Session-Id header on a request: ignore it, and do not mint or echo session IDs.", since=LATEST),
    Rule("get-modern", SHOULD, SERVER, "basic/transports/streamable-http", "HTTP GET or DELETE to the MCP endpoint: respond with 405 Method Not Allowed.", since=LATEST),
    Rule("header-version", MUST, CLIENT, "basic/transports/streamable-http", "Every POST request to the MCP endpoint MUST include an MCP-Protocol-Version header.", since=LATEST),
    Rule("header-version-match", MUST, CLIENT, "basic/transports/streamable-http", "The header value MUST match the io.modelcontextprotocol/protocolVersion field carried in the request body's _meta.", since=LATEST),
    Rule("header-method", MUST, CLIENT, "basic/transports/streamable-http", "These headers are REQUIRED for compliance.", since=LATEST),
    Rule("header-method-match", MUST, CLIENT, "basic/transports/streamable-http", "Validation failure conditions include: A header value does not match the corresponding request body value.", since=LATEST),
    Rule("header-name", MUST, CLIENT, "basic/transports/streamable-http", "These headers are REQUIRED for compliance.", since=LATEST),
    Rule("header-name-match", MUST, CLIENT, "basic/transports/streamable-http", "Validation failure conditions include: A header value does not match the corresponding request body value.", since=LATEST),
    Rule("header-accepted", MUST, SERVER, "basic/transports/streamable-http", "Servers that process the request body MUST reject requests where the values specified in the headers do not match the corresponding values in the request body.", since=LATEST),
    Rule("status-not-found", MUST, SERVER, "basic/transports/streamable-http", "If the server does not implement the requested RPC method, it MUST respond with 404 Not Found and a JSON-RPC error with code -32601 (Method not found).", since=LATEST),
    Rule("status-bad-request", MUST, SERVER, "basic/transports/streamable-http", "When rejecting a request due to header validation failure, servers MUST return HTTP status 400 Bad Request", since=LATEST),
    Rule("status-meta", MUST, SERVER, "basic/index", "A request missing any required field is malformed; the server MUST reject it with JSON-RPC error code -32602 (Invalid params). On HTTP, the response status MUST be 400 Bad Request.", since=LATEST),
    # `http_streams`
    Rule("response-on-get", MUST, SERVER, "basic/transports", "The server MUST NOT send a JSON-RPC response on the stream unless resuming a stream associated with a previous client request.", _2025_03, LAST_LEGACY),
    Rule("response-stream", SHOULD, SERVER, "basic/transports", "The SSE stream SHOULD eventually include one JSON-RPC response per each JSON-RPC request sent in the POST body.", _2025_03, _2025_03),
    Rule("response-stream", SHOULD, SERVER, "basic/transports", "The SSE stream SHOULD eventually include JSON-RPC response for the JSON-RPC request sent in the POST body.", _2025_06, _2025_06),
    Rule("response-stream", SHOULD, SERVER, "basic/transports", "The SSE stream SHOULD eventually include a JSON-RPC response for the JSON-RPC request sent in the POST body.", LAST_LEGACY, LAST_LEGACY),
    Rule("message-stream", SHOULD, SERVER, "basic/transports", "These messages SHOULD relate to the originating client request.", _2025_03, LAST_LEGACY),
    Rule("broadcast", MUST, SERVER, "basic/transports", "The server MUST send each of its JSON-RPC messages on only one of the connected streams; that is, it MUST NOT broadcast the same message across multiple streams.", _2025_03, LAST_LEGACY),
    Rule("event-id-reused", MUST, SERVER, "basic/transports", "If present, the ID MUST be globally unique across all streams within that session", _2025_03, LAST_LEGACY),
    Rule("replays-other-stream", MUST, SERVER, "basic/transports", "The server MUST NOT replay messages that would have been delivered on a different stream.", _2025_03, LAST_LEGACY),
    Rule("stream-cut", SHOULD, SERVER, "basic/transports", "The server SHOULD NOT close the SSE stream before sending a JSON-RPC response per each received JSON-RPC request", _2025_03, _2025_03),
    Rule("stream-cut", SHOULD, SERVER, "basic/transports", "The server SHOULD NOT close the SSE stream before sending the JSON-RPC response for the received JSON-RPC request", _2025_06, _2025_06),
    Rule("stream-cut", SHOULD, SERVER, "basic/transports", "After the server has sent an SSE event with an event ID to the client, the server MAY close the connection (without terminating the SSE stream) at any time", LAST_LEGACY, LAST_LEGACY),
    Rule("stream-cut", SHOULD, SERVER, "basic/transports/streamable-http", "The final JSON-RPC response SHOULD terminate the stream.", since=LATEST),
    Rule("stream-goes-on", SHOULD, SERVER, "basic/transports", "After all JSON-RPC responses have been sent, the server SHOULD close the SSE stream.", _2025_03, _2025_03),
    Rule("stream-goes-on", SHOULD, SERVER, "basic/transports", "After the JSON-RPC response has been sent, the server SHOULD close the SSE stream.", _2025_06, _2025_06),
    Rule("stream-goes-on", SHOULD, SERVER, "basic/transports", "After the JSON-RPC response has been sent, the server SHOULD terminate the SSE stream.", LAST_LEGACY, LAST_LEGACY),
    Rule("stream-goes-on", SHOULD, SERVER, "basic/transports/streamable-http", "The final JSON-RPC response SHOULD terminate the stream.", since=LATEST),
    Rule("retry-ignored", MUST, CLIENT, "basic/transports", "The client MUST respect the retry field, waiting the given number of milliseconds before attempting to reconnect.", LAST_LEGACY, LAST_LEGACY),
    # `http_sse`
    Rule("sse-endpoint", MUST, SERVER, "basic/transports", "When a client connects, the server MUST send an endpoint event containing a URI for the client to use for sending messages.", until=FIRST),
    Rule("sse-post", MUST, CLIENT, "basic/transports", "All subsequent client messages MUST be sent as HTTP POST requests to this endpoint.", until=FIRST),
    Rule("sse-event", MUST, SERVER, "basic/transports", "Server messages are sent as SSE message events, with the message content encoded as JSON in the event data.", until=FIRST),
)  # fmt: skip


@cache
def in_force(revision: str) -> dict[str, Rule]:
    """Return the rules of this revision, by name; empty for an unknown revision."""
    if revision not in REVISIONS:
        return {}
    return {rule.name: rule for rule in RULES if rule.since <= revision <= rule.until}
