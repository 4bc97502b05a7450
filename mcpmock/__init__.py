"""mcpmock: see, keep, replay and break the traffic between MCP clients and servers."""

__version__ = "0.1.0"
