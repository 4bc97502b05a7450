"""A model for agents, on the loopback: it asks for the tool calls of a script, one in each turn,
and then says that it is done. No network, no key, no chance.

    with scripted_model([ToolCall("read", {"path": "a"})]) as model:
        ...  # an agent whose model is at `model.url`

Which call is next is read from each request, by the number of tool results in it: so an agent may
repeat a request, and ask beside its conversation (for a title, for a number of tokens). It speaks
Anthropic's messages, OpenAI's chat completions and responses, and Gemini's generateContent, each
whole or as a stream, with the members that the agents need and no others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

MODEL = "scripted-model"
DONE = "All done."
Json = dict[str, Any]
Events = Iterable[Json]


@dataclass(frozen=True)
class ToolCall:
    """A call that the model asks for. An agent may put the name of the server before the tool's."""

    tool: str
    arguments: Json


@dataclass(frozen=True)
class Turn:
    """What the model says: a call of the tool `name` (as the agent has it), or text."""

    number: int
    name: str = ""
    arguments: Json = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"call_{self.number}"

    @property
    def json(self) -> str:
        return json.dumps(self.arguments)


@dataclass(frozen=True)
class Dialect:
    """One way to ask a model: what of a request matters, and the answer, whole or as events."""

    results: Callable[[Json], int]
    """How many tool results the conversation holds."""
    names: Callable[[Json], Iterable[str]]
    """The tools that the model may call."""
    whole: Callable[[Turn], Json]
    events: Callable[[Turn], Events]


def _anthropic_results(body: Json) -> int:
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return sum(block.get("type") == "tool_result" for block in blocks)


def _anthropic(turn: Turn) -> Json:
    block: Json = {"type": "text", "text": DONE}
    if turn.name:
        block = {"type": "tool_use", "id": turn.id, "name": turn.name, "input": turn.arguments}
    return {
        "id": f"msg_{turn.number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [block],
        "stop_reason": "tool_use" if turn.name else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _anthropic_events(turn: Turn) -> Events:
    whole = _anthropic(turn)
    (block,) = whole["content"]
    if turn.name:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": turn.json}
    else:
        empty = {**block, "text": ""}
        delta = {"type": "text_delta", "text": DONE}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _chat(turn: Turn) -> Json:
    message: Json = {"role": "assistant", "content": None if turn.name else DONE}
    if turn.name:
        function = {"name": turn.name, "arguments": turn.json}
        message["tool_calls"] = [{"id": turn.id, "type": "function", "function": function}]
    return _completion(turn, "message", message, "tool_calls" if turn.name else "stop")


def _chat_events(turn: Turn) -> Events:
    whole = _chat(turn)
    (choice,) = whole["choices"]
    delta = choice["message"]
    if turn.name:
        delta = {**delta, "tool_calls": [{"index": 0, **delta["tool_calls"][0]}]}
    yield _completion(turn, "delta", delta, None)
    yield _completion(turn, "delta", {}, choice["finish_reason"])


def _completion(turn: Turn, kind: str, said: Json, finish: str | None) -> Json:
    return {
        "id": f"chatcmpl-{turn.number}",
        "object": "chat.completion" if kind == "message" else "chat.completion.chunk",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, kind: said, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _response(turn: Turn) -> Json:
    item: Json = {
        "type": "message",
        "id": f"msg_{turn.number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": DONE, "annotations": []}],
    }
    if turn.name:
        space, _, name = turn.name.rpartition(".")
        item = {
            "type": "function_call",
            "id": f"fc_{turn.number}",
            "call_id": turn.id,
            "status": "completed",
            "name": name,
            "arguments": turn.json,
            **({"namespace": space} if space else {}),
        }
    return {
        "id": f"resp_{turn.number}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": MODEL,
        "output": [item],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def _response_events(turn: Turn) -> Events:
    whole = _response(turn)
    (item,) = whole["output"]
    place = {"output_index": 0, "item_id": item["id"]}
    events: list[Json] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
    ]
    if turn.name:
        delta = {"type": "response.function_call_arguments.delta", **place, "delta": turn.json}
        done = {"type": "response.function_call_arguments.done", **place, "arguments": turn.json}
        events += [delta, done]
    else:
        text = {**place, "content_index": 0}
        events.append({"type": "response.output_text.delta", **text, "delta": DONE})
        events.append({"type": "response.output_text.done", **text, "text": DONE})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    yield from ({**event, "sequence_number": n} for n, event in enumerate(events))


