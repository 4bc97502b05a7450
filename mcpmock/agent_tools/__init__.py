"""The server of `mcpmock mcp`: what coding agents ask of the cassettes in one folder. Its
tools give what the commands give, as typed results.
"""
