"""What the Python clients share: run a scenario of scenarios.json, print one JSON document.

A client script (py1.py, py2.py, fastmcp_client.py) connects its library to the server and
describes the connection as a `Peer`; everything else is here.  driver.mjs is the same for Node.

A step of a scenario names an MCP method and its params as they are on the wire, or one of two
verbs of the runner: `wait` (until so much was heard from the server) and `together` (steps at
once).  Whatever may differ between two runs of one server is masked or left out, so that two
runs print the same bytes: of `notifications` only the counts are told, not the order.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import anyio

LIMIT = 50.0  # seconds for a whole scenario; closing the client then has until WATCHDOG
WATCHDOG = 60.0
PATIENCE = 10.0  # seconds for one `wait`
LONGEST = 2000  # characters of a string that the document shows in full
FIRST_MODERN = "2026-07-28"

Params = dict[str, Any]
OnProgress = Callable[[float, float | None, str | None], Awaitable[None]]


class RefusedError(Exception):
    """The user of this client says no to what the server asks."""

    code = -1

    def __init__(self) -> None:
        super().__init__("User rejected the request")


@dataclass
class Peer:
    """A connected client library: MCP method -> its call."""

    server: Any
    """What the library knows of the server once it is connected."""
    call_tool: Callable[[Params, OnProgress | None], Awaitable[Any]]
    calls: dict[str, Callable[[Params], Awaitable[Any]]]
    """Every other method of the scenarios."""


@dataclass
class Heard:
    """What the server said of its own accord, and what it is answered."""

    answers: dict[str, Any]
    asked: list[Params] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)
    notifications: Counter[str] = field(default_factory=Counter)

    def ask(self, method: str, params: Any) -> Params:
        """Note a question of the server and give the answer of scenarios.json."""
        question = {"method": method, "params": plain(params)}
        self.asked.append(question)
        if "please refuse" in json.dumps(question):
            raise RefusedError
        is_url = method == "elicitation/create" and question["params"].get("mode") == "url"
        return self.answers[f"{method} url" if is_url else method]

    async def log(self, params: Any) -> None:
        """Note a log message: the logging callback of every library."""
        self.logs.append(plain(params))

    async def message(self, message: Any) -> None:
        """Count a notification that has no callback of its own: every library's message handler.

        Errors of the library arrive here too (a late answer, say); they come at no certain time.
        """
        notification = getattr(message, "root", message)
        method = getattr(notification, "method", "")
        if not method.startswith("notifications/") or method.endswith(("/message", "/progress")):
            return
        uri = getattr(notification.params, "uri", None)
        self.notifications[f"{method} {uri}" if uri else method] += 1

    async def wait(self, asked: int = 0, logs: int = 0, notifications: Params | None = None) -> str:
        """Wait until at least so much has come since the start."""
        with anyio.fail_after(PATIENCE):
            while (  # noqa: ASYNC110 -- simpler than an event that three places must set
                len(self.asked) < asked
                or len(self.logs) < logs
                or not Counter(notifications or {}) <= self.notifications
            ):
                await anyio.sleep(0.005)
        return "came"


def plain(value: Any) -> Any:
    """Turn the libraries' models into what json.dumps takes: what was on the wire, no defaults."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    if is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def filled(value: Any, workdir: str) -> Any:
    """Replace `$WORKDIR` and `{"$repeat": [text, times]}` in a part of scenarios.json."""
    if isinstance(value, dict):
        if "$repeat" in value:
            text, times = value["$repeat"]
            return text * times
        return {key: filled(item, workdir) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, workdir) for item in value]
    return value.replace("$WORKDIR", workdir) if isinstance(value, str) else value


