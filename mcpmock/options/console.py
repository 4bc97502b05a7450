"""How a command prints: the options that every command has."""

from pathlib import Path

from .option import OptionTable, option

LOG: Path | None = option(
    None,
    "Append what the replay reports to FILE too, for clients that show no standard error. A miss "
    "then proposes rules to put into the cassette.",
    metavar="FILE",
    private=True,
)


class ConsoleOptions(OptionTable):
    """`--color` is carried out where it is read, and is no field."""

    json: bool = option(False, "Print one JSON object per line, with a stable `type`.")
    verbose: bool = option(False, "Print more detail.", flags=("-v", "--verbose"))
    quiet: bool = option(False, "Print only errors.", flags=("-q", "--quiet"))
