"""One cassette checked, wherever it is."""

from __future__ import annotations

from mcpmock.cassette.model import Cassette
from mcpmock.rules.report import CheckReport, check_cassette, check_data

from .sources import Source, read_source


def check_source(source: Source, only: str | None = None) -> CheckReport:
    """Return the report of `rules.report`. Raises CassetteError for what cannot be read, or is no
    cassette; damage is in the report.
    """
    if isinstance(source, Cassette):
        return check_cassette(source)
    return check_data(read_source(source), only)
