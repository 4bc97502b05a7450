"""What becomes of cassettes, and where it is written."""

from pathlib import Path
from typing import Literal

import attrs

from .option import option

Times = Literal["drop", "round", "keep"]
StderrUse = Literal["drop", "keep"]


@attrs.frozen(kw_only=True)
class NewFileOptions:
    """The file that `mcpmock merge` and `mcpmock recover` make."""

    output: Path = option(
        attrs.NOTHING,
        "Write to OUT, which must not exist.",
        flags=("-o", "--output"),
        metavar="OUT",
    )


@attrs.frozen(kw_only=True)
class ConvertOptions(NewFileOptions):
    """What `mcpmock convert` makes, and of what."""

    no_redact: bool = option(False, "Keep secrets of an imported recording.")


@attrs.frozen(kw_only=True)
class RedactOptions:
    """Where `mcpmock redact` writes."""

    output: Path | None = option(
        None,
        "Write to OUT, which must not exist, instead of FILE itself.",
        flags=("-o", "--output"),
        metavar="OUT",
    )


@attrs.frozen(kw_only=True)
class FormatOptions:
    """What `mcpmock fmt` leaves of a cassette."""

    times: Times = option("drop", "Drop the times of events, round them to 10 ms, or keep them.")
    stderr: StderrUse = option(
        "drop", "Drop what the server wrote to standard error, where logs have times, or keep it."
    )
    ignore: tuple[str, ...] = option(
        (), "Add this rule to the file, as for `replay --ignore` (repeatable).", metavar="RULE"
    )
    like: tuple[str, ...] = option(
        (), "Add this rule, as for `replay --like` (repeatable).", metavar="RULE=KIND"
    )
    echo: tuple[str, ...] = option(
        (), "Add this rule, as for `replay --echo` (repeatable).", metavar="RULE[=KIND]"
    )
    no_rules: bool = option(False, "Remove the rules from the file.")


@attrs.frozen(kw_only=True)
class DemoOptions:
    """Where `mcpmock demo` records."""

    output: Path | None = option(
        None,
        "Write the recordings to this folder.  [default: a temporary folder]",
        flags=("-o", "--output"),
        metavar="DIR",
    )
