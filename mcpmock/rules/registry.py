"""All rules, by revision and name."""

from __future__ import annotations

from functools import cache

from mcpmock.protocol.methods import REVISIONS

from . import (
    calls,
    capabilities,
    http_heads,
    http_modern,
    http_sse,
    http_streams,
    input_requests,
    jsonrpc,
    lifecycle,
    modern,
    progress,
    subscriptions,
)
from .rule import Rule

RULES: tuple[Rule, ...] = (
    *jsonrpc.RULES,
    *lifecycle.RULES,
    *capabilities.RULES,
    *calls.RULES,
    *progress.RULES,
    *modern.RULES,
    *input_requests.RULES,
    *subscriptions.RULES,
    *http_heads.RULES,
    *http_streams.RULES,
    *http_modern.RULES,
    *http_sse.RULES,
)


@cache
def in_force(revision: str) -> dict[str, Rule]:
    """The rules of this revision, by name; empty for an unknown revision."""
    if revision not in REVISIONS:
        return {}
    return {rule.name: rule for rule in RULES if rule.since <= revision <= rule.until}