def _gemini(turn: Turn) -> Json:
    part: Json = {"text": DONE}
    if turn.name:
        part = {"functionCall": {"id": turn.id, "name": turn.name, "args": turn.arguments}}
    return {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": MODEL,
    }


def _gemini_results(body: Json) -> int:
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    return sum("functionResponse" in part for part in parts)


def _gemini_names(body: Json) -> list[str]:
    tools = body.get("tools") or ()
    return [one["name"] for tool in tools for one in tool.get("functionDeclarations", ())]


def _names(body: Json) -> list[str]:
    """Return the names of tools; those in a namespace, as Codex has them, behind it."""
    tools = [tool for tool in body.get("tools") or () if "name" in tool]
    inner = [f"{tool['name']}.{one['name']}" for tool in tools for one in tool.get("tools", ())]
    return [*(tool["name"] for tool in tools), *inner]


DIALECTS = {
    "/messages": Dialect(_anthropic_results, _names, _anthropic, _anthropic_events),
    "/chat/completions": Dialect(
        lambda body: sum(message["role"] == "tool" for message in body["messages"]),
        lambda body: [tool["function"]["name"] for tool in body.get("tools") or ()],
        _chat,
        _chat_events,
    ),
    "/responses": Dialect(
        lambda body: sum(
            one.get("type") == "function_call_output"
            for one in body["input"]
            if isinstance(one, dict)
        ),
        _names,
        _response,
        _response_events,
    ),
    "enerateContent": Dialect(
        _gemini_results, _gemini_names, _gemini, lambda turn: [_gemini(turn)]
    ),
}
"""By the end of the path."""


class ScriptedModel(ThreadingHTTPServer):
    """The model's server."""

    daemon_threads = True

    def __init__(self, script: Sequence[ToolCall]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.unknown: list[str] = []
        """What was asked that is nothing of a model's."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def turn(self, dialect: Dialect, body: Json) -> Turn:
        """Return what the model says to a request."""
        number, names = dialect.results(body), list(dialect.names(body))
        if number >= len(self.script):
            return Turn(number)
        call = self.script[number]
        # Agents put the server before it, and may have a tool of their own with the short name.
        # Codex spells a hyphen as an underscore.
        ends = (call.tool, call.tool.replace("-", "_"))
        found = max((name for name in names if name.endswith(ends)), key=len, default="")
        return Turn(number, found, call.arguments)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}
        self._answer(json.dumps({"object": "list", "data": [model]}).encode())

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path, _, query = self.path.partition("?")
        dialect = next((one for end, one in DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:
            counted = {"input_tokens": 1, "totalTokens": 1}  # of Anthropic and of Gemini
            self._answer(json.dumps(counted).encode())
            return
        assert isinstance(self.server, ScriptedModel)
        turn = self.server.turn(dialect, body)
        if not (body.get("stream") or "alt=sse" in query):
            self._answer(json.dumps(dialect.whole(turn)).encode())
            return
        events = b"".join(map(_event, dialect.events(turn)))
        if path.endswith("/completions"):
            events += b"data: [DONE]\n\n"
        self._answer(events, "text/event-stream")

    def _answer(self, data: bytes, media: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


def _event(value: Json) -> bytes:
    named = f"event: {value['type']}\n" if "type" in value else ""
    return f"{named}data: {json.dumps(value)}\n\n".encode()


@contextmanager
def scripted_model(script: Sequence[ToolCall]) -> Iterator[ScriptedModel]:
    """Serve the model for the time of the block."""
    server = ScriptedModel(script)
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
