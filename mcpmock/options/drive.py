"""How a recorded client is played to a real server: once, or as a load."""

from typing import Literal

from .option import FileName, OptionTable, Seconds, option


class DriveOptions(OptionTable):
    """What `mcpmock drive` writes, and its pauses."""

    output: FileName | None = option(
        None, "Record the session to FILE.", flags=("-o", "--output"), metavar="FILE", private=True
    )
    timing: str = option(
        "none",
        "Pause before each message: none, recorded, scale:X, fixed:MS or cap:MS.",
        metavar="HOW",
    )


class LoadOptions(OptionTable):
    """Many sessions at once; any of these makes `mcpmock drive` a load."""

    sessions: int | None = option(
        None, "Load: play N sessions, the recorded ones in turn.", metavar="N", least=1
    )
    concurrency: int | None = option(
        None,
        "Load: play at most M sessions at once.  [default: 1; with --rate 1000]",
        metavar="M",
        least=1,
    )
    seconds: Seconds | None = option(
        None,
        "Load: start sessions for this time.",
        flags=("--for",),
        metavar="TIME",
        positive=True,
    )
    rate: float | None = option(
        None,
        "Load: start R sessions per second, even while earlier ones still run; latencies count "
        "from the intended start.",
        metavar="R",
        positive=True,
    )
    max_p99: tuple[str, ...] = option(
        (),
        "Load: exit with 1 if the 99th percentile of the latencies of a kind of call is "
        "higher; tool=NAME or method=NAME (with * and ?) selects calls (repeatable).",
        metavar="[tool=NAME,]TIME",
    )
    max_errors: str | None = option(
        None,
        "Load: exit with 1 if more than N% of the calls fail.  [default: 0%]",
        metavar="N%",
    )
    format: Literal["text", "json", "junit"] | None = option(
        None, "Load: format of the figures.  [default: text]"
    )

    @property
    def given(self) -> bool:
        return self != LoadOptions()
