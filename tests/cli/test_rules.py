"""`mcpmock rules`: the list, a rule explained, and the ledger."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from mcpmock.protocol.methods import REVISIONS
from mcpmock.rules.ledger import CLASSES, requirements
from mcpmock.rules.specification import RULES
from tests.cli.conftest import Run


def objects(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_list(run: Run) -> None:
    """Each rule once, in 80 columns; one revision has those in force in it."""
    status, out, err = run("rules")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]

    assert (0, "") == (status, err)
    assert {rule.name for rule in RULES} <= set(listed)
    assert max(map(len, out.splitlines())) <= 80
    _, out, _ = run("rules", "--revision", "2024-11-05")
    assert "\n  sse-post " in out
    assert "\n  batch " not in out


def test_one_rule(run: Run) -> None:
    """Its revisions with the level, who breaks it, the sentence of each, known deviations, and what
    it stands for.
    """
    status, out, _ = run("rules", "capability")
    words = " ".join(out.split())

    assert 0 == status
    for part in (
        "capability 2024-11-05..2025-03-26: warning, by either side:",
        'basic/lifecycle: "Both parties SHOULD: Only use capabilities',
        "2025-06-18..2025-11-25: error, by either side:",
        "Known deviations, which are notices:",
        "they set a log level on any server",
        "It stands for: Both sides use only capabilities they agreed on.",
    ):
        assert part in words


def test_json(run: Run) -> None:
    """An object for each sentence of each rule; of one rule, or of one revision."""
    _, out, _ = run("rules", "--json")
    assert len(RULES) == len(objects(out))
    _, out, _ = run("rules", "initialize-in-batch", "--json")
    assert [
        {
            "type": "rule",
            "name": "initialize-in-batch",
            "level": "error",
            "revisions": ["2025-03-26"],
            "section": "basic/lifecycle",
            "sentence": "The initialize request MUST NOT be part of a JSON-RPC batch",
            "by": "client",
        }
    ] == objects(out)
    _, out, _ = run("rules", "batch", "--revision", "2026-07-28", "--json")
    assert [["2026-07-28"]] == [one["revisions"] for one in objects(out)]


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["bacth"], "no rule bacth; did you mean batch?"),
        (["json_rpc"], "no rule json_rpc; did you mean json-rpc?"),
        (["q"], "no rule q; `mcpmock rules` lists them"),
        (["a\x1b[2Jb"], r"no rule a\u001b[2Jb; `mcpmock rules` lists them"),
        (["--page", "basic/*"], "--page selects requirements: add --ledger"),
        (["--class", "rule"], "--class selects requirements: add --ledger"),
        (["--ledger", "--page", "server/tool"], "no page server/tool; did you mean server/tools"),
        (["nothing", "--ledger"], "no rule nothing; "),
    ],
)
def test_an_unknown_word(run: Run, arguments: list[str], mistake: str) -> None:
    """Status 2, and the nearest names."""
    status, out, err = run("rules", *arguments)

    assert (2, "") == (status, out)
    assert err.startswith(f"mcpmock: {mistake}")


def test_choices(run: Run) -> None:
    """Revisions and classes are words of a list."""
    for option in ("--revision", "--class"):
        status, _, err = run("rules", "--ledger", option, "no")
        assert 2 == status
        assert "'no' is not one of" in err


def test_the_ledger(run: Run) -> None:
    """A line for each requirement, and how many of each class."""
    _, out, _ = run("rules", "--ledger")
    *lines, total = out.splitlines()
    counts = Counter(one.kind for one in requirements())

    assert len(requirements()) == len(lines)
    assert f"{len(lines)} requirements: {counts['rule']} rule, " in total
    assert (
        "2025-11-25 basic/lifecycle MUST: initialize comes first."
        " [handshake-first, handshake-twice]"
    ) in lines
    assert "2024-11-05 server/tools MUST: Calls are rate limited. (policy)" in lines


def test_the_ledger_as_json(run: Run) -> None:
    """Each requirement with its class; options and a rule select."""
    _, out, _ = run("rules", "--ledger", "--json")
    every = objects(out)

    assert {"requirement"} == {one["type"] for one in every}
    assert {*REVISIONS, "ext-skills"} == {one["revision"] for one in every}
    assert set(CLASSES) == {one["class"] for one in every}
    for arguments, kept in (
        (["--revision", "ext-skills"], lambda one: one["revision"] == "ext-skills"),
        (["--page", "server/*"], lambda one: one["page"].startswith("server/")),
        (["--class", "hidden"], lambda one: one["class"] == "hidden"),
        (["json-rpc"], lambda one: "json-rpc" in one["rules"]),
    ):
        _, out, _ = run("rules", "--ledger", "--json", *arguments)
        assert [one for one in every if kept(one)] == objects(out)
    assert {
        "type": "requirement",
        "revision": "2024-11-05",
        "page": "basic/messages",
        "keyword": "MUST",
        "says": "A request's id is a string or an integer.",
        "class": "rule",
        "rules": ["id-type", "request-id"],
    } in every
