"""One cassette checked, or searched for secrets, wherever it is."""

from __future__ import annotations

from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.redaction.cassettes import SecretFound, scan_cassette
from mcpmock.rules.report import CheckReport, check_cassette, check_data

from .sources import Source, read_source


def check_source(source: Source, only: str | None = None) -> CheckReport:
    """Return the report of `rules.report`. Raises CassetteError for what cannot be read, or is no
    cassette; damage is in the report.
    """
    if isinstance(source, Cassette):
        return check_cassette(source)
    return check_data(read_source(source), only)


def scan_source(source: Source) -> list[SecretFound]:
    """Return the secrets in the order of the lines. What is damaged is read as text. Raises
    CassetteError for what cannot be read, or is no cassette.
    """
    if isinstance(source, Cassette):
        return scan_cassette(encode_cassette(source))
    return scan_cassette(read_source(source, damaged=True))
