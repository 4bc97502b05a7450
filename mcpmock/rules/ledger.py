"""The ledger: every requirement of the specification in our own words, with the rules that hold
traffic against it, or the reason why there is none.

`ledger.tsv` has a section for each page, `[basic/index]`, and in it a row for each requirement:
the revisions in which it holds (`2025-03-26..2025-11-25`), its keyword, its class, its rules and
what it says. Below is `specification`; above are `mcpmock rules` and the manual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import attrs

from mcpmock.protocol.methods import REVISIONS

from .specification import EXTENSION, RULES

CLASSES = {
    "rule": "a rule of `mcpmock check` finds what violates it",
    "schema": "the rule `shape` finds it: the official schema says the same",
    "later": "a recording shows it, and no rule looks for it yet",
    "hidden": "no recording can show it: it is about what a peer thinks, knows or ignores",
    "policy": "it is about user interfaces, operation, or what is good practice",
    "auth": "it is about authorization, which `check` does not judge",
}
"""The classes of requirements, and what each means."""
CHECKED = ("rule", "schema")
_MUSTS = ("MUST", "MUST NOT", "REQUIRED")
_SPAN = ".."


@attrs.frozen
class Requirement:
    """What the specification demands on one of its pages, in one revision."""

    revision: str
    """A revision of the protocol, or `ext-skills`."""
    page: str
    keyword: str
    """MUST, MUST NOT, SHOULD, SHOULD NOT, REQUIRED or RECOMMENDED."""
    says: str
    """The requirement in our words."""
    kind: str
    """Its class, one of `CLASSES`."""
    rules: tuple[str, ...] = ()
    """The names of the rules that hold traffic against it."""

    @property
    def must(self) -> bool:
        """Whether it is a MUST, a MUST NOT or a REQUIRED."""
        return self.keyword in _MUSTS


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return all requirements, by revision, and in each by page as in the file."""
    found = list(_read(files(__package__).joinpath("ledger.tsv").read_text("utf-8")))
    order = (*REVISIONS, EXTENSION)
    return tuple(sorted(found, key=lambda one: order.index(one.revision)))


def table_of_classes() -> list[str]:
    """Return how many requirements each revision has, by class, as a table in Markdown."""
    heads = ["", *CLASSES, "all"]
    rows = [
        [revision, *_figures([one for one in requirements() if one.revision == revision])]
        for revision in (*REVISIONS, EXTENSION)
    ]
    lines = [heads, ["---"] * len(heads), *rows, ["all", *_figures(requirements())]]
    return [f"| {' | '.join(line)} |" for line in lines]


def table_of_meanings() -> list[str]:
    """Return what each class means, as a table in Markdown."""
    return ["| class | |", "|---|---|", *(f"| {name} | {text} |" for name, text in CLASSES.items())]


def describe_rows(name: str) -> tuple[str, str, str]:
    """Return the levels of a rule, who breaks it, and the revisions in which it holds."""
    rows = [rule for rule in RULES if rule.name == name]
    levels = dict.fromkeys(rule.level.value for rule in rows)
    sides = dict.fromkeys(rule.by for rule in rows)
    held = [revision for revision in REVISIONS if any(revision in one.revisions for one in rows)]
    return ", ".join(levels), ", ".join(sides), span_of(held)


def span_of(revisions: Sequence[str]) -> str:
    """Return consecutive revisions in short: `2025-03-26..2025-11-25`."""
    ends = dict.fromkeys((revisions[0], revisions[-1]))
    return "all" if len(revisions) == len(REVISIONS) else _SPAN.join(ends)


def _figures(found: Sequence[Requirement]) -> list[str]:
    """Return the MUSTs and all requirements of each class, and of all classes."""
    musts = Counter(one.kind for one in found if one.must)
    every = Counter(one.kind for one in found)
    cells = [f"{musts[kind]} / {every[kind]}" for kind in CLASSES]
    return [*cells, f"{musts.total()} / {every.total()}"]


def _read(text: str) -> Iterator[Requirement]:
    page = ""
    for line in text.splitlines():
        if line.startswith("["):
            page = line[1:-1]
            continue
        spans, keyword, kind, rules, says = line.split("\t")
        for span in spans.split(","):
            for revision in _revisions_in(span):
                yield Requirement(revision, page, keyword, says, kind, tuple(rules.split()))


def _revisions_in(span: str) -> Sequence[str]:
    first, _, last = span.partition(_SPAN)
    if first not in REVISIONS:
        return [first]
    return REVISIONS[REVISIONS.index(first) : REVISIONS.index(last or first) + 1]
