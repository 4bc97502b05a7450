"""A client of the SDK at our fake authorization server: each fault that it must see through makes
it stop where it should. `tools/login_table.py` tries all faults with all clients.
"""

from __future__ import annotations

import pytest

from .logins import FAULT_ROWS, FaultRow, log_in
from .test_sdk import needs

pytestmark = [pytest.mark.e2e, pytest.mark.parts]
SEEN_THROUGH = ("auth_wrong_resource", "auth_wrong_issuer", "auth_wrong_iss")


@pytest.mark.parametrize(
    "row", [row for row in FAULT_ROWS if row.name in SEEN_THROUGH], ids=lambda row: row.name
)
def test_what_a_client_sees_through(row: FaultRow) -> None:
    """It gets no token, and opens a page only where it cannot know yet."""
    needs("py2-auto")

    outcome = log_in("py2", "oauth:scope=a", *row.faults)
    assert row.correct(outcome), outcome
