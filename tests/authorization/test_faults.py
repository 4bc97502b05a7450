"""The faults of the theme `auth`: what the fake authorization server then says."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.plan import fault_of
from mcpmock.faults.registry import THEMES

from .login import ORIGIN, RESOURCE, Login, challenge_of, redirected, request, server, value_of

WRONG = "https://wrong.example"
SERVER = request("GET", "/.well-known/oauth-authorization-server")
RESOURCE_HEAD = request("GET", "/.well-known/oauth-protected-resource")


def test_wrong_iss() -> None:
    """Once, then right again."""
    login = Login(server("oauth", "auth_wrong_iss"))
    client = value_of(login.register())["client_id"]

    said = [redirected(login.authorize(client))["iss"] for _ in range(2)]

    assert [WRONG, ORIGIN] == said


def test_wrong_issuer() -> None:
    """In the metadata."""
    at = server("oauth", "auth_wrong_issuer:times=2")

    said = [value_of(at.answer(SERVER, b"", 0))["issuer"] for _ in range(3)]

    assert [WRONG, WRONG, ORIGIN] == said


def test_wrong_resource() -> None:
    """In the metadata."""
    at = server("oauth", "auth_wrong_resource:nth=2")

    said = [value_of(at.answer(RESOURCE_HEAD, b"", 0))["resource"] for _ in range(3)]

    assert [RESOURCE, f"{WRONG}/mcp", RESOURCE] == said


def test_invalid_grant() -> None:
    """The first refresh fails; the refresh token stays good, as after an outage."""
    login = Login(server("oauth", "auth_invalid_grant:nth=2"))
    client, granted = login.log_in()

    refused = login.refresh(client, granted["refresh_token"])

    assert "invalid_grant" == value_of(refused)["error"]
    assert 200 == login.refresh(client, granted["refresh_token"]).status


def test_expire_token() -> None:
    """Behind the answer to the second request, long before its time."""
    login = Login(server("oauth", "auth_expire_token:nth=2"))
    client, granted = login.log_in()

    asked = [login.ask(granted["access_token"]) for _ in range(3)]
    fresh = value_of(login.refresh(client, granted["refresh_token"]))

    assert [None, None] == asked[:2]
    assert 'error="invalid_token"' in challenge_of(asked[2])
    assert login.ask(fresh["access_token"]) is None


def test_no_registration() -> None:
    """Neither is offered nor taken."""
    login = Login(server("oauth", "auth_no_registration"))

    metadata = value_of(login.at.answer(SERVER, b"", 0))

    assert "registration_endpoint" not in metadata
    assert not metadata["client_id_metadata_document_supported"]
    assert 404 == login.register().status
    assert 400 == login.authorize("https://app.example/client.json").status


def test_scope_loop() -> None:
    """Whatever token the client gets, tool calls are asked for more; all else passes."""
    login = Login(server("oauth", "auth_scope_loop:scope=admin"))
    client, _ = login.log_in()
    granted = value_of(login.redeem(client, login.code(client, scope="admin")))

    calls = [login.ask(granted["access_token"], "look") for _ in range(3)]

    assert 3 == sum('scope="admin"' in challenge_of(call) for call in calls)
    assert login.ask(granted["access_token"]) is None


def test_slow() -> None:
    """Only so often as it says."""
    at = server("oauth", "auth_slow:delay=5s,times=2")

    assert [5.0, 5.0, 0.0] == [at.answer(SERVER, b"", 0).after for _ in range(3)]


def test_receipts() -> None:
    """A login fault is told like any other."""
    login = Login(server("oauth", "auth_slow"))
    login.register()

    run = login.at.run
    assert run is not None
    assert ["fault auth_slow: fired 1 of 1 times that it matched"] == run.summary()
    assert [{"kind": "auth_slow", "fired": 1, "on": "exchange", "method": "POST /register"}] == [
        {key: value for key, value in receipt.items() if key != "session"}
        for receipt in run.receipts
    ]


@pytest.mark.parametrize("kind", THEMES["auth"])
def test_what_no_login_has(kind: str) -> None:
    """A method or a tool can never match."""
    with pytest.raises(
        PlanError, match=r"match\.tool: never matches: the fault acts on no message"
    ):
        fault_of(f"{kind}:tool=x")
