"""How a command prints: the options that every command has."""

import attrs

from .option import option


@attrs.frozen(kw_only=True)
class ConsoleOptions:
    """`--color` is carried out where it is read, and is no field."""

    json: bool = option(False, "Print one JSON object per line, with a stable `type`.")
    verbose: bool = option(False, "Print more detail.", flags=("-v", "--verbose"))
    quiet: bool = option(False, "Print only errors.", flags=("-q", "--quiet"))
