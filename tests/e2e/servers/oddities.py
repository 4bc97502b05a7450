"""A server that does what the protocol allows, or what servers do in spite of it, and no SDK does:
refusals of every kind, answers in JSON once and in events the next time, two answers or none, on
another stream or ahead of the 202, streams that are closed to be asked for again.

    oddities.py streamable-http | sse

It needs nothing but Python, and says on its stderr where it listens.  What it does with a request
is the tool's affair: see `Http` and `Sse`.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

PATHS = {"streamable-http": "/mcp", "sse": "/sse"}
RETRY = 40
"""Milliseconds after which a client is to ask again."""
METADATA = "/.well-known/oauth-protected-resource/mcp"
Message = dict[str, Any]


def result(id_: object, text: str) -> Message:
    """The answer to a call."""
    return {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}]}}


def welcome(message: Message) -> Message:
    """The answer to an `initialize`."""
    said = {
        "protocolVersion": message["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "oddities", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": message["id"], "result": said}


class Standing:
    """What goes out on the GET stream, or with HTTP+SSE on the only one: all of it is kept, and
    whoever listens last gets it.
    """

    def __init__(self) -> None:
        self._said: list[bytes] = []
        self._ended = False
        self._listener = object()
        self._changed = threading.Condition()

    def say(self, message: Message) -> None:
        with self._changed:
            self._said.append(event(message))
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def listen(self, heard: int = 0) -> Iterator[tuple[int, bytes]]:
        """What comes behind so much, with its number, until the end or somebody else listens."""
        mine = self._listener = object()
        with self._changed:
            self._changed.notify_all()
        while data := self._next(heard, mine):
            heard += 1
            yield heard, data

    def _next(self, heard: int, mine: object) -> bytes | None:
        with self._changed:
            while len(self._said) == heard and not self._ended and self._listener is mine:
                self._changed.wait()
            return self._said[heard] if len(self._said) > heard and self._listener is mine else None


class Session:
    """What is known of a session: how often a tool was called, what a stream still has to say, who
    waits for whom.
    """

    def __init__(self, number: int) -> None:
        self.id = f"00000000-0000-4000-8000-{number:012}"
        self.locked = False
        self.calls: dict[str, int] = {}
        self.polls: list[tuple[object, int]] = []
        self.answers: dict[object, threading.Event] = {}
        self.standing = Standing()

    def turn(self, tool: str) -> int:
        """How often it was called, this time included."""
        self.calls[tool] = self.calls.get(tool, 0) + 1
        return self.calls[tool]


class Handler(BaseHTTPRequestHandler):
    """The ways to answer."""

    protocol_version = "HTTP/1.1"
    sessions: ClassVar[dict[str, Session]] = {}
    lock = threading.Lock()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def opened(self) -> Session:
        """A new session."""
        with self.lock:
            session = Session(len(self.sessions) + 1)
            self.sessions[session.id] = session
        return session

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def whole(self, body: bytes, status: int = 200, **fields: str) -> None:
        """A whole answer; `fields` are header fields, with `_` for `-`."""
        self.head(status, **{"Content_Type": "application/json", **fields}, length=str(len(body)))
        self.wfile.write(body)

    def json(self, message: Message, status: int = 200, **fields: str) -> None:
        self.whole(json.dumps(message).encode(), status, **fields)

    def accepted(self) -> None:
        self.whole(b"", 202)

    def head(self, status: int, **fields: str) -> None:
        self.send_response(status)
        for name, value in fields.items():
            name = "Content-Length" if name == "length" else name.replace("_", "-")
            self.send_header(name, value)
        self.end_headers()

    def stream(self, **fields: str) -> None:
        """The head of an event stream."""
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked", **fields)

    def event(self, message: Message | None, before: str = "event: message\n") -> None:
        """One event; `before` are its other lines. Without a message its data is empty."""
        self.block(event(message, before))

    def block(self, block: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))

    def over(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def event(message: Message | None, before: str = "event: message\n") -> bytes:
    data = "" if message is None else json.dumps(message)
    return f"{before}data: {data}\n\n".encode()


class Http(Handler):
    """Streamable HTTP, with sessions."""

    def do_POST(self) -> None:
        message = self.body()
        if message.get("method") == "initialize":
            self.initialize(message)
        elif (session := self.session()) is None:
            pass
        elif session.locked and not self.headers["Authorization"]:
            self.challenge()
        elif message.get("method") == "tools/call":
            tool: Callable[..., None] = getattr(self, f"tool_{message['params']['name']}")
            tool(session, message["id"], **message["params"].get("arguments", {}))
        elif "method" in message and "id" in message:
            self.json({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        elif "id" in message:
            session.answers[message["id"]].set()
            session.answers[message["id"], "told"].wait()
            self.accepted()
        else:
            self.accepted()

    def do_GET(self) -> None:
        if self.path == METADATA:
            self.whole(b'{"resource": "mine"}')
        elif (session := self.session()) is None:
            pass
        elif (last := self.headers["Last-Event-ID"]) and not last.startswith("standing-"):
            self.go_on(session, last)
        else:
            self.stream()
            for number, block in session.standing.listen(int((last or "-0").partition("-")[2])):
                self.block(b"id: standing-%d\n%b" % (number, block))
            self.over()

    def do_DELETE(self) -> None:
        if session := self.session():
            session.standing.end()
            del self.sessions[session.id]
            self.whole(b"", 204)

    def session(self) -> Session | None:
        """That of the request; a refusal where it has none."""
        id_ = self.headers["Mcp-Session-Id"]
        session = self.sessions.get(id_ or "")
        if session is None:
            error = {"code": -32001 if id_ else -32000, "message": "no such session"}
            self.json({"jsonrpc": "2.0", "error": error}, 404 if id_ else 400)
        return session

    def initialize(self, message: Message) -> None:
        """Who wants the session locked needs a token for this, and for all that follows."""
        locked = "locked" in message["params"]["capabilities"].get("experimental", {})
        if locked and not self.headers["Authorization"]:
            self.challenge()
            return
        session = self.opened()
        session.locked = locked
        self.json(welcome(message), Mcp_Session_Id=session.id)

    def challenge(self) -> None:
        where = f'resource_metadata="http://{self.headers["Host"]}{METADATA}"'
        self.whole(b'{"error":"invalid_token"}', 401, WWW_Authenticate=f"Bearer {where}")

    def tool_status(self, session: Session, id_: object, code: int) -> None:
        """A refusal with this status, and an error in JSON."""
        fields = {
            401: {"WWW_Authenticate": 'Bearer error="invalid_token"'},
            403: {"WWW_Authenticate": 'Bearer error="insufficient_scope", scope="files:write"'},
            405: {"Allow": "GET, POST"},
            429: {"Retry_After": "7"},
        }
        error = {"code": -32000, "message": f"it is {code} this time"}
        self.json({"jsonrpc": "2.0", "id": id_, "error": error}, code, **fields.get(code, {}))

    def tool_page(self, session: Session, id_: object, code: int) -> None:
        """A refusal as servers in between give it."""
        self.whole(b"<html>no</html>\n", code, Content_Type="text/html")

    def tool_turns(self, session: Session, id_: object) -> None:
        """JSON every other time, events in between."""
        turn = session.turn("turns")
        answer = result(id_, f"turn {turn}")
        if turn % 2:
            self.json(answer)
        else:
            self.stream()
            self.event(answer)
            self.over()

    def tool_twice(self, session: Session, id_: object) -> None:
        """Two answers on one stream."""
        self.stream()
        self.event(result(id_, "first"))
        self.event(result(id_, "second"))
        self.over()

    def tool_also(self, session: Session, id_: object) -> None:
        """Two answers, the second one on the stream of the session."""
        session.standing.say(result(id_, "second"))
        self.json(result(id_, "first"))

    def tool_elsewhere(self, session: Session, id_: object) -> None:
        """The answer is on the stream of the session, and the stream of the call ends without."""
        session.standing.say(result(id_, "here"))
        self.stream()
        self.over()

    def tool_tell(self, session: Session, id_: object, what: str) -> None:
        """Something for the stream of the session."""
        params = {"level": "info", "data": what}
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
        session.standing.say(note)
        self.json(result(id_, "told"))

    def tool_never(self, session: Session, id_: object) -> None:
        """No answer: not even a body."""
        self.accepted()

    def tool_ask(self, session: Session, id_: object) -> None:
        """A question; the result comes ahead of the 202 to its answer."""
        question = f"question-{id_}"
        came = session.answers[question] = threading.Event()
        told = session.answers[question, "told"] = threading.Event()
        self.stream()
        self.event({"jsonrpc": "2.0", "id": question, "method": "roots/list"})
        came.wait()
        self.event(result(id_, "asked"))
        self.over()
        told.set()

    def tool_poll(self, session: Session, id_: object, rounds: int) -> None:
        """Come back for the answer, so many times."""
        session.polls.append((id_, rounds))
        self.stream()
        self.event(None, f"id: {len(session.polls) - 1}.0\nretry: {RETRY}\n")
        self.over()

    def go_on(self, session: Session, last: str) -> None:
        poll, round_ = (int(part) for part in last.split("."))
        id_, rounds = session.polls[poll]
        self.stream()
        before = f"id: {poll}.{round_ + 1}\n"
        if round_ < rounds:
            note = {"level": "info", "data": f"round {round_ + 1}"}
            said = {"jsonrpc": "2.0", "method": "notifications/message", "params": note}
            self.event(said, f"{before}retry: {RETRY + round_}\n")
        else:
            self.event(result(id_, f"after {rounds} rounds"), before)
        self.over()

    def tool_spelled(self, session: Session, id_: object) -> None:
        """Events spelled in every way that is allowed."""
        self.stream()
        text = json.dumps(result(id_, "spelled"), indent=1).encode()
        self.block(b": a comment\n\n:\n\nid\ndata\n\n")
        self.block(b"event:message\ndata:{}\n\n")
        self.block(b"\r\n".join([b"id: 1", *(b"data: " + row for row in text.split(b"\n"))]))
        self.block(b"\r\n\r\n")
        self.over()


class Sse(Handler):
    """HTTP+SSE."""

    def do_GET(self) -> None:
        session = self.opened()
        self.stream()
        self.block(f"event: endpoint\ndata: /messages?session_id={session.id}\n\n".encode())
        for _, block in session.standing.listen():
            self.block(block)
        self.over()

    def do_POST(self) -> None:
        message = self.body()
        session = self.sessions[self.path.partition("=")[2]]
        if message.get("method") == "initialize":
            session.standing.say(welcome(message))
            self.accepted()
        elif message.get("method") == "tools/call":
            tool: Callable[..., None] = getattr(self, f"tool_{message['params']['name']}")
            tool(session, message["id"])
        else:
            for waiting in session.answers.values():
                waiting.set()
            self.accepted()

    def tool_early(self, session: Session, id_: object) -> None:
        """The answer comes ahead of the 202, which waits for the next message."""
        waiting = session.answers[id_] = threading.Event()
        session.standing.say(result(id_, "early"))
        waiting.wait()
        self.accepted()

    def tool_twice(self, session: Session, id_: object) -> None:
        """Two answers."""
        session.standing.say(result(id_, "first"))
        session.standing.say(result(id_, "second"))
        self.accepted()

    def tool_refused(self, session: Session, id_: object) -> None:
        """A refusal in the place of the 202, and no answer."""
        self.whole(b"not now\n", 503, Content_Type="text/plain", Retry_After="7")

    def tool_last(self, session: Session, id_: object) -> None:
        """The stream ends in the middle of everything."""
        self.accepted()
        session.standing.end()


def main(transport: str) -> None:
    """Serve over the named transport."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Http if transport == "streamable-http" else Sse)
    server.daemon_threads = True
    where = f"http://127.0.0.1:{server.server_port}{PATHS[transport]}"
    print(f"listening on {where}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
