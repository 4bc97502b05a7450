"""`mcpmock rules`: the rules of `check`, one of them explained, and the ledger of the
specification's requirements (`mcpmock.rules.ledger`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.views import LedgerOptions
from mcpmock.printable import did_you_mean, many, printable

from .option_table import options
from .output import TextFormatter, columns, emit, print_lines, say

if TYPE_CHECKING:
    from mcpmock.rules.ledger import Requirement
    from mcpmock.rules.specification import Rule

MAX_TEXT_WIDTH = 100
"""Columns of text: longer lines are hard to read."""
_SUGGESTED = 3


@click.command("rules", short_help="List the rules of `check`, or explain one.")
@click.argument("name", required=False)
@options(selection=LedgerOptions)
def rules(name: str | None, selection: LedgerOptions, console: ConsoleOptions) -> int:
    """List the rules of `mcpmock check`, or explain the rule NAME: its levels, the revisions in
    which it holds, and the sentences that it quotes.

    With --ledger, list the requirements of the specification instead, in our words: each with its
    page, its class, and the rules that check it (those of NAME, if given).
    """
    from mcpmock.rules.specification import RULES

    found = [rule for rule in RULES if name in (None, rule.name)]
    mistake = _mistake(name, selection) if found else _unknown_rule(name or "")
    if mistake:
        say(mistake)
        return 2
    if selection.ledger:
        _print_ledger(name, selection, console)
        return 0
    found = [rule for rule in found if _holds_in(rule, selection.revision)]
    if console.json:
        for rule in found:
            emit(_rule_as_json(rule))
    elif name is None:
        _print_list(found)
    else:
        _explain(name, found)
    return 0


def _holds_in(rule: Rule, revision: str | None) -> bool:
    from mcpmock.rules.specification import EXTENSION, SKILLS

    if revision == EXTENSION:
        return rule.section == SKILLS
    return revision is None or revision in rule.revisions


def _unknown_rule(name: str) -> str:
    from mcpmock.rules.specification import RULES

    near = did_you_mean(name, (rule.name for rule in RULES), most=_SUGGESTED)
    return f"no rule {printable(name)}{near or '; `mcpmock rules` lists them'}"


def _mistake(name: str | None, selection: LedgerOptions) -> str | None:
    from mcpmock.rules.ledger import requirements

    if not selection.ledger:
        given = [word for word in ("page", "class") if _value(selection, word) is not None]
        return f"--{given[0]} selects requirements: add --ledger" if given else None
    if selection.page is None:
        return None
    pages = dict.fromkeys(one.page for one in _selected(requirements(), name, selection.revision))
    if any(fnmatchcase(page, selection.page) for page in pages):
        return None
    near = did_you_mean(selection.page, pages, most=_SUGGESTED, cutoff=0.5)
    hint = near or f"; pages: {', '.join(pages)}"
    return f"no page {printable(selection.page)}{hint}"


def _value(selection: LedgerOptions, word: str) -> str | None:
    return selection.page if word == "page" else selection.kind


def _selected(
    every: Iterable[Requirement], name: str | None, revision: str | None
) -> Iterator[Requirement]:
    return (
        one
        for one in every
        if (name is None or name in one.rules) and revision in (None, one.revision)
    )


def _print_ledger(name: str | None, selection: LedgerOptions, console: ConsoleOptions) -> None:
    from mcpmock.rules.ledger import CLASSES, requirements

    page = selection.page or "*"
    found = [
        one
        for one in _selected(requirements(), name, selection.revision)
        if fnmatchcase(one.page, page) and selection.kind in (None, one.kind)
    ]
    if console.json:
        for one in found:
            emit(_requirement_as_json(one))
        return
    counts = Counter(one.kind for one in found)
    figures = ", ".join(f"{counts[kind]} {kind}" for kind in CLASSES if counts[kind])
    total = many(len(found), "requirement") + (f": {figures}" if figures else "")
    print_lines([*map(_line_of, found), total])


def _line_of(one: Requirement) -> str:
    checked = f" [{', '.join(one.rules)}]" if one.rules else f" ({one.kind})"
    return f"{one.revision} {one.page} {one.keyword}: {one.says}{checked}"


def _print_list(found: Sequence[Rule]) -> None:
    from mcpmock.rules.ledger import describe_rows

    formatter = TextFormatter(width=min(columns(), MAX_TEXT_WIDTH))
    formatter.write_text("`mcpmock rules NAME` explains a rule, `mcpmock rules --ledger` lists")
    formatter.write_text("the requirements of the specification.")
    formatter.write_paragraph()
    names = dict.fromkeys(rule.name for rule in found)
    rows = ((name, describe_rows(name)) for name in names)
    with formatter.indentation():
        formatter.write_dl(
            [(name, f"{level}, by {side}, {held}") for name, (level, side, held) in rows]
        )
    click.echo(formatter.getvalue(), nl=False)


def _explain(name: str, found: Sequence[Rule]) -> None:
    from mcpmock.rules.known_deviations import DEVIATIONS
    from mcpmock.rules.ledger import requirements, span_of

    formatter = TextFormatter(width=min(columns(), MAX_TEXT_WIDTH))
    for rule in found:
        side = "either side" if rule.by == "either" else f"the {rule.by}"
        with formatter.section(f"{span_of(rule.revisions)}: {rule.level.value}, by {side}"):
            formatter.write_text(f'{rule.section}: "{rule.sentence}"')
    known = [one for one in DEVIATIONS if one.rule == name]
    if known:
        with formatter.section("Known deviations, which are notices"):
            for one in known:
                formatter.write_text(f"{one.of}: {one.what}")
    says = dict.fromkeys(one.says for one in requirements() if name in one.rules)
    with formatter.section("It stands for"):
        for text in says:
            formatter.write_text(text)
    click.echo(f"{name}\n{formatter.getvalue()}", nl=False)


def _rule_as_json(rule: Rule) -> dict[str, object]:
    return {
        "type": "rule",
        "name": rule.name,
        "level": rule.level.value,
        "revisions": list(rule.revisions),
        "section": rule.section,
        "sentence": rule.sentence,
        "by": rule.by,
    }


def _requirement_as_json(one: Requirement) -> dict[str, object]:
    return {
        "type": "requirement",
        "revision": one.revision,
        "page": one.page,
        "keyword": one.keyword,
        "says": one.says,
        "class": one.kind,
        "rules": list(one.rules),
    }
