"""`html_page`: a self-contained HTML page that shows data.

Its code (`page/`: HTML, CSS, JavaScript; `page.css` and `page.js` are in every page) is fixed; the
data is a block in it, JSON that is compressed and written in base64, so that nothing recorded can
be markup or code. Pure: the same data gives the same bytes. `report` and `explore_grid` stand
above.
"""

from __future__ import annotations

import base64
import hashlib
import html
import zlib
from importlib.resources import files
from typing import Any, Literal

from mcpmock.printable import printable
from mcpmock.protocol.messages import encode

MARK = b"<!-- made by mcpmock report -->"
"""The first line of each page, by which a page of ours is known."""
_COMPRESSION_LEVEL = 6


def html_page(
    name: Literal["report", "explore"], title: str, data: dict[str, Any], *, live: bool = False
) -> bytes:
    """Return the page of this name with its data; a `live` one may ask its own server for more."""
    block = base64.b64encode(zlib.compress(encode(data), _COMPRESSION_LEVEL))
    script, style = (_part(f"page.{kind}") + _part(f"{name}.{kind}") for kind in ("js", "css"))
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            *(["connect-src 'self'"] if live else []),
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {
        b"{{policy}}": policy.encode(),
        b"{{title}}": html.escape(printable(title)).encode(),
        b"{{style}}": style,
        b"{{data}}": block,
        b"{{script}}": script,
    }
    made = _part(f"{name}.html")
    before = []
    for mark, part in parts.items():  # one after another, for a part may hold another one's mark
        head, _, made = made.partition(mark)
        before += [head, part]
    return MARK + b"\n" + b"".join(before) + made


def _part(name: str) -> bytes:
    """Return a file of the code, without its indentation and lines of comment."""
    lines = (files(__package__) / "page" / name).read_bytes().splitlines()
    kept = (line.strip() for line in lines)
    return b"".join(line + b"\n" for line in kept if line and not line.startswith(b"//"))


def _digest(part: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(part).digest()).decode()
