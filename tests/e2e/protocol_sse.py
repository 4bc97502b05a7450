"""The old transport, HTTP with SSE: one stream for a session, and messages posted to where it says.
See protocol_suite.py."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from tests.support.raw_http import Exchange

from .protocol_suite import Talk, call, request, suite

sse = suite("sse")
HELLO = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
}


class Session:
    """A session: its stream, and the endpoint of its messages."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.stream: Exchange = talk.send("GET", accept="text/event-stream")
        self.entry = talk.head(self.stream)
        (first,) = talk.events(self.stream, self.entry, upto=1)
        parts = urlsplit(urljoin(talk.url, first.data))
        self.endpoint = f"{parts.path}?{parts.query}"

    def post(self, message: object) -> Exchange:
        return self.talk.post(message, target=self.endpoint)

    def say(self, message: object) -> None:
        """Send a message and tell how it is received."""
        self.talk.hear(self.post(message))

    def hear(self, id_: object) -> None:
        """Tell the stream up to the answer to a request, or the server's next question."""
        self.talk.until(self.stream, self.entry, id_)

    def begin(self) -> None:
        """The handshake; the client is named after the test."""
        info = {"name": self.talk.name, "version": "1"}
        self.say(request(0, "initialize", {**HELLO, "clientInfo": info}))
        self.hear(0)
        self.say(request(None, "notifications/initialized"))


@sse
def open_and_leave(talk: Talk) -> None:
    Session(talk).stream.__exit__(None, None, None)
    Session(talk)


@sse
def a_session(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    session.say(request("a", "tools/list"))
    session.hear("a")
    session.say(request(1, "ping"))
    session.hear(1)


@sse
def progress_and_logging(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    session.say(call(1, "countdown", progress=True, start=4))
    session.hear(1)
    session.say(call(2, "touch"))
    session.hear(2)


@sse
def a_question(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    session.say(call(1, "ask_model", text="What is it?"))
    session.hear(1)
    id_ = session.entry["events"][-1]["data"]["id"]
    content = {"type": "text", "text": "42"}
    result = {"role": "assistant", "content": content, "model": "none"}
    session.say({"jsonrpc": "2.0", "id": id_, "result": result})
    session.hear(1)


@sse
def two_sessions(talk: Talk) -> None:
    first, second = Session(talk), Session(talk)
    second.begin()
    first.begin()
    for number, session in enumerate((first, second)):
        session.say(call(number + 1, "add", a=number, b=1))
        session.hear(number + 1)


@sse
def messages_to_nobody(talk: Talk) -> None:
    talk.hear(talk.post(request(1, "ping"), target="/messages/?session_id=nobody"))
    talk.hear(talk.post(request(1, "ping"), target="/messages/?session_id=" + "0" * 32))
    talk.hear(talk.post(request(1, "ping"), target="/messages/"))


@sse
def messages_that_are_none(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    for body in (b"{not json", b"", b"7", b'{"jsonrpc":"2.0"}'):
        talk.hear(talk.send("POST", body, target=session.endpoint))
    session.say(request(1, "ping"))
    session.hear(1)


@sse
def errors(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    for number, message in enumerate(("no/such/method", "tools/call")):
        session.say(request(number + 1, message, {"name": "no-such-tool"}))
        session.hear(number + 1)


@sse
def other_methods_and_paths(talk: Talk) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        talk.hear(talk.send(method, b"{}" if method in ("POST", "PUT") else None))
    talk.hear(talk.send("GET", target="/messages/"))
    talk.hear(talk.send("GET", target="/nowhere"), kept=False)
