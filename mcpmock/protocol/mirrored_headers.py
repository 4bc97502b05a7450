"""Header fields of a POST that repeat a member of its body: what they say, and how it is written.

Revision 2026-07-28 asks for them, so that a proxy routes by the head alone. This is the only place
that knows which there are: what sends them (`transports`, `faults`, a translated recording), what
compares them (`rules`, `playback`) and what keeps secrets out of them (`redaction`) reads it here.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode

import msgspec

from mcpmock.lazy_pattern import lazy_pattern

from .messages import Message, Notification, Request, decode, member
from .methods import ROWS
from .revisions import version_of
from .transport_facts import PROTOCOL_VERSION_HEADER, Headers

METHOD_HEADER, NAME_HEADER = "Mcp-Method", "Mcp-Name"
PARAMETER_PREFIX = "mcp-param-"
"""In lower case: fields that repeat an argument of a tool, as its schema asks (`x-mcp-header`)."""
_NAMED_BY = {row.name: row for row in ROWS if row.names is not None}
_ALWAYS = {METHOD_HEADER.lower(), NAME_HEADER.lower()}
_BASE64 = lazy_pattern(rb"=\?base64\?([A-Za-z0-9+/]*=*)\?=")
_PLAIN = lazy_pattern(r"[!-~](?:[ -~]*[!-~])?")


class MirroredHeader(msgspec.Struct, frozen=True):
    """A field that goes with a message: its name, and the value in the body, which need not be a
    string. The name of a method that only an extension defines is not `required`.
    """

    name: str
    value: object
    required: bool = True


def mirrored_headers(message: Request | Notification) -> list[MirroredHeader]:
    """Return the fields that a message of this revision goes with, arguments of tools apart."""
    found = [
        MirroredHeader(PROTOCOL_VERSION_HEADER, version_of(message)),
        MirroredHeader(METHOD_HEADER, message.method),
    ]
    row = _NAMED_BY.get(message.method) if isinstance(message, Request) else None
    if row is not None:
        assert row.names is not None
        named = decode(member(message.params, row.names) or b"null")
        found.append(MirroredHeader(NAME_HEADER, named, required=row.extension is None))
    return found


def fields_of(message: Message | None, version: str | None) -> Headers:
    """Return the header fields to send with a message, in `version` where it names none itself."""
    values: dict[str, object] = {PROTOCOL_VERSION_HEADER: version}
    if isinstance(message, Request | Notification):
        values |= {
            one.name: one.value for one in mirrored_headers(message) if one.value is not None
        }
    return [(name, encode_field(text)) for name, text in values.items() if isinstance(text, str)]


def is_mirror(name: str) -> bool:
    """Return whether the field of this name, in lower case, repeats a value of the body. The
    version is not one: it is a header of earlier revisions, too.
    """
    return name in _ALWAYS or name.startswith(PARAMETER_PREFIX)


def encode_field(text: str) -> str:
    """Return the text as a field's value: what is not plain ASCII, or looks encoded, in base64."""
    if _PLAIN.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    coded = b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return f"=?base64?{coded}?="


def decode_field(value: str) -> str:
    """Return the value of a field as the body has it; anything but base64 of a text is itself."""
    raw = value.encode("utf-8", "surrogateescape")
    plain = decode_raw_field(raw)
    try:
        return value if plain is raw else plain.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value


def decode_raw_field(value: bytes) -> bytes:
    """Return the bytes of a field as the body has them; anything but base64 is itself."""
    coded = _BASE64.fullmatch(value)
    try:
        return b64decode(coded[1], validate=True) if coded else value
    except binascii.Error:
        return value
