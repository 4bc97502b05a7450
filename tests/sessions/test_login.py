"""A replay that needs a login: its clients over HTTP, in memory. What the authorization server says
is in `tests/authorization`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import trio
from trio.testing import MockClock

from mcpmock.authorization.options import AuthorizationOptions
from mcpmock.cassette.file import load
from mcpmock.faults.fault import PlanError
from mcpmock.faults.plan import Plan, fault_of
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from tests.authorization.login import BACK, CHALLENGE, VERIFIER
from tests.sessions.web import Web, running, web
from tests.support import INITIALIZE, OPENING, WELCOME, cassette
from tests.support.memory_listener import PORT

__all__ = ["web"]

RESOURCE = f"http://127.0.0.1:{PORT}/mcp"


def guarded(
    web: Web, auth: str, *faults: str, recording: Recording | None = None
) -> Callable[[], Awaitable[int]]:
    setup = Setup(
        front=web.front(),
        replay=Replay(cassette(*OPENING), PlayerOptions(), lambda what: web.said.append(str(what))),
        faults=FaultRun.of(Plan(faults=tuple(map(fault_of, faults)))),
        authorization=AuthorizationOptions.parse(auth),
        recording=recording,
        say=web.said.append,
    )
    return lambda: run_sessions(setup)


async def log_in(web: Web) -> str:
    """An access token."""
    caller = web.door.client("/register")
    told = {"redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    await caller.post(json.dumps(told).encode())
    client = (await caller.answer()).message["client_id"]
    common = {"client_id": client, "redirect_uri": BACK, "resource": RESOURCE}
    asked = {"code_challenge": CHALLENGE, "code_challenge_method": "S256", "response_type": "code"}
    await caller.ask("GET", f"/authorize?{urlencode({**common, **asked})}")
    location = (await caller.answer()).header("location") or ""
    [code] = parse_qs(urlsplit(location).query)["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, **common}
    fields = [("Content-Type", "application/x-www-form-urlencoded")]
    await caller.ask("POST", "/token", fields, urlencode(form).encode())
    return str((await caller.answer()).message["access_token"])


async def test_a_login(web: Web, tmp_path: Path) -> None:
    """Without a token 401, with one the recorded answer; a recording has the session alone."""
    recording = Recording(output=tmp_path / "b.jsonl")
    async with running(web, guarded(web, "oauth", recording=recording)) as statuses:
        refused = await web.posts(INITIALIZE)
        token = await log_in(web)
        welcome = await web.posts(INITIALIZE, authorization=f"Bearer {token}")
    [take] = load(tmp_path / "b.jsonl").takes

    assert [0] == statuses
    assert 401 == refused.status
    assert WELCOME in welcome.body
    assert [INITIALIZE, WELCOME] == [event.payload for event in take.events if event.payload]
    assert token.encode() not in (tmp_path / "b.jsonl").read_bytes()
    assert [] == web.said


async def test_a_token_ends_by_the_clock_of_the_session(
    web: Web, autojump_clock: MockClock
) -> None:
    """A mock clock makes an hour free."""
    async with running(web, guarded(web, "oauth:expires=1h")):
        token = await log_in(web)
        await trio.sleep(3599)
        before = await web.posts(INITIALIZE, authorization=f"Bearer {token}")
        await trio.sleep(1)
        after = await web.posts(INITIALIZE, authorization=f"Bearer {token}")

    assert (200, 401) == (before.status, after.status)


async def test_a_slow_login(web: Web, autojump_clock: MockClock) -> None:
    """The fault counts from the request."""
    async with running(web, guarded(web, "oauth", "auth_slow:delay=5s")):
        began = trio.current_time()
        await log_in(web)

    assert 5.0 == trio.current_time() - began


async def test_faults_of_a_login_need_one(web: Web) -> None:
    """They are refused before anything listens."""
    replay = Replay(cassette(*OPENING), PlayerOptions(), lambda _: None)
    run = FaultRun.of(Plan(faults=(fault_of("auth_slow"),)))
    setup = Setup(front=web.front(), replay=replay, faults=run, say=web.said.append)

    with pytest.raises(PlanError, match="auth_slow: there is no login here"):
        await run_sessions(setup)
    assert [] == web.announced