def folded(value: Any) -> Any:
    """Replace long strings by their length and digest."""
    if isinstance(value, dict):
        return {key: folded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [folded(item) for item in value]
    if isinstance(value, str) and len(value) > LONGEST:
        digest = hashlib.sha256(value.encode()).hexdigest()
        return f"<{len(value)} characters, sha256 {digest}>"
    return value


def masked(document: Params, workdir: str, masks: list[list[str]]) -> Params:
    """Hide what differs between two runs; the masks see compact JSON text."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    text = text.replace(workdir, "$WORKDIR")
    for pattern, replacement in masks:
        text = re.sub(pattern, replacement, text)
    return folded(json.loads(text))


def is_for(step: Params, server: Params) -> bool:
    """Whether a step is for the era of this connection; most are for both."""
    modern = server.get("protocolVersion", "") >= FIRST_MODERN
    return step.get("era") in (None, "modern" if modern else "legacy")


def described(error: Exception) -> Params:
    """The code and message of a JSON-RPC error, or the name and text of any other exception."""
    data = getattr(error, "error", None)
    if data is not None and hasattr(data, "code"):
        return plain(data)
    return {"code": None, "message": f"{type(error).__name__}: {error}"}


@dataclass
class Runner:
    """Runs steps one after the other and keeps what came of each."""

    peer: Peer
    heard: Heard

    async def run(self, step: Params) -> Params:
        """Do one step; whatever goes wrong in it is its result."""
        outcome: Params = {"step": step["step"]}
        try:
            if step["do"] == "wait":
                outcome["result"] = await self.heard.wait(**step["for"])
            elif step["do"] == "together":
                outcome["result"] = await self.together(step["steps"])
            elif step.get("progress"):
                await self.call_with_progress(step, outcome)
            elif step["do"] == "tools/call":
                outcome["result"] = plain(await self.peer.call_tool(step["params"], None))
            else:
                outcome["result"] = plain(await self.peer.calls[step["do"]](step.get("params", {})))
        except Exception as error:  # noqa: BLE001 -- an error of the library is what we report
            outcome["error"] = described(error)
        return outcome

    async def together(self, steps: list[Params]) -> list[Params]:
        """Do the steps at once; the outcomes are in the order of the steps."""
        outcomes: list[Params] = [{} for _ in steps]

        async def one(index: int) -> None:
            outcomes[index] = await self.run(steps[index])

        async with anyio.create_task_group() as tasks:
            for index in range(len(steps)):
                tasks.start_soon(one, index)
        return outcomes

    async def call_with_progress(self, step: Params, outcome: Params) -> None:
        """Call a tool and note the progress that came before the answer.

        With `cancel_after: n`, cancel the call at its n-th progress notification.
        """
        heard: list[Params] = []
        cancel_after = step.get("cancel_after", 0)
        scope = anyio.CancelScope()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if not scope.cancel_called:
                heard.append(plain({"progress": progress, "total": total, "message": message}))
            if len(heard) == cancel_after:
                scope.cancel()

        with scope:
            outcome["result"] = plain(await self.peer.call_tool(step["params"], on_progress))
        outcome["progress"] = list(heard)
        if scope.cancelled_caught:
            outcome["cancelled"] = True


@dataclass
class Job:
    """What the command line asks for.

    [--mode M] --scenario NAME --workdir DIR -- SERVER ARG..
    [--mode M] --scenario NAME --workdir DIR --transport streamable-http|sse --url URL
    """

    mode: str
    scenario: Params
    workdir: str
    server: list[str]
    transport: str
    url: str
    heard: Heard
    steps: list[Params] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Our own environment, whole, for the server: the libraries alone pass a few names."""
        return dict(os.environ)

    async def play(self, peer: Peer) -> None:
        """Run the scenario over a connected client."""
        runner = Runner(peer, self.heard)
        server = plain(peer.server)
        self.steps.append({"step": "connect", "result": server})
        for step in self.scenario["steps"]:
            if is_for(step, server):
                self.steps.append(await runner.run(filled(step, self.workdir)))

    def document(self) -> str:
        """All that happened, as JSON."""
        document = {
            "steps": self.steps,
            "asked": self.heard.asked,
            "logs": self.heard.logs,
            "notifications": dict(sorted(self.heard.notifications.items())),
        }
        masks = [*self.scenario["mask"], [r"(127\.0\.0\.1|localhost):[0-9]+", "HOST:PORT"]]
        shown = masked(document, self.workdir, masks)
        return json.dumps(shown, ensure_ascii=False, indent=1)


def read_job(argv: list[str], modes: tuple[str, ...]) -> Job:
    """Read the command line and scenarios.json."""
    end = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--transport", choices=("stdio", "streamable-http", "sse"), default="stdio")
    parser.add_argument("--url", default="")
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--workdir", required=True)
    args = parser.parse_args(argv[:end])
    scenarios = json.loads(Path(__file__).with_name("scenarios.json").read_text("utf-8"))
    return Job(
        mode=args.mode,
        scenario=scenarios[args.scenario],
        workdir=args.workdir,
        server=argv[end + 1 :],
        transport=args.transport,
        url=args.url,
        heard=Heard(filled(scenarios["answers"], args.workdir)),
    )


def main(client: Callable[[Job], Awaitable[None]], modes: tuple[str, ...] = ("",)) -> None:
    """Run `client`, which connects, plays the job and closes, within the time limits."""
    faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    job = read_job(sys.argv[1:], modes)

    async def limited() -> None:
        with anyio.fail_after(LIMIT):
            await client(job)

    try:
        anyio.run(limited)
    except BaseException:
        print("what came before the failure:", job.document(), sep="\n", file=sys.stderr)
        raise
    print(job.document())
