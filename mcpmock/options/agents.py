"""What `mcpmock mcp` offers to agents, and where it is added."""

from .option import OptionTable, option


class AgentOptions(OptionTable):
    """What the server of `mcpmock mcp` may do, or the client that it is added to."""

    allow_replay: bool = option(
        False, "Also offer tools that start and stop fake servers on loopback.", private=True
    )
    add: str | None = option(
        None, "Add the server to the configuration of this client.", metavar="CLIENT", private=True
    )
    remove: str | None = option(
        None,
        "Take the server out of the configuration of this client.",
        metavar="CLIENT",
        private=True,
    )
