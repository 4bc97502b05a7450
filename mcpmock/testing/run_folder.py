"""The folder that a test run records to; `cassette_store` and `plugin_session` stand above."""

from __future__ import annotations

import tempfile


def new_folder() -> str:
    """Return the path of a new folder for a run, readable by this user only."""
    return tempfile.mkdtemp(prefix="mcpmock-run-")
