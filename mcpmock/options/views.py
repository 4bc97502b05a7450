"""How recordings and the manual are shown."""

from pathlib import Path
from typing import Literal

from .option import OptionTable, option


class ReportOptions(OptionTable):
    """Where `mcpmock report` writes its page."""

    output: Path | None = option(
        None,
        "Write to OUT instead of FILE's name with .html.",
        flags=("-o", "--output"),
        metavar="OUT",
    )
    redact: bool = option(
        False, "Replace the secrets of a recording that has some; rules for redaction do it too."
    )
    force: bool = option(False, "Replace OUT even if it is no page of mcpmock.")


class ShowOptions(OptionTable):
    """What `mcpmock show` prints of a cassette."""

    expression: str | None = option(
        None,
        "Show only events that match all terms: method=tools/* tool=get_* kind=error dir=c2s id=7"
        " take=2 s=2 x=7 status=404 text=needle. Values are globs; ! before a term negates it.",
        flags=("--filter",),
        metavar="EXPR",
    )
    request: str | None = option(
        None,
        "Show one request and everything that belongs to it, with full payloads.",
        flags=("--id",),
        metavar="ID",
    )
    raw: bool = option(False, "Print the recorded frames, one per line.")
    mermaid: bool = option(False, "Print a sequence diagram for Markdown.")
    follow: bool = option(False, "Keep printing events as they are recorded, like `tail -f`.")


class WatchOptions(OptionTable):
    """Where `mcpmock watch` serves its page."""

    listen: str = option(
        "127.0.0.1:0",
        "Serve the page at this loopback address; port 0 picks a free port.",
        metavar="HOST:PORT",
    )
    opens: bool = option(False, "Open the page in a browser.", flags=("--open",))


class ManualOptions(OptionTable):
    """How `mcpmock help` prints a topic."""

    raw: bool = option(False, "Print the Markdown source.")
    search: str | None = option(
        None, "List the sections of the manual that speak of this.", metavar="WORD"
    )


Revision = Literal[
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "ext-skills"
]
RequirementClass = Literal["rule", "schema", "later", "hidden", "policy", "auth"]


class LedgerOptions(OptionTable):
    """Which rules or requirements `mcpmock rules` lists."""

    ledger: bool = option(False, "List the requirements of the specification, not the rules.")
    revision: Revision | None = option(
        None, "List only this revision; `ext-skills` is the skills extension."
    )
    page: str | None = option(
        None,
        "With --ledger, list only pages that match this glob, for example 'server/*'.",
        metavar="GLOB",
    )
    kind: RequirementClass | None = option(
        None, "With --ledger, list only this class.", flags=("--class",)
    )


class StatsOptions(OptionTable):
    """What `mcpmock stats` says besides counts."""

    coverage: bool = option(
        False, "Say which of the listed tools, prompts, resources, parameters .. were used."
    )
    min: tuple[str, ...] = option(
        (),
        "Exit with 1 if a smaller share is covered, of all or of a KIND such as `parameters`"
        " (repeatable).",
        metavar="[KIND=]N%",
    )
    html: Path | None = option(
        None, "Write the coverage as an HTML page to FILE.", metavar="FILE", private=True
    )
