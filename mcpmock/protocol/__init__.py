"""The cellar: JSON-RPC values, the methods of each MCP revision, the state of a session. No IO, no
clock.
"""
