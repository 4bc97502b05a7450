"""What a file is that was given but is not a cassette, or a line that is not an event: recognized
by its bytes, with what to do about it. Pure; `file` and `parser` stand above and raise.
"""

from __future__ import annotations

import msgspec

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.printable import mcpmock_command, shell_command
from mcpmock.protocol.raw_json import UNREADABLE

from . import HEADER_START

GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NO_HEADER = "is not a cassette: its first line is no mcpmock header"
CONFLICT = "a conflict marker of git"
_EXPLORED, _COUNTED = ("explore", "report"), ("stats", "stats")
_OUTPUTS = {
    **dict.fromkeys((b'"row"', b'"failure"', b'"untried"', b'"summary"'), _EXPLORED),
    **dict.fromkeys((b'"calls"', b'"notifications"', b'"stats"'), _COUNTED),
    b'"coverage"': (*_COUNTED, "--coverage"),
}
"""By the `type` of its first line: the command that wrote a file with --json, the one that reads
it, and the options of both.
"""
_LOOKED_AT_BYTES = 1 << 16
_MAX_DOCUMENT_BYTES = 1 << 24
_CONFLICT = lazy_pattern(rb"(?:<{7}|>{7}|\|{7})(?: [^\n]*)?\r?$|={7}\r?$")
_MALFORMED = lazy_pattern(r"JSON is malformed: (.*) \(byte (\d+)\)")
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
}


def is_other(data: bytes) -> bool:
    """Return whether a file does not even begin as a cassette. The start of a header, where a
    recorder was killed, does; a header that was broken up into lines does not.
    """
    first, _, second = data[:_LOOKED_AT_BYTES].partition(b"\n")
    broken_up = first.strip() == b"{" and second[:1] in (b" ", b"\t", b'"')
    return broken_up or not (first.startswith(HEADER_START) or HEADER_START.startswith(first))


def describe_other(name: str, data: bytes) -> tuple[str, str | None]:
    """Return what a file that is not a cassette is, and what to do with it."""
    start = data[:_LOOKED_AT_BYTES]
    unmarked = start.removeprefix(BYTE_ORDER_MARK)
    packing = next((text for magic, text in _PACKED.items() if start.startswith(magic)), None)
    encoding = _WIDE.get(start[:2])
    if start.startswith(GZIP):
        renamed = shell_command(["mv", name, f"{name}.gz"])
        return "is packed with gzip, which its name does not say", f"rename it: `{renamed}`"
    if unmarked != start and unmarked.startswith(HEADER_START):
        command = mcpmock_command("recover", name, options=["-o", "OUT"])
        reason = "begins with a byte order mark, as an editor writes it (line 1, column 1)"
        return reason, f"save it without one, or `{command}` leaves it out"
    if packing is not None:
        return f"is not a cassette: it is {packing}", "unpack it"
    if encoding is not None:
        return f"is {encoding}, as an editor or a shell of Windows writes it", "save it as UTF-8"
    if b"\0" in start:
        return "is not a cassette: it is a binary file", None
    return _describe_text(name, data, unmarked)


def _describe_text(name: str, data: bytes, start: bytes) -> tuple[str, str | None]:
    first = start.partition(b"\n")[0].strip()
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        pull = shell_command(["git", "lfs", "pull", "--include", name])
        return "is a pointer of Git LFS: the file itself was not fetched", f"`{pull}` fetches it"
    if b"/annex/objects/" in first:
        get = shell_command(["git", "annex", "get", name])
        return "is a pointer of git-annex: the file itself was not fetched", f"`{get}` fetches it"
    if _CONFLICT.match(first):
        return f"line 1: {CONFLICT}", conflict_hint(name)
    if first[:14].lower().startswith((b"<!doctype html", b"<html")):
        return "is not a cassette: it is a web page", "download the file itself"
    if name.endswith(".toml"):
        play = mcpmock_command("replay", name)
        return "is not a cassette: it is TOML", f"`{play}` plays it, if it is a mock"
    if first == b"{" or (first[:1] == b"[" and first[:2] != b"[["):
        return _describe_document(data)
    if first[:1] == b"{":
        return _describe_lines(name, first)
    return NO_HEADER, None


def _describe_document(data: bytes) -> tuple[str, str | None]:
    kind = _kind_of_document(data[: _MAX_DOCUMENT_BYTES + 1])
    if kind is not None:
        return kind
    reason = "is not a cassette: its JSON is spread over several lines, as a formatter writes it"
    return reason, "a cassette has one object a line: `jq -c .` puts them back"


def _kind_of_document(data: bytes) -> tuple[str, str | None] | None:
    try:
        found = msgspec.json.decode(data)
    except UNREADABLE:
        return None
    match found:
        case {"log": {"entries": list()}}:
            return "is not a cassette: it is a HAR file", "mcpmock writes HAR and reads none"
        case {"resourceSpans": _}:
            reason = "is not a cassette: it holds spans of OpenTelemetry"
            return reason, "mcpmock writes them and reads none"
        case list():
            return "is not a cassette: it is a JSON array", "a cassette has one object a line"
    return None


def _describe_lines(name: str, first: bytes) -> tuple[str, str | None]:
    known = _kind_of_document(first)
    if known is not None:
        return known
    try:
        members = msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return f"line 1 is {explain_json(first)}", None
    output = _OUTPUTS.get(bytes(members.get("type", b"")))
    if output is not None:
        writer, reader, *options = output
        wrote = mcpmock_command(writer, options=[*options, "--json"])
        reads = mcpmock_command(reader, name, options=options)
        return f"is not a cassette: `{wrote}` wrote it", f"`{reads}` reads it"
    if "n" in members and len(members) > 1:
        command = mcpmock_command("recover", name, options=["-o", "OUT"])
        return "has no header: its first line was lost", f"`{command}` gives it another"
    command = mcpmock_command("convert", name, options=["-o", "OUT"])
    return NO_HEADER, f"`{command}` reads recordings of some other tools"


def conflict_hint(name: str) -> str:
    """Return what to do with a file that git could not merge."""
    ours, theirs = (shell_command(["git", "checkout", f"--{s}", name]) for s in ("ours", "theirs"))
    return f"take one side: `{ours}` or `{theirs}`; or record again"


def is_conflict(line: bytes) -> bool:
    """Return whether git wrote this line between two sides that it could not merge."""
    return _CONFLICT.match(line) is not None


def _column(before: bytes) -> int:
    """Return the column behind these bytes, as an editor counts: in characters, from 1."""
    return len(before.decode("utf-8", "replace")) + 1


def explain_json(line: bytes) -> str:
    """Return where and how a line is not JSON: `not JSON at column 12: trailing comma`."""
    if line.lstrip().startswith((b"//", b"/*", b"#")):
        return "not JSON: a comment, which JSON does not have"
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        found = _MALFORMED.search(str(error))
        if found is not None:
            # Behind a whole value the decoder has read on.
            before = int(found[2]) - (found[1] == "trailing characters")
            return f"not JSON at column {_column(line[:before])}: {found[1]}"
        return f"not JSON: it breaks off at column {_column(line)}"
    except UNREADABLE:
        pass
    return "not JSON"
