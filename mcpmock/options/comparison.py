"""How two recordings are compared, and the report."""

import re
from pathlib import Path
from typing import Literal

from msgspec import Struct

from .matching import NO_RULES
from .option import OptionTable, option

DiffFormat = Literal["text", "json", "markdown", "junit"]
Threshold = Literal["any", "risky", "breaking", "never"]
_SLOWER = r"((?P<verdict>any|risky|breaking|never),)?slower:(?P<times>[1-9]\d{0,5}(\.\d{1,3})?)x"


class DiffOptions(OptionTable):
    """What counts as a difference, which ones fail, and how they are printed."""

    format: DiffFormat = option(
        "text", "Format of the report; `markdown` suits a pull request comment."
    )
    fail_on: Threshold | str = option(
        "any",
        "Lowest verdict that exits with status 1. `slower:5x`, or a verdict and that"
        " (`breaking,slower:5x`), also fails if a call takes five times as long.",
        also=(_SLOWER, "slower:5x"),
        metavar="any|risky|breaking|never|slower:Nx",
    )
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


class FailOn(Struct, frozen=True):
    """What makes a comparison fail."""

    verdict: str
    """`any`, `risky`, `breaking` or `never`."""
    slower: float | None = None
    """How many times as long a call has to take, if that counts."""

    @classmethod
    def parse(cls, text: str, default: str) -> "FailOn":
        """Read `--fail-on`; `default` is the verdict where it names none."""
        found = re.fullmatch(_SLOWER, text)
        if found is None:
            return cls(text)
        return cls(found["verdict"] or default, float(found["times"]))


class VerifyOptions(OptionTable):
    """What `mcpmock verify` does about a difference."""

    update: bool = option(
        False, "Replace FILE with the new recording if they differ.", private=True
    )


class CheckOptions(OptionTable):
    """What `mcpmock check` checks."""

    only: Literal["integrity", "protocol"] | None = option(
        None, "Check only the files, or only the protocol in them."
    )
    fail_on: Literal["error", "warning", "never"] = option(
        "error", "Lowest level of a finding that exits with status 1."
    )
    allow: tuple[str, ...] = option(
        (),
        "Allow violations of a RULE of the protocol, of a METHOD, a TOOL, or at a JSONPath and"
        " below, for example 'shape tools/list $.result.tools[*]'; all but the path are globs"
        " (repeatable).",
        metavar="'RULE [METHOD [TOOL]] [$PATH]'",
    )
    baseline: Path | None = option(
        None, "Allow what the lines of FILE say, each written as for --allow.", metavar="FILE"
    )
    write_baseline: Path | None = option(
        None,
        "Write a baseline that allows the errors and warnings of the protocol to FILE.",
        metavar="FILE",
        private=True,
    )
    expect_tool: tuple[str, ...] = option(
        (),
        "Fail unless a tool that fits the glob was called with success in any of the files"
        " (repeatable).",
        metavar="GLOB",
    )
    forbid_tool: tuple[str, ...] = option(
        (), "Fail if a tool that fits the glob was called (repeatable).", metavar="GLOB"
    )
    max_duration: tuple[str, ...] = option(
        (),
        "Fail if a request waited longer for its answer; tool=GLOB selects calls of tools"
        " (repeatable).",
        metavar="[tool=GLOB,]TIME",
    )
    format: Literal["text", "json", "github"] = option(
        "text", "Format of the report; `github` makes annotations of a GitHub workflow."
    )
    junit: Path | None = option(
        None, "Write a JUnit XML report to FILE.", metavar="FILE", private=True
    )
    sarif: Path | None = option(
        None, "Write a SARIF 2.1.0 report to FILE.", metavar="FILE", private=True
    )


class SharingOptions(OptionTable):
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
