"""What is taken for secret besides what the built-in rules find, and what stands in its place.
`mcpmock.redaction.redaction_rules` reads the rules.
"""

from typing import Literal

from .option import OptionTable, option

PlaceholderNumbers = Literal["number", "hash"]


class RedactionOptions(OptionTable):
    """The redaction rules of one command. They add to those of the project file."""

    redact_key: tuple[str, ...] = option(
        (),
        "Replace values under names that match, such as 'customer*': members, header fields, "
        "options, variables, lines NAME=value (repeatable).",
        metavar="GLOB",
    )
    redact_value: tuple[str, ...] = option(
        (),
        r"Replace texts that match, such as '(?P<card>\d{16})': the first group, else all of the "
        "match (repeatable).",
        metavar="REGEX",
    )
    redact_path: tuple[str, ...] = option(
        (),
        "Replace the values at this place of messages, such as '$.arguments.note' (repeatable).",
        metavar="JSONPATH",
    )
    keep_key: tuple[str, ...] = option(
        (),
        "Keep values under names that match, which the built-in rules take for secrets "
        "(repeatable).",
        metavar="GLOB",
    )
    redact_as: PlaceholderNumbers | None = option(
        None,
        "number: number placeholders in their order. hash: equal values have equal placeholders "
        "in all cassettes; the key of the hashes is in MCPMOCK_HASH_KEY.  [default: number]",
    )

    @property
    def given(self) -> bool:
        """Whether a rule is given."""
        rules = self.redact_key or self.redact_value or self.redact_path or self.keep_key
        return bool(rules) or self.redact_as is not None

    @property
    def words(self) -> list[str]:
        """The same as options of a command line."""
        lists = {
            "--redact-key": self.redact_key,
            "--redact-value": self.redact_value,
            "--redact-path": self.redact_path,
            "--keep-key": self.keep_key,
            "--redact-as": () if self.redact_as is None else (self.redact_as,),
        }
        return [word for name, texts in lists.items() for text in texts for word in (name, text)]
