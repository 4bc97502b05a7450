"""The bundled demo: an MCP server and a client for it, so that everything can be tried with no
network and nothing to configure.

Both are ordinary programs that know nothing of recordings: `python -m mcpmock.demo.server` and
`python -m mcpmock.demo.client -- COMMAND`. `mcpmock demo` runs them. The server is a `Stub`
(`routes`), played by `stubs.server`.
"""
