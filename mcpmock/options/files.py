"""What becomes of cassettes, and where it is written."""

from pathlib import Path
from typing import Literal

from msgspec import NODEFAULT

from .option import OptionTable, option

Times = Literal["drop", "round", "keep"]
StderrUse = Literal["drop", "keep"]


class NewFileOptions(OptionTable):
    """The file that `mcpmock merge` and `mcpmock recover` make."""

    output: Path = option(
        NODEFAULT,
        "Write to OUT, which must not exist.",
        flags=("-o", "--output"),
        metavar="OUT",
    )


class ConvertOptions(NewFileOptions):
    """What `mcpmock convert` makes, and of what."""

    no_redact: bool = option(False, "Keep secrets of an imported recording.")


class RedactOptions(OptionTable):
    """Where `mcpmock redact` writes."""

    output: Path | None = option(
        None,
        "Write to OUT, which must not exist, instead of FILE itself.",
        flags=("-o", "--output"),
        metavar="OUT",
    )


class FormatOptions(OptionTable):
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


class DemoOptions(OptionTable):
    """Where `mcpmock demo` records."""

    output: Path | None = option(
        None,
        "Write the recordings to this folder.  [default: a temporary folder]",
        flags=("-o", "--output"),
        metavar="DIR",
    )
