"""mcpmock: see, keep, replay and break the traffic between MCP clients and servers."""

from mcpmock.version import VERSION as __version__

__all__ = ["__version__"]
