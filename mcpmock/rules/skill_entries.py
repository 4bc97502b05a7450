"""`SkillEntries`: the entries of skills that are in force, and their files. It judges nothing."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import attrs

from mcpmock.protocol.skills import files_of

from .exchange import MAX_REMEMBERED
from .memory import drop_oldest

MAX_FILES = 600
"""How many files of a skill are remembered: some more than one should have."""


@attrs.frozen
class SkillEntry:
    """An entry in force: what its SKILL.md has to say, and its files by URI."""

    name: object
    description: object
    files: dict[str, tuple[object, object]] | None
    """Digest and size by URI; None if they are dynamic."""


@attrs.define
class SkillEntries:
    """The last entry of each skill."""

    _entries: OrderedDict[str, SkillEntry] = attrs.field(factory=OrderedDict)
    """By the URI of the SKILL.md."""
    _owners: OrderedDict[str, str] = attrs.field(factory=OrderedDict)
    """By the URI of a file, the URI of the last skill that lists it."""

    def add(self, uri: str, entry: dict[str, Any]) -> None:
        """Put an entry in force, in the place of an older one."""
        old = self._entries.pop(uri, None)
        for file in (old.files if old else None) or ():
            if self._owners.get(file) == uri:
                del self._owners[file]
        front = entry.get("frontmatter")
        front = front if isinstance(front, dict) else {}
        listed = [one for one in files_of(entry) if isinstance(one.get("uri"), str)][:MAX_FILES]
        dynamic = not isinstance(entry.get("resources"), list)
        files = {one["uri"]: (one.get("digest"), one.get("size")) for one in listed}
        kept = None if dynamic else files
        self._entries[uri] = SkillEntry(front.get("name"), front.get("description"), kept)
        drop_oldest(self._entries, MAX_REMEMBERED)
        for file in files:
            self._owners[file] = uri
            drop_oldest(self._owners, 100 * MAX_REMEMBERED)

    def get(self, uri: object) -> SkillEntry | None:
        """Return the entry of a skill by the URI of its SKILL.md."""
        return self._entries.get(uri) if isinstance(uri, str) else None

    def file(self, uri: object) -> tuple[object, object] | None:
        """Return digest and size of a file, if an entry in force lists it."""
        owner = self._owners.get(uri) if isinstance(uri, str) else None
        entry = None if owner is None else self._entries.get(owner)
        files = None if entry is None else entry.files
        return None if files is None else files.get(str(uri))

    def lacking(self, uri: str) -> str | None:
        """Return the skill in whose folder a URI is, if that lists its files and not this one."""
        folder = uri
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            owner = f"{folder}/SKILL.md"
            entry = self._entries.get(owner)
            if entry is not None:
                return owner if entry.files is not None and uri not in entry.files else None
        return None

    def is_directory(self, uri: str) -> bool:
        """Return whether a file of an entry in force is below a URI."""
        inside = f"{uri.rstrip('/')}/"
        return any(file.startswith(inside) for file in (*self._owners, *self._entries))
