"""One word, one thing: the glossary of the classes, and docstrings of functions begin with a verb.
Ruff's D401 finds verbs that are not imperative; what is no verb at all is found here.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

import pytest

from .test_house import FILES, MODULES, nodes

GLOSSARY = {
    "Exchange": {
        "CheckedExchange": "mcpmock.rules.exchange",
        "OpenExchange": "mcpmock.channels.http.exchanges",
        "RecordedExchange": "mcpmock.playback.plan.builder",
        "ServerExchange": "mcpmock.channels.http.connection",
        "_ClientExchange": "mcpmock.channels.http.client",
        "_HarExchange": "mcpmock.convert.har",
    },
    "Plan": {"Plan": "mcpmock.faults.plan", "ReplayPlan": "mcpmock.playback.plan.plan"},
    "Refusal": {
        "HttpRefusal": "mcpmock.transports.access_policy",
        "RequestRefusal": "mcpmock.transports.streamable_http.common",
        "StubRefusal": "mcpmock.stubs.script",
    },
    "Rule": {
        "BrokenRule": "mcpmock.explore.oracles",
        "DiffRule": "mcpmock.semantic_diff.severity",
        "MatchRule": "mcpmock.matching.match_rule",
        "Rule": "mcpmock.rules.specification",
    },
    "Rules": {
        "IgnoreRules": "mcpmock.semantic_diff.ignore_rules",
        "MatchRules": "mcpmock.matching.match_rule",
        "RedactionRules": "mcpmock.redaction.redaction_rules",
    },
    "Schedule": {"Schedule": "mcpmock.playback.schedule"},
    "Session": {
        "LiveSession": "mcpmock.runner",
        "LoadSession": "mcpmock.playback.client.load",
        "PluginSession": "mcpmock.testing.plugin_session",
        "StubSession": "mcpmock.stubs.call",
    },
    "Subject": {"MatchSubject": "mcpmock.playback.request_key", "Subject": "mcpmock.faults.match"},
}
"""The last word of a class's name: the classes that may have it, each with its module. A word alone
is the name of at most one of them; the others say whose it is.
"""
NO_VERBS = {
    *("a", "all", "an", "another", "each", "every", "its", "one", "our", "the", "their", "two"),
    *("as", "at", "before", "between", "by", "for", "from", "in", "of", "on", "over", "since"),
    *("to", "until", "with", "without", "how", "what", "when", "where", "whether", "which", "who"),
    *("whose", "why", "either", "it", "no", "none", "nothing", "other", "that", "these", "they"),
    *("this", "those", "there", "alone", "equal", "may", "once", "only"),
}
_LAST_WORD = re.compile(r"[A-Z][a-z]+$")


@pytest.mark.parametrize("word", GLOSSARY)
def test_a_word_of_the_glossary_names_these_classes(word: str) -> None:
    """Whoever adds one names it here too, or finds a better word."""
    assert classes()[word] == GLOSSARY[word]


@cache
def classes() -> dict[str, dict[str, str]]:
    """The last word of a class's name: the classes that have it, each with its module."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for module, path in MODULES.items():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found[last_word(node.name)][node.name] = module
    return found


def last_word(name: str) -> str:
    """`ReplayPlan`: `Plan`."""
    found = _LAST_WORD.search(name)
    return found[0] if found else ""


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    """They say what happens, and do not go on where the name ends: `def lines_of`, "Of a take"."""
    assert [] == [
        f"{path.name}:{node.lineno} {node.name}: {text.splitlines()[0]}"
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not is_property(node)
        and (text := ast.get_docstring(node))
        and text.split()[0].strip(".,:;()").lower() in NO_VERBS
    ]


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A property is a field to whoever reads it, and its docstring a noun."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
