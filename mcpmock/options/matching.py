"""What may differ between a recorded request and a live one. `mcpmock.matching` reads the rules."""

from .option import OptionTable, option

IGNORE = option(
    (),
    "Answer requests that differ from the recorded ones at [METHOD [NAME]] JSONPATH, for example "
    "'$.arguments.requestId' or 'tools/call search $.arguments.query' (repeatable).",
    metavar="RULE",
)
LIKE = option(
    (),
    "The same where both values are of a KIND, for example '$.arguments.at=datetime' (repeatable).",
    metavar="RULE=KIND",
)
ECHO = option(
    (),
    "The same for texts; where an answer has the recorded text, the client gets its own "
    "(repeatable).",
    metavar="RULE[=KIND]",
)
NO_RULES = option(
    False, "Leave out the rules of the cassette and of the [match] table in mcpmock.toml."
)


class MatchOptions(OptionTable):
    """The rules of one command."""

    ignore: tuple[str, ...] = IGNORE
    like: tuple[str, ...] = LIKE
    echo: tuple[str, ...] = ECHO
    no_rules: bool = NO_RULES
