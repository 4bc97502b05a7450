"""How a client's configuration is changed, or the client started, so that servers are recorded."""

from pathlib import Path
from typing import Literal

from .option import OptionTable, option


class WriteOptions(OptionTable):
    """Where configurations of clients are changed, and who confirms it."""

    scope: Literal["user", "project", "local"] | None = option(
        None, "Look only in configurations of the user, or of the project of this folder."
    )
    yes: bool = option(False, "Write without asking.")
    dry_run: bool = option(False, "Show the change, and write nothing.")
    run_commands: bool = option(
        False,
        "Run the commands of a client that keeps its configuration itself.",
        flags=("--run",),
    )


class ChangeOptions(WriteOptions):
    """Which configurations `mcpmock wrap` and `mcpmock unwrap` change."""

    client: str | None = option(
        None, "Look only in the configuration of this client.", metavar="ID"
    )
    config: Path | None = option(
        None, "Look in this configuration file, of any client.", metavar="FILE"
    )
    all_places: bool = option(False, "Change each configuration that has NAME.")


class WrapOptions(OptionTable):
    """What `mcpmock wrap` does, and where it lets servers be recorded."""

    lists: bool = option(
        False, "List the servers of all clients, and change nothing.", flags=("--list",)
    )
    output: Path | None = option(
        None,
        "Record to this folder, a file for each run.  [default: one for the server, in the data "
        "folder of the user; for a project .mcpmock/NAME.jsonl]",
        flags=("-o", "--output"),
        metavar="DIR",
    )
    replay: str | None = option(
        None,
        "Let this recording answer in the place of the server.  [default: the newest of it]",
        metavar="[FILE]",
        bare="",
    )


class UnwrapOptions(OptionTable):
    """What `mcpmock unwrap` undoes."""

    everything: bool = option(False, "Undo all that `mcpmock wrap` did.", flags=("--all",))


class RunOptions(OptionTable):
    """Where `mcpmock run` records, or whether it replays."""

    output: Path | None = option(
        None,
        "Record all servers to this folder, a file for each run.  [default: a folder for each "
        "server, in the data folder of the user]",
        flags=("-o", "--output"),
        metavar="DIR",
    )
    replay: bool = option(False, "Let the newest recording of each server answer in its place.")
