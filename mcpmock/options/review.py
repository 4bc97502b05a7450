"""What becomes of the recordings of failed tests."""

from .option import OptionTable, option


class ReviewOptions(OptionTable):
    """How `mcpmock review` decides."""

    accept: bool = option(False, "Put all of them into their cassettes.")
    reject: bool = option(False, "Drop all of them.")
    only_list: bool = option(False, "Say what is pending, and change nothing.", flags=("--list",))
    test: str | None = option(None, "Only tests of this name or pattern.", metavar="GLOB")
