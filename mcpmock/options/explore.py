"""What is tried on a server or a client, and for how long: the options of `mcpmock explore`."""

from pathlib import Path

from .option import OptionTable, Seconds, option


class ExploreOptions(OptionTable):
    """The search, its limits, and where its findings go."""

    client: bool = option(
        False,
        "Explore a client: COMMAND starts it, in it {command} or {url} is the fake server.",
    )
    request: str | None = option(None, "Explore only the request with this id.", metavar="ID")
    kinds: str = option(
        "all",
        "Single faults to try: all, none, wire, messages, http, mcp, or a comma-separated list of "
        "kinds; or a plan (.toml) to run again.",
        flags=("--faults",),
        metavar="KINDS",
    )
    seed: int = option(0, "Random seed for pairs and faults.", metavar="N", default_text="")
    max_runs: int | None = option(None, "Stop after N runs.", metavar="N", least=1)
    seconds: Seconds | None = option(
        None, "Start no run after TIME.", flags=("--for",), metavar="TIME", positive=True
    )
    timeout: Seconds | None = option(
        None,
        "Treat TIME without a message as a hang.  [default: 10s, or 5 times the slowest recorded "
        "order]",
        metavar="TIME",
        positive=True,
    )
    jobs: int | None = option(
        None,
        "Number of runs in parallel.",
        metavar="N",
        least=1,
        default_text="twice the processors",
    )
    strict: bool = option(False, "Fail on what a specification only advises against.")
    status: bool = option(False, "Check the client's exit status in every run.")
    junit: Path | None = option(
        None, "Write a JUnit XML report to FILE.", metavar="FILE", private=True
    )
    output: Path | None = option(
        None,
        "Write what fails to DIR/.  [default: explore-FILE]",
        flags=("-o", "--output"),
        metavar="DIR",
        private=True,
    )
