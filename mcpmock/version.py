"""The version of mcpmock: pyproject.toml says the same. On the ground floor, for all rooms may name
it.
"""

VERSION = "0.1.0"
