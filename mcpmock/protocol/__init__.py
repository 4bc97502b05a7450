"""JSON-RPC messages, the methods of each MCP revision, and which request a message belongs to. No
IO, no clock; imports nothing else of mcpmock.
"""
