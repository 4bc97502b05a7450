"""`capability_lie`: false claims."""

from __future__ import annotations

import json

from mcpmock.faults.kinds.mcp import CapabilityLie
from tests.faults.faulty import ANSWER, answered
from tests.support import INITIALIZE, WELCOME


def test_it_claims_more() -> None:
    """What is declared already stays as it was."""
    welcome = WELCOME.replace(
        b'"capabilities":{}', b'"capabilities":{"tools":{"listChanged":true}}'
    )
    [said] = answered(CapabilityLie(claims=("tools", "prompts")), INITIALIZE, welcome)

    assert {"tools": {"listChanged": True}, "prompts": {}} == json.loads(said)["result"][
        "capabilities"
    ]


def test_it_hides() -> None:
    """What it has is not there."""
    welcome = WELCOME.replace(b'"capabilities":{}', b'"capabilities":{"tools":{},"x":{}}')
    [said] = answered(CapabilityLie(claims=(), hides=("tools",)), INITIALIZE, welcome)

    assert {"x": {}} == json.loads(said)["result"]["capabilities"]
    assert [ANSWER] == answered(CapabilityLie())
