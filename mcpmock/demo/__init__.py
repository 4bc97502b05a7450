"""The bundled demo: a real MCP server and a real client to talk to it, so that everything can be
tried with no network and nothing to configure.

Both are ordinary programs that know nothing of recordings. `mcpmock demo` (`cli.demo`) puts them
together; each also runs alone: `python -m mcpmock.demo.server`, `python -m mcpmock.demo.client`.
"""
