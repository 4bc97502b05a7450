"""The modules of `tools/bench.py`: the rows, the client that measures them, and the report."""
