"""How two recordings are compared, and the report."""

from typing import Literal

import attrs

from .matching import NO_RULES
from .option import option

DiffFormat = Literal["text", "json", "markdown", "junit"]
Threshold = Literal["any", "risky", "breaking", "never"]


@attrs.frozen(kw_only=True)
class DiffOptions:
    """What counts as a difference, which ones fail, and how they are printed."""

    format: DiffFormat = option(
        "text", "Format of the report; `markdown` suits a pull request comment."
    )
    fail_on: Threshold = option("any", "Lowest verdict that exits with status 1.")
    ignore: tuple[str, ...] = option(
        (),
        "Ignore differences at [METHOD [NAME]] JSONPATH, for example '$.result._meta' or"
        " 'tools/call get_time $.result.content' (repeatable).",
        metavar="RULE",
    )
    like: tuple[str, ...] = option(
        (),
        "Ignore differences where both values are of a KIND, for example "
        "'$.result.structuredContent.at=datetime' (repeatable).",
        metavar="RULE=KIND",
    )
    no_rules: bool = NO_RULES
    tolerance: str = option(
        "0", "Ignore differences between numbers up to N or N percent.", metavar="N|N%"
    )
    unordered: tuple[str, ...] = option(
        (),
        "Ignore the order of the lists at RULE, written as for --ignore (repeatable).",
        metavar="RULE",
    )


@attrs.frozen(kw_only=True)
class VerifyOptions:
    """What `mcpmock verify` does about a difference."""

    update: bool = option(
        False, "Replace FILE with the new recording if they differ.", private=True
    )


@attrs.frozen(kw_only=True)
class CheckOptions:
    """What `mcpmock check` checks."""

    only: Literal["integrity", "protocol"] | None = option(
        None, "Check only the files, or only the protocol in them."
    )


@attrs.frozen(kw_only=True)
class SharingOptions:
    """Who does the work on many cassettes."""

    jobs: int = option(
        1,
        "Number of processes that share the work.  [default: 1]",
        metavar="N",
        least=1,
        default_text="",
    )
    scheduler: str | None = option(
        None, "Run on this Dask cluster.", metavar="tcp://HOST:PORT", private=True
    )
