"""`ServerEntry`: what one entry of a configuration starts, and whether a recorder stands before it.

Clients agree on little more than `command` and `args`: opencode has both in one list, older
settings of Zed have them in an object of the name `command`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath, PureWindowsPath
from typing import Any

import attrs

_URLS = ("url", "serverUrl", "httpUrl", "uri")
_RECORD, _PROXY = "record", "proxy"
_CASSETTE = "--cassette"
_OUTPUTS = {_RECORD: ("-o", "--output"), _PROXY: ("--record", _CASSETTE)}
"""The option that says where a command records, or what it replays."""
_FLAGS = ("-q",)


@attrs.frozen
class RecordCommand:
    """A recorder in front of a command or a URL, or a replay in its place: where it writes, or what
    it replays, and where the command begins.
    """

    output: str
    behind: int | None
    """Index of the first word of the command; None if no `--` tells it."""
    remote: bool = False
    """Whether it stands in front of a URL."""
    replays: bool = False
    """Whether it answers in the place of the server."""


@attrs.frozen
class RecorderWords:
    """What `wrap` puts before a server: the words for mcpmock, where it records, and its options
    for redaction. With `log`, a file for what it reports, the cassette `output` answers in the
    place of the server.

    Options, not variables: the SDKs pass few variables to the servers that they start.
    """

    program: Sequence[str]
    output: str
    redaction: Sequence[str] = ()
    log: str = ""

    @property
    def before_command(self) -> list[str]:
        if self.log:
            return [*self.before_url, "--"]
        return [*self.program, _RECORD, *_FLAGS, *self.redaction, "-o", self.output, "--"]

    @property
    def before_url(self) -> list[str]:
        """What is replaced stays behind it, so that it can be had back."""
        how = [*self.redaction, "--record", self.output]
        if self.log:
            how = [_CASSETTE, self.output, "--mode", "none", "--log", self.log]
        return [*self.program, _PROXY, *_FLAGS, *how]


@attrs.frozen
class ServerEntry:
    """A server as a configuration names it."""

    name: str
    value: dict[str, Any]

    @property
    def words(self) -> list[str]:
        """The command line that the client starts; empty if it starts none, or is mistaken."""
        command = self.value.get("command")
        if isinstance(command, list):
            words = command
        else:
            inside = command if isinstance(command, dict) else self.value
            arguments = inside.get("args")
            if arguments is None:  # `"args": null` is none
                arguments = []
            program = command.get("path") if isinstance(command, dict) else command
            words = [program, *(arguments if isinstance(arguments, list) else [None])]
        return words if all(isinstance(word, str) for word in words) else []

    @property
    def unsplit(self) -> list[str]:
        """The words of a command line that stands where a program belongs; empty if none does.
        Clients start no shell: they would look for a program with spaces in its name.
        """
        command = self.words[0] if self.words else ""
        words = command.split()
        return words if len(words) > 1 and _program_name(words[0]) == words[0] else []

    @property
    def environment(self) -> dict[str, Any]:
        """The variables that it sets; empty if it sets none, or is mistaken."""
        found = (self.value.get(name) for name in ("env", "environment"))
        return next((one for one in found if isinstance(one, dict)), {})

    @property
    def url_names(self) -> list[str]:
        """The members with its URL."""
        return [name for name in _URLS if isinstance(self.value.get(name), str)]

    @property
    def url_name(self) -> str:
        """The member with its URL, empty if it has none."""
        return next(iter(self.url_names), "")

    @property
    def url(self) -> str:
        """Its URL, empty if it has none."""
        return str(self.value.get(self.url_name, ""))

    @property
    def transport(self) -> str:
        """`stdio`, `remote`, or `other`: an extension that is only configured here, a mistake."""
        if self.words:
            return "stdio"
        return "remote" if self.url else "other"

    @property
    def recorder(self) -> RecordCommand | None:
        return find_recorder(self.words)


def find_recorder(words: Sequence[str]) -> RecordCommand | None:
    """Return the recorder in front of a command, however it was put there; None if there is
    none.
    """
    start = _words_of_mcpmock(words)
    command = words[start] if 0 < start < len(words) else ""
    if command not in _OUTPUTS:
        return None
    end = words.index("--") if "--" in words else len(words)
    options = words[start + 1 : end]
    output = ""
    for option, value in pairwise([*options, ""]):
        if option in _OUTPUTS[command]:
            output = value
    if command == _PROXY and not output:
        return None
    remote = command == _PROXY and not {"--url", "--url-env"}.isdisjoint(options)
    behind = end + 1 if words[end + 1 :] else None
    return RecordCommand(output, behind, remote, replays=_CASSETTE in options)


def _words_of_mcpmock(words: Sequence[str]) -> int:
    """Return how many words call mcpmock: 0 if none do."""
    names = [_program_name(word) for word in words[:2]]
    if names[:1] == ["mcpmock"]:
        return 1
    if names == ["uvx", "mcpmock"]:
        return 2
    if names[:1] and names[0].startswith("python") and list(words[1:3]) == ["-m", "mcpmock"]:
        return 3
    return 0


def _program_name(word: str) -> str:
    """Return the last part of a path of either kind, without the suffix of Windows."""
    return PureWindowsPath(PurePath(word).name).name.removesuffix(".exe")
