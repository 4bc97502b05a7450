"""Keys in the paths of URLs: which segments are one, and which are names of things."""

from __future__ import annotations

import random
import string

import pytest

from mcpmock.redaction.path_keys import keys_in_path
from mcpmock.redaction.redactor import Redactor

HOST = "https://mcp.example.com"
KEYS = [
    ("/s/", "M2Q0ZjE5YzctOGFlNC00", "/mcp"),
    ("/s/", "9f86d081884c7d659a2f", "/mcp"),
    ("/s/", "9F86D081884C7D659A2FEAA0C55AD015", "/mcp"),
    ("/", "pQ7vX2mK9rT4wZ8nB3cF", "/sse"),
    ("/api/mcp/s/", "NzU2NGQ1YjktMTFhOC00Ym_k-8fQxZ7vT1LmW", "/mcp"),
    ("/mcp/", "sk_live_51h8w2kq9x7c3v5b1n4m6z8p0", ""),
    ("/v1/", "550e8400-e29b-41d4-a716-446655440000", "/weather"),
    ("/s/", "550e8400-e29b-41d4-a716-446655440000", "/mcp"),
    ("/", "550e8400-e29b-41d4-a716-446655440000", "/mcp"),
    ("/u/", "aB3dE5fG7hI9jK1lM3nO5pQ7", "?profile=x"),
    ("/t/", "Zx9Qw8Er7Ty6Ui5Op4As3Df2==", "/mcp"),
    ("/t/", "Zx9Qw8Er7Ty6Ui5Op4As3Df2", "%3D%3D/mcp"),
    ("/k/", "qzxwvkjtrpqmnbzxcvlkhgfd", "/"),
    ("/k/", "MFRGGZDFMZTWQ2LKNNWG23TPOA", "#top"),
]
NAMES = [
    "/mcp",
    "/",
    "/sessions/550e8400-e29b-41d4-a716-446655440000/mcp",
    "/servers/01ARZ3NDEKTSV4RRFFQ69G5FAV/mcp",
    "/modelcontextprotocol/servers/mcp",
    "/my-very-long-server-name-for-testing/mcp",
    "/get_current_weather_forecast_v2",
    "/getCurrentWeatherForecastForCity",
    "/XMLHttpRequestEventTarget/constructor",
    "/KUBERNETES_SERVICE_HOST_PORT",
    "/.well-known/oauth-protected-resource/mcp",
    "/@modelcontextprotocol/server-sequential-thinking/mcp",
    "/p/win32-x64-msvc142-debug/mcp",
    "/p/python3-distutils-extra-2to3/mcp",
    "/p/lib3d-x264-mp3-h265-2to3/mcp",
    "/p/postgresql16-pgvector-x86-64/mcp",
    "/p/docusaurus-plugin-npm2yarn2pnpm/mcp",
    "/p/server-0.6.2-beta.4+exp.sha.5114f85/mcp",
    "/streamable-http-2025-06-18/mcp",
    "/log/2026-01-31T10-20-30-000000Z",
    "/log/20260131102030000000",
    "/log/20260131102030000000z7",
    "/log/2026Q01W31T102030123456",
    "/r/commit/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "/r/blob/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/mcp",
    "/r/objects/9f86d081884c7d659a2feaa0c55ad015",
    "/files/cmVwb3J0LTIwMjQtUTEucGRm",
    "/files/UXVhcnRlcmx5IHJlcG9ydCBvZiAyMDI0",
    "/files/pQ7vX2mK9rT4wZ8nB3cF.pdf",
    "/assets/index-DkA9sd8f.js",
    "/s/keyFaxTaxMixRowForJobs/mcp",
    "/s/aaaaaaaaaaaaaaaaaaaaaaaa/mcp",
    "/s/00000000000000000000/mcp",
    "/s/pQ7vX2mK9rT4wZ8/mcp",
    "/s/mcpmock:secret:path-key:1/mcp",
]


@pytest.mark.parametrize(("before", "key", "behind"), KEYS)
def test_keys(before: str, key: str, behind: str) -> None:
    """A key is found in a URL, in a target and in an option; all else of it stays."""
    key, padding = key.rstrip("="), "=" * key.count("=")
    for prefix in (HOST, "", f"--url={HOST}"):
        url = f"{prefix}{before}{key}{padding}{behind}".encode()
        found = [url[span.start : span.end] for span in keys_in_path(url)]
        assert [key.encode()] == found
    redacted = Redactor().url(f"{HOST}{before}{key}{padding}{behind}")
    assert f"{HOST}{before}mcpmock:secret:path-key:1{padding}{behind}" == redacted


@pytest.mark.parametrize("path", NAMES)
def test_names(path: str) -> None:
    """Names, versions, dates, ids behind a word, hashes of contents and names of files stay."""
    for prefix in (HOST, ""):
        assert [] == [*keys_in_path(f"{prefix}{path}".encode())]


@pytest.mark.parametrize(
    "text",
    [
        "see https://h.example/s/pQ7vX2mK9rT4wZ8nB3cF/mcp for more",
        "<a href='/s/pQ7vX2mK9rT4wZ8nB3cF/mcp'>",
        "file:///home/pQ7vX2mK9rT4wZ8nB3cF/x",
        "text/html; boundary=pQ7vX2mK9rT4wZ8nB3cF",
    ],
)
def test_only_a_url_has_a_path(text: str) -> None:
    """Pages, prose and other fields are left alone."""
    assert [] == [*keys_in_path(text.encode())]


@pytest.mark.parametrize("length", [22, 32, 40, 64])
@pytest.mark.parametrize(
    "letters",
    [
        string.ascii_letters + string.digits,
        string.ascii_letters + string.digits + "-_",
        string.ascii_lowercase + string.digits,
        string.ascii_uppercase + "234567",
        "0123456789abcdef",
    ],
)
def test_random_texts_are_keys(letters: str, length: int) -> None:
    """Of a thousand keys at most one in fifty is taken for a name."""
    dice = random.Random(1)
    keys = ["".join(dice.choices(letters, k=length)).encode() for _ in range(1000)]
    assert sum(not [*keys_in_path(b"/s/%b/mcp" % key)] for key in keys) <= 20
