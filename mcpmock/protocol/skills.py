"""The skills extension (SEP-2640): the entries of skills in a result, and the digests of their
files.

A skill is a folder of resources with a SKILL.md in it. An entry tells its frontmatter and its
files, each with digest and size, unless they are "dynamic". This module knows the form of entries;
`rules.skills` judges them.
"""

from __future__ import annotations

import binascii
import hashlib
from typing import Any

__all__ = [
    "DIRECTORY",
    "DYNAMIC",
    "GET",
    "LIST",
    "content_of",
    "digest_of",
    "entries_in",
    "files_of",
    "settings_in",
]

LIST, GET, DIRECTORY = "skills/list", "skills/get", "resources/directory/read"
EXTENSION = "io.modelcontextprotocol/skills"
DYNAMIC = "dynamic"
"""What stands for the files of a skill that have no stable digests."""


def settings_in(capabilities: dict[str, Any]) -> dict[str, Any] | None:
    """Return the settings of the extension that a server declares; None if it does not. Legacy SDKs
    let it stand in `experimental`.
    """
    for place in ("extensions", "experimental"):
        declared = capabilities.get(place)
        if isinstance(declared, dict) and declared.get(EXTENSION) is not None:
            found = declared[EXTENSION]
            return found if isinstance(found, dict) else {}
    return None


def entries_in(
    method: str, result: dict[str, Any]
) -> list[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Return the entries in a result of `skills/list` or `skills/get`, each with the way to it."""
    if method == GET:
        found = result.get("skill")
        return [(("skill",), found)] if isinstance(found, dict) else []
    listed = result.get("skills") if method == LIST else None
    places = enumerate(listed if isinstance(listed, list) else ())
    return [(("skills", place), one) for place, one in places if isinstance(one, dict)]


def files_of(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the files that an entry lists; none if they are dynamic."""
    files = entry.get("resources")
    return [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []


def content_of(contents: dict[str, Any]) -> bytes | None:
    """Return the bytes of a file in the result of a read: its text in UTF-8, or its blob."""
    text, blob = contents.get("text"), contents.get("blob")
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    try:
        return binascii.a2b_base64(blob) if isinstance(blob, str) else None
    except ValueError:
        return None


def digest_of(content: bytes) -> str:
    """Return the digest of a file as entries spell it: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
