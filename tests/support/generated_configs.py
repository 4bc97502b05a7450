"""Configuration files as no person would write them: comments, line ends, escapes and commas
wherever the format lets them stand, and every form of an entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import attrs

from mcpmock.client_config.edit import parse_config, servers_of, unwrap, wrap
from mcpmock.client_config.entry import RecorderWords
from mcpmock.client_config.remote import unwrap_remote, wrap_remote

SERVER, REMOTE = "wéather", "rémote"
WORDS = RecorderWords(["/opt/mcpmock"], "/data/weather/").before_command
_COMMENTS = (" // it's {\"", " /* , ] */", "/**/")
_WORDS = ("-y", "", "a b", "it's", 'say "x"', "C:\\x\\y", "${HOME}", "--", "漢字", "\t", "#", "//")
_URLS = ("https://a.example/mcp", "http://localhost:1/sse?api_key=sesame-open", "https://${HOST}/")
_HEADERS = {"Authorization": "Bearer ${input:a b}", "X-Org": 'it\'s "x"', "é": "", "api-key": "漢"}
_SCALARS = (0, -1.5e3, True, None, "x", "é", "{")
_TOML_SCALARS = ("0", "true", '"x"', "'{'", "[1, 2]", "1979-05-27T07:32:00Z", "{ a = 1 }")


@attrs.frozen
class GeneratedConfig:
    """A file, where its servers are, and the command line of `SERVER`. It has `REMOTE` too."""

    file: str
    text: str
    keys: tuple[str, ...]
    words: list[str]


def broken_promises(config: GeneratedConfig) -> Iterator[str]:
    """What `wrap` and `unwrap` promise of every file, and break of this one."""
    old = parse_config(config.file, config.text)
    change = wrap(old, config.keys, SERVER, WORDS)
    new = change.document
    entries = servers_of(new, config.keys)
    rebuilt = unwrap(new, config.keys, SERVER, None)

    if entries[SERVER].words != [*WORDS, *config.words]:
        yield "the recorder stands before the command"
    if {**entries, SERVER: 0} != {**servers_of(old, config.keys), SERVER: 0}:
        yield "the other servers stay"
    if unwrap(new, config.keys, SERVER, change.pieces).text != config.text:
        yield "unwrap gives the file back, byte for byte"
    if servers_of(rebuilt, config.keys)[SERVER].words != config.words:
        yield "without what was stored, unwrap gives the command back"
    if config.file.endswith(".json"):  # in TOML, an entry is no stretch of the text
        start, end = old.span((*config.keys, SERVER))
        behind = config.text[end:]
        if not (new.text.startswith(config.text[:start]) and new.text.endswith(behind)):
            yield "outside the entry, every byte stays"
    yield from _broken_of_remote(config)


def _broken_of_remote(config: GeneratedConfig) -> Iterator[str]:
    old = parse_config(config.file, config.text)
    change = wrap_remote(old, config.keys, REMOTE, RecorderWords(WORDS[:1], "/data/x/"), login=True)
    new = change.document
    before, after = (servers_of(one, config.keys) for one in (old, new))
    restored = unwrap_remote(new, config.keys, REMOTE, None, before[REMOTE].url_name)
    rebuilt = servers_of(restored, config.keys)
    value = before[REMOTE].value
    headers = value.get("headers") or value.get("http_headers") or {}

    if after[REMOTE].recorder is None or after[REMOTE].words[0] != WORDS[0]:
        yield "the recorder stands in the place of the URL"
    if any(text and text in word for text in headers.values() for word in after[REMOTE].words):
        yield "no value of a header is in the command line"
    if {**after, REMOTE: 0} != {**before, REMOTE: 0}:
        yield "the other servers stay"
    if unwrap_remote(new, config.keys, REMOTE, change.pieces).text != config.text:
        yield "unwrap gives the file of a remote server back, byte for byte"
    if rebuilt != before:
        yield "without what was stored, unwrap gives the remote server back"


def generate_config(random: Random) -> GeneratedConfig:
    """A file of either format."""
    return (_toml if random.random() < 0.3 else _json)(random)


def _json(random: Random) -> GeneratedConfig:
    writer = _JsonWriter(random, random.choice(("\n", "\r\n")))
    keys = random.choice((("mcpServers",), ("servers",), ("projects", "/a b", "mcpServers"), ()))
    words = [random.choice(("npx", "a b")), *random.choices(_WORDS, k=random.randrange(4))]
    entry: list[tuple[str, str]] = [(f"k{i}", writer.any()) for i in range(random.randrange(3))]
    form = random.choice(("args", "args", "list", "object") if words[1:] else ("args", "none"))
    if form == "list":
        own = [("command", writer.array([writer.scalar(word) for word in words]))]
    else:
        arguments = writer.array([writer.scalar(word) for word in words[1:]])
        own = [("path" if form == "object" else "command", writer.scalar(words[0]))]
        own += [] if form == "none" else [("args", arguments)]
    if form == "object":
        own = [("command", writer.object(own))]
    entry += own
    random.shuffle(entry)
    servers = [(SERVER, writer.object(entry)), ("other", writer.object(own)), ("odd", "0")]
    servers.append((REMOTE, writer.object(_remote(writer))))
    random.shuffle(servers)
    text = writer.object(servers)
    for key in reversed(keys):
        members = [(key, text), ("more", writer.any())]
        random.shuffle(members)
        text = writer.object(members)
    mark = "\ufeff" if random.random() < 0.2 else ""
    return GeneratedConfig("c.json", mark + writer.blank() + text + writer.blank(), keys, words)


def _remote(writer: _JsonWriter) -> list[tuple[str, str]]:
    """The members of a remote server."""
    random = writer.random
    kind = random.choice((None, None, "http", "sse", "remote"))
    name = "url" if kind == "sse" else random.choice(("url", "serverUrl"))
    members = [(name, writer.scalar(random.choice(_URLS)))]
    headers = random.sample([*_HEADERS.items()], random.randrange(5))
    if headers:
        listed = [(header, writer.scalar(value)) for header, value in headers]
        members.append(("headers", writer.object(listed)))
    members += [("type", writer.scalar(kind))] if kind else []
    members += [(f"k{i}", writer.any()) for i in range(random.randrange(3))]
    random.shuffle(members)
    return members


@attrs.frozen
class _JsonWriter:
    random: Random
    line_end: str

    def blank(self) -> str:
        ends = ("", "", " ", "\t", self.line_end, f"{self.line_end}  ")
        comment = self.random.choice(_COMMENTS) if self.random.random() < 0.1 else ""
        return comment + (self.line_end if "//" in comment else self.random.choice(ends))

    def scalar(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=self.random.random() < 0.5)

    def any(self) -> str:
        texts = [self.scalar(self.random.choice(_SCALARS)) for _ in range(self.random.randrange(4))]
        return self.object([(f"m{i}", text) for i, text in enumerate(texts)])

    def array(self, texts: list[str]) -> str:
        return self._joined("[", texts, "]")

    def object(self, members: list[tuple[str, str]]) -> str:
        blank = self.blank
        texts = [f"{self.scalar(name)}{blank()}:{blank()}{text}" for name, text in members]
        return self._joined("{", texts, "}")

    def _joined(self, start: str, texts: list[str], end: str) -> str:
        inside = ",".join(f"{self.blank()}{text}{self.blank()}" for text in texts)
        comma = "," if texts and self.random.random() < 0.2 else ""
        return f"{start}{inside}{comma}{self.blank()}{end}"


def _toml(random: Random) -> GeneratedConfig:
    end = random.choice(("\n", "\r\n"))
    words = [random.choice(("npx", "a b")), *random.choices(_WORDS, k=random.randrange(4))]
    command = f"command = {_toml_string(random, words[0])}"
    arguments = "args = " + _toml_array(random, words[1:], end)
    own = [command, *([arguments] if words[1:] or random.random() < 0.5 else [])]
    more = [f"k{i} = {random.choice(_TOML_SCALARS)}" for i in range(random.randrange(3))]
    form = random.choice(("table", "table", "dotted", "inline", "apart"))
    name = f'"{SERVER}"'
    if form == "inline":
        own[1:] = ["args = " + _toml_array(random, words[1:], "") for _ in own[1:]]
        lines = ["[mcp_servers]", f"{name} = {{ {', '.join(own + more)} }}"]
    elif form == "dotted":
        lines = [f"mcp_servers.{name}.{line}" for line in own + more]
    else:
        random.shuffle(more)
        lines = [f"[mcp_servers.{name}]", *own, *more]
        if form == "apart":
            lines += ["[other]", "a = 1", f"[mcp_servers.{name}.env]", 'A = "1"']
    lines += _toml_remote(random)
    comments = ("", "", " # it's \"[", "  ")
    lines = [line + random.choice(comments) for line in lines]
    head = ["# top", "model = 'x'"][: random.randrange(3)]
    text = end.join([*head, *lines, "", "[last]", "b = 2"]) + random.choice(("", end))
    return GeneratedConfig("c.toml", text, ("mcp_servers",), words)


def _toml_remote(random: Random) -> list[str]:
    url = f"url = {_toml_string(random, random.choice(_URLS))}"
    bearer = ['bearer_token_env_var = "TOKEN"'] if random.random() < 0.3 else []
    more = [f"k{i} = {random.choice(_TOML_SCALARS)}" for i in range(random.randrange(3))]
    chosen = random.sample([*_HEADERS.items()], random.randrange(4))
    headers = [f"{json.dumps(name)} = {_toml_string(random, value)}" for name, value in chosen]
    own = [url, *bearer, *more]
    random.shuffle(own)
    if headers and random.random() < 0.5:
        return [
            f'[mcp_servers."{REMOTE}"]',
            *own,
            f'[mcp_servers."{REMOTE}".http_headers]',
            *headers,
        ]
    own += [f"http_headers = {{ {', '.join(headers)} }}"] if headers else []
    return [f'[mcp_servers."{REMOTE}"]', *own]


def _toml_string(random: Random, word: str) -> str:
    plain = "'" not in word and word.isprintable()
    spelled = [json.dumps(word, ensure_ascii=False)] + ([f"'{word}'", f"'''{word}'''"] * plain)
    return random.choice(spelled)


def _toml_array(random: Random, words: list[str], end: str) -> str:
    texts = [_toml_string(random, word) for word in words]
    if end and random.random() < 0.4:
        comment = random.choice(("", " # ] it's"))
        return f"[{comment}{end}" + "".join(f"  {text},{comment}{end}" for text in texts) + "]"
    return "[" + random.choice((", ", ",", " , ")).join(texts) + "]"
