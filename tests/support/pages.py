"""What the HTML pages show."""

from __future__ import annotations

import base64
import re
import zlib
from typing import Any

import msgspec


def data_of(page: bytes) -> dict[str, Any]:
    """The data block of a page."""
    found = re.search(rb'<script type="text/plain" id="data">([^<]*)</script>', page)
    assert found is not None
    data: dict[str, Any] = msgspec.json.decode(zlib.decompress(base64.b64decode(found[1])))
    return data
