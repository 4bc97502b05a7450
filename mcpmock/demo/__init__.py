"""The bundled demo: a real MCP server and a real client for it, so that everything can be tried
with no network and nothing to configure.

Both are ordinary programs that know nothing of recordings: `python -m mcpmock.demo.server` and
`python -m mcpmock.demo.client -- COMMAND`. `mcpmock demo` runs them. The server is not a `Stub`,
because it must do what no stub does: ask the client, wait as long as the arguments say, keep
subscriptions, crash.
"""
