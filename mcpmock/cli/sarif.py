"""SARIF 2.1.0 (OASIS), the format in which code hosts read findings."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, quote_from_bytes

from mcpmock.errors import Level
from mcpmock.printable import printable, printable_lines
from mcpmock.version import VERSION

from .output import without_secrets

_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTICE: "note"}
_URI_MARKS = "/:?#[]@!$&'()*+,;=-._~%"


class SarifResult(NamedTuple):
    """A finding."""

    rule: str
    about: str
    """What the rule says."""
    level: Level
    text: str
    file: Path | str | None
    line: int = 0
    likeness: str = ""
    """What it has in common with the same finding in another recording of the session."""
    allowed: str = ""
    """The line that allows it."""


def sarif_of(results: Iterable[SarifResult]) -> str:
    """Return findings as a log of one run."""
    rules: dict[str, dict[str, Any]] = {}
    seen = Counter[tuple[Path | str | None, str]]()
    found = []
    for one in results:
        if one.rule not in rules:
            about = printable(one.about or one.rule)
            rules[one.rule] = {"id": one.rule, "shortDescription": {"text": about}}
        seen[one.file, one.likeness] += 1
        digest = hashlib.sha256(f"{one.rule} {one.likeness}".encode("utf-8", "surrogatepass"))
        result = {
            "ruleId": one.rule,
            "ruleIndex": [*rules].index(one.rule),
            "level": _LEVELS[one.level],
            "message": {"text": printable_lines(one.text)},
            # The name that code hosts compare; without it GitHub takes the text of the line, which
            # has times and ids.
            "partialFingerprints": {
                "primaryLocationLineHash": (
                    f"{digest.hexdigest()[:16]}:{seen[one.file, one.likeness]}"
                )
            },
        }
        if one.file is not None:
            region = {"region": {"startLine": one.line}} if one.line else {}
            place = {"artifactLocation": {"uri": uri_of(one.file)}, **region}
            result["locations"] = [{"physicalLocation": place}]
        if one.allowed:
            why = printable(f"allowed by {one.allowed}")
            result["suppressions"] = [{"kind": "external", "justification": why}]
        found.append(result)
    driver = {"name": "mcpmock", "version": VERSION, "rules": [*rules.values()]}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": found}],
    }
    return json.dumps(log, indent=1) + "\n"


def uri_of(file: Path | str) -> str:
    """Return a file as a URI, relative to the current folder if it is in it."""
    place = place_in_folder(file)
    if isinstance(file, str):
        return quote(place, safe=_URI_MARKS)
    written = quote_from_bytes(os.fsencode(place))
    return f"file://{written}" if os.path.isabs(place) else written


def place_in_folder(file: Path | str) -> str:
    """Return the path of a file from the current folder; of one outside, the whole path. A URL is
    given without its secrets.
    """
    if isinstance(file, Path):
        file = os.path.abspath(file).removeprefix(os.getcwd().rstrip("/") + "/")
    return without_secrets(file)
