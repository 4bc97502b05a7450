"""Puts a recorder in the place of a remote server: the client starts `mcpmock proxy` as a server
over stdio, which speaks to the URL and records; and takes it out again.

Headers become variables of the entry, and the proxy gets their names: other users of a machine
can read command lines. What a client substitutes in headers it substitutes in variables too. The
other members stay, and so do the comments: a member becomes another one in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import attrs

from mcpmock.errors import McpMockError
from mcpmock.protocol.raw_json import Span
from mcpmock.redaction.redactor import Redactor
from mcpmock.redaction.secret_names import kind_of_name
from mcpmock.transports.headers import Upstream

from .clients import Keys
from .document import ConfigError, Document
from .edit import Pieces, Splice, WrapChange, parse_config, piece, quote, servers_of, splice, verify
from .entry import RecorderWords, ServerEntry
from .toml import TomlDocument

URL_VARIABLE = "MCPMOCK_URL"
_VARIABLE = "MCPMOCK_HEADER_"
_SSE, _STREAMABLE = "sse", "streamable-http"
_TRANSPORTS = {"sse": _SSE, "http": _STREAMABLE, "streamablehttp": _STREAMABLE}
"""By the words for them: in small letters, without what is between the letters."""
_TYPE_NAMES = ("type", "transport", "transportType")
"""The members that name the transport: that of most clients, that of frameworks, an old one."""
_WHOLE_COMMAND = "remote"
"""The type of a remote server where local ones have program and arguments in one array."""
_TYPES = {_WHOLE_COMMAND: "local"}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_WORD = re.compile(r"""["']([\w-]+)["']""")
_SUBSTITUTED = re.compile(r"[{$%]")
_NO_EQUAL = ("headersHelper", "oauth_resource", "bearer_token", "auth", "authProviderType")
"""What no server over stdio has, and some clients refuse in one, or give credentials by."""


class CannotRecord(McpMockError):
    """No recorder can be put in front of a server."""


@attrs.frozen
class _StdioEntry:
    """What the members of an entry become."""

    words: list[str]
    names: dict[str, str]
    """New names of members, by the old ones."""
    variables: dict[str, str]
    """Of the headers with a value in the entry, by name."""
    passed: list[str]
    """Variables of the client that the proxy needs."""
    kinds: dict[str, str]
    """The new values of the members that name the transport."""
    secret_url: bool
    whole_command: bool

    def entry(self, old: dict[str, Any], url: str) -> dict[str, Any]:
        """Return the entry as it must be in the end."""
        new = {name: value for name, value in old.items() if name not in self.names}
        headers = {new: name for name, new in self.names.items()}.get(self.environment)
        values = {self.variables[name]: value for name, value in old.get(headers or "", {}).items()}
        if self.secret_url:
            values = {URL_VARIABLE: url, **values}
        if headers or values:
            new[self.environment] = values
        if self.passed:
            new["env_vars"] = self.passed
        new |= self.kinds
        if self.whole_command:
            return {**new, "command": self.words}
        return {**new, "command": self.words[0], "args": self.words[1:]}

    @property
    def environment(self) -> str:
        return "environment" if self.whole_command else "env"


def needs_login(entry: ServerEntry) -> bool:
    """Return whether a remote server may ask for a login: its entry has no other credentials."""
    headers = {name for key in ("headers", "http_headers") for name in entry.value.get(key) or {}}
    headers |= {*(entry.value.get("env_http_headers") or {})}
    if "bearer_token_env_var" in entry.value or any(map(kind_of_name, headers)):
        return False
    return not _is_secret(entry.url)


def is_on_this_machine(entry: ServerEntry) -> bool:
    """Return whether a URL is one of this machine: few of its servers ask for a login."""
    try:
        return urlsplit(entry.url).hostname in _LOOPBACK
    except ValueError:
        return False


def wrap_remote(
    document: Document,
    keys: Keys,
    name: str,
    recorder: RecorderWords,
    *,
    login: bool,
    plain_url: str | None = None,
) -> WrapChange:
    """Return the document with a recorder, or a replay, in the place of a remote server. It sends
    the login of `mcpmock login` if `login`. `plain_url` is the transport that a `url`
    without a type stands for, if the client tells. Raises CannotRecord, ConfigError.
    """
    path = (*keys, name)
    document.refuse_duplicates(path)
    entry = ServerEntry(name, document.at(path))
    stdio = _stdio_entry(document, entry, recorder.before_url, plain_url, login=login)
    splices = list(_splices(document, path, entry, stdio))
    new = parse_config(document.file, splice(document.text, splices))
    text = new.text
    start = min(span.start for span, _ in splices)
    ends = len(document.text) - max(span.end for span, _ in splices)
    verify(document, new, path, stdio.entry(entry.value, entry.url))
    stretch = (document.text[start : len(document.text) - ends], text[start : len(text) - ends])
    return WrapChange(new, Pieces(stretch=stretch))


def unwrap_remote(
    document: Document, keys: Keys, name: str, pieces: Pieces | None, url_name: str = "url"
) -> Document:
    """Return the document with the remote server as it was. If what stands there was changed, it is
    what the words of the recorder say, with the URL in a member of this name. Raises ConfigError.
    """
    path = (*keys, name)
    document.refuse_duplicates(path)
    old, new = pieces.stretch if pieces else ("", "")
    if new and document.text.count(new) == 1:
        try:
            restored = parse_config(document.file, document.text.replace(new, old))
            entry = servers_of(restored, keys).get(name)
            if entry is not None and entry.transport == "remote":
                verify(document, restored, path, entry.value)
                return restored
        except ConfigError:
            pass  # the text stands somewhere else now
    value = _rebuilt(document, ServerEntry(name, document.at(path)), url_name, old)
    rebuilt = parse_config(document.file, document.with_object(path, value))
    verify(document, rebuilt, path, value)
    return rebuilt


def _stdio_entry(
    document: Document,
    entry: ServerEntry,
    recorder: Sequence[str],
    plain: str | None,
    *,
    login: bool,
) -> _StdioEntry:
    """Plan how a remote entry becomes one of stdio. Raises CannotRecord."""
    value, place = entry.value, f"{entry.name} in {document.file}"
    kinds = {name: str(value[name]) for name in _TYPE_NAMES if value.get(name) is not None}
    whole = kinds.get("type") == _WHOLE_COMMAND
    if not _SUBSTITUTED.search(entry.url):
        try:
            Upstream.parse(entry.url)
        except McpMockError as error:
            raise CannotRecord(f"{place}: {error}") from error
    # Gemini and Qwen look for a URL before they look for a command.
    if len(entry.url_names) > 1:
        both = " and ".join(f"`{name}`" for name in entry.url_names)
        raise CannotRecord(f"{place} has {both}; clients differ in which they use: keep one")
    in_the_way = ["command", "args", "env", "environment", "env_vars", *_NO_EQUAL]
    # codex 0.169 reads no file with `oauth` in a server over stdio: "oauth is not supported".
    in_the_way += ["oauth"] if whole or isinstance(document, TomlDocument) else []
    if found := [member for member in in_the_way if member in value]:
        raise CannotRecord(f"{place} has `{found[0]}`, which no recorder can take over")
    headers = _strings(place, value, "headers") or _strings(place, value, "http_headers")
    names = {entry.url_name: "command"}
    names |= {key: "env" for key in ("headers", "http_headers") if value.get(key)}
    if whole and "headers" in names:
        names["headers"] = "environment"
    bearer, listed = value.get("bearer_token_env_var"), _strings(place, value, "env_http_headers")
    names |= {
        key: "env_vars" for key in ("bearer_token_env_var", "env_http_headers") if key in value
    }
    if len({*names.values()}) < len(names):
        raise CannotRecord(f"{place} has headers of two kinds; put them in one member")
    variables = {name: _variable(name) for name in headers}
    if len({*variables.values()}) < len(variables):
        raise CannotRecord(f"{place} has two headers with almost the same name")
    told = [f"{name}: {variable}" for name, variable in variables.items()]
    told += [f"{name}: {variable}" for name, variable in listed.items()]
    passed = [*listed.values()]
    if isinstance(bearer, str):
        told.append(f"Authorization: Bearer {bearer}")
        passed.append(bearer)
    transport = next(filter(None, map(_transport_of, kinds.values())), None)
    if entry.url_name == "httpUrl":
        transport = _STREAMABLE
    elif entry.url_name == "url" and not kinds:
        transport = plain
    secret = _is_secret(entry.url)
    words = [*recorder]
    words += ["--url-env", URL_VARIABLE] if secret else ["--url", entry.url]
    words += ["--url-transport", transport] if transport else []
    words += ["--oauth"] if login else []
    words += [word for header in told for word in ("--header-env", header)]
    new_kinds = {name: _TYPES.get(kind, "stdio") for name, kind in kinds.items()}
    return _StdioEntry(words, names, variables, passed, new_kinds, secret, whole)


def _splices(
    document: Document, path: Keys, entry: ServerEntry, stdio: _StdioEntry
) -> Iterator[Splice]:
    url = document.span((*path, entry.url_name))
    listed = f"[{', '.join(map(quote, stdio.words if stdio.whole_command else stdio.words[1:]))}]"
    yield document.name_span((*path, entry.url_name)), document.spelled("command")
    headers = next((old for old, new in stdio.names.items() if new == stdio.environment), None)
    if stdio.whole_command:
        command = listed
    else:
        command = quote(stdio.words[0]) + document.added(url, "args", listed)
    if stdio.secret_url:
        text = piece(document, url)
        if stdio.variables:
            first = document.span((*path, headers or "", next(iter(stdio.variables))))
            yield Span(first.end, first.end), document.added(first, URL_VARIABLE, text)
        else:
            text = document.spelled(URL_VARIABLE, text)
            command += document.added(url, stdio.environment, f"{{ {text} }}")
    yield url, command
    for name, kind in stdio.kinds.items():
        yield document.span((*path, name)), quote(kind)
    if headers is not None:
        yield document.name_span((*path, headers)), document.spelled(stdio.environment)
        for name, variable in stdio.variables.items():
            yield document.name_span((*path, headers, name)), document.spelled(variable)
    for member in (old for old, new in stdio.names.items() if new == "env_vars"):
        yield document.name_span((*path, member)), "env_vars"
        yield document.span((*path, member)), f"[{', '.join(map(quote, stdio.passed))}]"


def _rebuilt(document: Document, entry: ServerEntry, url_name: str, old: str) -> dict[str, Any]:
    """Spell the transport as the `old` text does: Cline and Roo read one spelling each."""
    told: dict[str, list[str]] = {}
    words = iter(entry.words)
    for word in words:
        if word in ("--url", "--url-env", "--url-transport", "--header-env"):
            told.setdefault(word, []).append(next(words, ""))
    whole = isinstance(entry.value.get("command"), list)
    environment = "environment" if whole else "env"
    values = dict(entry.value.get(environment) or {})
    url = values.pop(URL_VARIABLE, "") if "--url-env" in told else told.get("--url", [""])[0]
    if not url:
        raise ConfigError(document.file, f"the command of {entry.name} contains no URL")
    transport = told.get("--url-transport", [""])[0]
    kinds = [name for name in _TYPE_NAMES if entry.value.get(name) is not None]
    if transport == _SSE:
        url_name = "url"
    elif transport and not kinds:
        url_name = "httpUrl"
    new: dict[str, Any] = {url_name: url}
    headers: dict[str, str] = {}
    listed: dict[str, str] = {}
    for header in told.get("--header-env", ()):
        name, _, source = header.partition(": ")
        word, _, variable = source.rpartition(" ")
        if variable in values:
            headers[name] = values.pop(variable)
        elif word:
            new["bearer_token_env_var"] = variable
        else:
            listed[name] = variable
    toml = str(document.file).endswith(".toml")
    new |= {"http_headers" if toml else "headers": headers} if headers else {}
    new |= {"env_http_headers": listed} if listed else {}
    new |= {environment: values} if values else {}
    spelled = (
        word for word in _WORD.findall(old) if transport and _transport_of(word) == transport
    )
    kind = _WHOLE_COMMAND if whole else next(spelled, "sse" if transport == _SSE else "http")
    new |= dict.fromkeys(kinds, kind)
    dropped = {"command", "args", "env_vars", environment, *kinds}
    return {**new, **{key: one for key, one in entry.value.items() if key not in dropped}}


def _strings(place: str, value: dict[str, Any], key: str) -> dict[str, str]:
    """Raise CannotRecord if a member is no object of texts."""
    found = value.get(key, {})
    if isinstance(found, dict) and all(isinstance(text, str) for text in found.values()):
        return found
    raise CannotRecord(f"{place} has `{key}` in a form that no recorder can take over")


def _transport_of(word: str) -> str | None:
    return _TRANSPORTS.get(re.sub(r"[\W_]", "", word).lower())


def _variable(header: str) -> str:
    return _VARIABLE + re.sub(r"\W", "_", header, flags=re.ASCII).upper()


def _is_secret(url: str) -> bool:
    clean = url.encode("utf-8", "replace").decode()
    return Redactor().url(clean) != clean
