"""Coverage shown: lines of text, and a page without scripts."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Mapping
from importlib.resources import files

from mcpmock.coverage.bounds import CoverageBounds
from mcpmock.coverage.coverage import KINDS, TOTAL, Coverage, covered
from mcpmock.printable import first_of, printable

from .html_page import MARK

_SHOWN = 5
"""How many of the missing names of a kind are printed."""
_NOTHING = "nothing is listed: coverage is counted over what tools/list and other lists have named"
_NAMELESS = "(a server without a name)"


def coverage_lines(
    found: Coverage, bounds: CoverageBounds, *, verbose: bool = False
) -> Iterator[str]:
    """Yield the lines of a terminal: a table for each server, then the total and what is below its
    bound. `verbose` names all that is missing.
    """
    counts = found.counts()
    for name, server in sorted(found.servers.items()):
        rows = [(kind, items) for kind in KINDS if (items := server.items(kind))]
        if not rows:
            continue
        yield printable(name) or _NAMELESS
        yield f"  {'':13}  covered    all     %"
        for kind, items in rows:
            counted = covered(items)
            row = f"  {kind:13}  {counted.covered:7}  {counted.all:5}  {counted.percent:3}%"
            missing = [printable(item) for item, times in items.items() if not times]
            short = f"  missing: {first_of(missing, _SHOWN)}"
            yield f"{row}{short}" if missing and not verbose else row
            yield from (f"    {item}" for item in (missing if verbose else ()))
    yield f"total: {counts[TOTAL]}" if counts[TOTAL].all else _NOTHING
    yield from bounds.missed(counts)


def coverage_page(found: Coverage, bounds: CoverageBounds) -> bytes:
    """Return one HTML page. Nothing recorded can be markup, and no script runs."""
    style = b"".join(
        line.strip() + b"\n"
        for line in (files(__package__) / "page" / "coverage.css").read_bytes().splitlines()
    )
    digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(_body(found, bounds))
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Coverage</title>\n<style>{style.decode()}</style></head>\n<body>\n{body}\n"
        "</body></html>\n"
    )
    return MARK + b"\n" + text.encode("utf-8", "backslashreplace")


def _body(found: Coverage, bounds: CoverageBounds) -> Iterator[str]:
    counts = found.counts()
    total = f"{counts[TOTAL]} covered" if counts[TOTAL].all else _NOTHING
    yield f"<h1>{_text(total)}</h1>"
    for line in bounds.missed(counts):
        yield f'<p class="missed">{_text(line)}</p>'
    for name, server in sorted(found.servers.items()):
        yield f"<h2>{_text(name or _NAMELESS)}</h2>"
        for kind in KINDS:
            if items := server.items(kind):
                yield from _section(kind, items)


def _section(kind: str, items: Mapping[str, int]) -> Iterator[str]:
    counted = covered(items)
    opened = "" if counted.covered == counted.all else " open"
    yield f"<details{opened}><summary>{kind}: {counted}"
    yield f'<meter max="{counted.all}" value="{counted.covered}"></meter></summary><ul>'
    for name, times in items.items():
        kept = f'<li class="missed">{_text(name)}</li>'
        yield kept if not times else f"<li>{_text(name)} <small>{times}</small></li>"
    yield "</ul></details>"


def _text(text: str) -> str:
    return html.escape(printable(text))
