"""One cassette checked, or searched for secrets, wherever it is."""

from __future__ import annotations

from pathlib import Path

from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.options.redacting import RedactionOptions
from mcpmock.redaction.cassettes import SecretFound, scan_cassette
from mcpmock.rules.report import CheckReport, check_cassette, check_data

from .redaction_rules import redaction_rules_of
from .sources import Source, read_source


def check_source(source: Source, only: str | None = None) -> CheckReport:
    """Return the report of `rules.report`. Raises CassetteError for what cannot be read, or is no
    cassette; damage is in the report.
    """
    if isinstance(source, Cassette):
        return check_cassette(source)
    return check_data(read_source(source), only)


def scan_source(
    source: Source,
    redaction: RedactionOptions = RedactionOptions(),  # noqa: B008 (frozen)
) -> list[SecretFound]:
    """Return the secrets in the order of the lines, those of these rules and of the project file
    too. What is damaged is read as text. Raises CassetteError for what cannot be read, or is no
    cassette, ProjectFileError.
    """
    if isinstance(source, Cassette):
        return scan_cassette(encode_cassette(source), redaction_rules_of(redaction))
    place = source if isinstance(source, Path) else None
    data = read_source(source, damaged=True)
    return scan_cassette(data, redaction_rules_of(redaction, place))
