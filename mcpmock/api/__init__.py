"""The Python API, as `mcpmock.NAME`: thin compositions over `modes` and the pure rooms.

Everything public is named in `mcpmock.__all__` and imported when it is first asked for.
"""
