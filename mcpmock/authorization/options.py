"""`AuthorizationOptions`: how the fake authorization server is set up; read from the text that
`--auth`, `serve(auth=...)` and the pytest marker take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from mcpmock.errors import McpMockError
from mcpmock.options.units import Seconds, read_value

TOKEN_LIFETIME_S = 3600.0
_SYNTAX = (
    "expected oauth, or oauth:KEY=VALUE,.. with the keys expires, scope, refresh and tool.NAME"
)


@attrs.frozen(kw_only=True)
class AuthorizationOptions:
    """`lifetime` of an access token in seconds, on the session's clock."""

    lifetime: float = TOKEN_LIFETIME_S
    scopes: tuple[str, ...] = ()
    """What every request needs."""
    tool_scopes: Mapping[str, str] = attrs.field(factory=dict)
    """What calls of a tool need besides."""
    refreshes: bool = True
    """Whether there are refresh tokens."""

    @classmethod
    def parse(cls, text: str) -> AuthorizationOptions:
        """Parse `oauth` or `oauth:expires=60s,scope=a b,tool.NAME=SCOPE`. Raises McpMockError."""
        kind, _, rest = text.partition(":")
        if kind != "oauth":
            raise McpMockError(f"{text!r}: {_SYNTAX}")
        lifetime, scopes, refreshes = TOKEN_LIFETIME_S, "", True
        tools: dict[str, str] = {}
        keys = set[str]()
        for part in rest.split(",") if rest else ():
            key, equals, value = (word.strip() for word in part.partition("="))
            if key in keys:
                raise McpMockError(f"{key}: stands twice; say it once")
            keys.add(key)
            if key == "expires" and equals:
                lifetime = _lifetime(value)
            elif key == "scope" and value:
                scopes = value
            elif key == "refresh" and value in ("yes", "no"):
                refreshes = value == "yes"
            elif key.startswith("tool.") and len(key) > len("tool.") and len(value.split()) == 1:
                tools[key.removeprefix("tool.")] = value
            else:
                raise McpMockError(f"{part.strip()!r}: {_SYNTAX}")
        return cls(
            lifetime=lifetime,
            scopes=tuple(scopes.split()),
            tool_scopes=tools,
            refreshes=refreshes,
        )

    @property
    def all_scopes(self) -> list[str]:
        """Each scope that is needed anywhere, once."""
        return unique([*self.scopes, *self.tool_scopes.values()])

    def needed(self, tools: Iterable[str]) -> list[str]:
        """Return the scopes for a request that calls these tools."""
        extra = [self.tool_scopes[tool] for tool in tools if tool in self.tool_scopes]
        return unique([*self.scopes, *extra])


def unique(words: Iterable[str]) -> list[str]:
    """Return each word once, in order."""
    return list(dict.fromkeys(words))


def _lifetime(text: str) -> float:
    try:
        seconds: float = read_value(float(text) if text.isdecimal() else text, Seconds)
    except ValueError as error:
        raise McpMockError(f"expires: {error}") from error
    return seconds
