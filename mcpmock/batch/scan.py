"""The secrets in one cassette, wherever it is."""

from __future__ import annotations

from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.redaction.cassettes import SecretFound, scan_cassette

from .sources import Source, read_source


def scan_source(source: Source) -> list[SecretFound]:
    """Return the secrets in the order of the lines. What is damaged is read as text. Raises
    CassetteError for what cannot be read, or is no cassette.
    """
    if isinstance(source, Cassette):
        return scan_cassette(encode_cassette(source))
    return scan_cassette(read_source(source, damaged=True))
