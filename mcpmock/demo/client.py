"""The demo client: a real MCP client of the legacy era, `python -m mcpmock.demo.client -- COMMAND`.

It starts COMMAND as its server, makes the same tour each time, and prints everything that it
receives as JSON lines, in the order of arrival: answers, notifications and questions (which it
answers). Two tours can be compared line by line. With `--city NAME` it only asks for the weather
there, with `--short` it makes ten requests. It uses nothing of mcpmock but safe standard streams,
and knows nothing of recordings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mcpmock.channels.standard_streams import guard_standard_streams, write_log_line
from mcpmock.errors import OutputLost

PROTOCOL_VERSION = "2025-11-25"
COUNTER = "demo://counter"
METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}
_ANSWERS: dict[str, Any] = {
    "ping": {},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "42"},
        "model": "demo-model",
        "stopReason": "endTurn",
    },
    "elicitation/create": {"action": "accept", "content": {"sure": True}},
    "roots/list": {"roots": [{"uri": "file:///demo", "name": "demo"}]},
}
_CLIENT = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
    "clientInfo": {"name": "mcpmock-demo-client", "version": "1.0.0"},
}


class ServerGone(Exception):
    """The server closed its output before it had answered."""


class DemoClient:
    """A server process and the conversation with it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._requests: list[str] = []
        """What each request was about; ids count from 1."""
        self._open: set[int] = set()

    def request(self, *calls: tuple[str, Any]) -> list[int]:
        """Send requests in one write, and return their ids."""
        first = len(self._requests) + 1
        messages = []
        for id_, (method, params) in enumerate(calls, first):
            about = (params or {}).get("name") or (params or {}).get("uri")
            self._requests.append(f"{method} {about}" if about else method)
            self._open.add(id_)
            given = {} if params is None else {"params": params}
            messages.append({"id": id_, "method": method, **given})
        self._send(*messages)
        return [message["id"] for message in messages]

    def call(self, method: str, params: Any = None) -> None:
        """Send a request and wait for its answer, be it an error."""
        self.wait(*self.request((method, params)))

    def call_tool(self, name: str, *, token: str | None = None, **arguments: Any) -> None:
        """Call a tool. With a `token`, it asks for progress."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        self.call("tools/call", {**meta, "name": name, "arguments": arguments})

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"method": method, **({} if params is None else {"params": params})})

    def wait(self, *ids: int) -> None:
        """Read until these requests are answered. Raises ServerGone."""
        while self._open.intersection(ids):
            self._read()

    def end(self) -> int:
        """Close the server's input, read the rest of its output, and return its exit status as a
        shell counts it.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            while True:
                self._read()
        except (ServerGone, BrokenPipeError):
            status = self._process.wait()
        return status if status >= 0 else 128 - status

    def _send(self, *messages: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        lines = [json.dumps({"jsonrpc": "2.0", **m}, separators=(",", ":")) for m in messages]
        try:
            self._process.stdin.write("".join(line + "\n" for line in lines).encode())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ServerGone from error

    def _read(self) -> None:
        """Read one message of the server: print it, and answer a question."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ServerGone
        message = json.loads(line)
        method, id_ = message.get("method"), message.get("id")
        if method is None:
            outcome = "error" if "error" in message else "result"
            _print({"answered": self._requests[id_ - 1], outcome: message[outcome]})
            self._open.discard(id_)
        else:
            verb = "notified" if id_ is None else "asked"
            _print({verb: method, "params": message.get("params")})
            if id_ is not None:
                known = method in _ANSWERS
                answer = {"result": _ANSWERS[method]} if known else {"error": METHOD_NOT_FOUND}
                self._send({"id": id_, **answer})


def _print(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")


def tour(client: DemoClient) -> None:
    """Use a little of everything that the demo server offers."""
    client.call("tools/list")
    client.call_tool("echo", message="Hello, snowman \u2603")
    client.call_tool("add", a=19, b=23)
    client.call_tool("weather", city="Oslo")
    client.call_tool("weather", city="Atlantis")
    client.call_tool("no-such-tool")
    client.call("no/such/method")
    client.call_tool("countdown", token="countdown", steps=3)
    client.call_tool("ask", question="What is 6 x 7?")
    client.call_tool("confirm", action="go on")
    client.call_tool("roots")
    client.call("resources/list")
    client.call("resources/read", {"uri": COUNTER})
    client.call("resources/subscribe", {"uri": COUNTER})
    client.call_tool("touch")
    client.call("resources/read", {"uri": COUNTER})
    client.call("prompts/list")
    client.call("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
    ref = {"type": "ref/prompt", "name": "greet"}
    argument = {"name": "name", "value": "A"}
    client.call("completion/complete", {"ref": ref, "argument": argument})
    # Three calls at once: the slow one is sent first and answered last. They go in one write, so
    # that a replay on a busy machine sees all three before the slow answer is due.
    together = client.request(
        ("tools/call", {"name": "slow", "arguments": {"seconds": 0.2}}),
        ("ping", None),
        ("tools/call", {"name": "echo", "arguments": {"message": "overtaken"}}),
    )
    client.wait(*together)
    (cancelled,) = client.request(("tools/call", {"name": "slow", "arguments": {"seconds": 3600}}))
    client.call("ping")
    client.notify("notifications/cancelled", {"requestId": cancelled, "reason": "enough"})
    client.call("ping")


def short_tour(client: DemoClient) -> None:
    """Send ten requests with the handshake, one after the other: what the manual explores."""
    client.call("tools/list")
    client.call_tool("countdown", token="three", steps=3, pause=0.02)
    client.call_tool("countdown", token="two", steps=2, pause=0.02)
    client.call_tool("ask", question="What is 6 x 7?")
    client.call_tool("confirm", action="go on")
    client.call_tool("slow", seconds=0.05)
    client.call_tool("echo", message="Hello")
    client.call("resources/read", {"uri": COUNTER})
    client.call("ping")


def main() -> None:
    """Run a tour, and exit with the status of the server."""
    guard_standard_streams()
    arguments = sys.argv[1:]
    city = None
    work = tour
    if arguments[:1] == ["--city"]:
        city, arguments = arguments[1], arguments[2:]
    elif arguments[:1] == ["--short"]:
        work, arguments = short_tour, arguments[1:]
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        sys.exit("usage: python -m mcpmock.demo.client [--city NAME | --short] -- COMMAND [ARG]...")
    try:
        client = DemoClient(command)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)
    try:
        with suppress(ServerGone):  # what came until then is the result
            client.call("initialize", _CLIENT)
            client.notify("notifications/initialized")
            if city is None:
                work(client)
            else:
                client.call_tool("weather", city=city)
        status = client.end()
        sys.stdout.flush()
    except OutputLost as error:
        write_log_line(str(error))
        status = error.exit_code
    sys.exit(status)


if __name__ == "__main__":
    main()
