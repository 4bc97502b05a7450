"""How the fake authorization server is set up."""

from __future__ import annotations

import pytest

from mcpmock.authorization.options import AuthorizationOptions
from mcpmock.errors import McpMockError


def test_all_keys() -> None:
    """Scopes are separated by spaces, as OAuth has them."""
    options = AuthorizationOptions.parse("oauth:expires=90s,scope=a b,tool.get_x=c")

    assert (90.0, ("a", "b")) == (options.lifetime, options.scopes)
    assert ["a", "b"] == options.needed(["other"])
    assert ["a", "b", "c"] == options.needed(["get_x"])


@pytest.mark.parametrize(
    "text",
    [
        "basic",
        "oauth:expires",
        "oauth:scope=",
        "oauth:tool.=a",
        "oauth:tool.x=a b",
        "oauth:x=1",
        "oauth:refresh=0",
    ],
)
def test_what_is_wrong(text: str) -> None:
    """The message has the whole syntax."""
    with pytest.raises(McpMockError, match=r"expires, scope, refresh and tool\.NAME"):
        AuthorizationOptions.parse(text)


@pytest.mark.parametrize("text", ["expires=1s,expires=2s", "tool.x=a,scope=b,tool.x=c"])
def test_a_key_that_stands_twice(text: str) -> None:
    """Neither of its values is silently left out."""
    with pytest.raises(McpMockError, match=r"^(expires|tool\.x): stands twice"):
        AuthorizationOptions.parse(f"oauth:{text}")


def test_a_wrong_lifetime() -> None:
    """It says what a duration is."""
    with pytest.raises(McpMockError, match=r'expires: expected a duration as "250ms"'):
        AuthorizationOptions.parse("oauth:expires=soon")
