"""The Python API, as `mcpmock.NAME`: thin compositions over `sessions` and the pure rooms.

Every public name is in `mcpmock.__all__` and is imported on first use.
"""
