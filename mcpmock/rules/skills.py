"""Rules of skills (SEP-2640): their entries, the digests of their files, who may ask for what."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise

import attrs

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.error_codes import INVALID_PARAMS, METHOD_NOT_FOUND
from mcpmock.protocol.messages import Request, decode
from mcpmock.protocol.skills import (
    DIRECTORY,
    DYNAMIC,
    GET,
    LIST,
    content_of,
    digest_of,
    entries_in,
    files_of,
    settings_in,
)
from mcpmock.redaction.placeholders import holds_placeholder

from .context import CheckedMessage, Object, State, as_object, declared, place, short
from .exchange import MAX_REMEMBERED
from .lifecycle import DISCOVER, INITIALIZE
from .listings import SKILLS_LIST, Listings
from .memory import drop_oldest
from .server_answers import AnswerChecker, ExpectedError, is_refused_by_http
from .skill_entries import SkillEntries
from .specification import SKILLS, Breach, Unjudged

_READ = "resources/read"
METHODS = {LIST, GET, DIRECTORY, _READ, INITIALIZE, DISCOVER}
"""The methods of all messages that these rules look at."""
MAX_FILES, MAX_BYTES = 512, 16_777_216
"""The limits of a skill."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_NAME_CHARS = 64
Steps = tuple[str | int, ...]
_RESULT = "The result requires {}."
_ENTRY = "Skill requires uri, frontmatter, resources."
_FRONTMATTER = (
    "SKILL.md MUST begin with YAML frontmatter containing at minimum the name and description"
    " fields."
)
_RESOURCES = (
    "resources is REQUIRED on every skill entry: an array of SkillResource objects, or the string"
    ' "dynamic".'
)
_FILE = "SkillResource requires uri, digest, size."
_SIZE = "Each entry MUST carry size, the length in bytes of the file's raw content."
_LINE_BREAK = re.compile(r"\r\n?|\n")
"""Those of YAML."""
_SCALAR = re.compile(r"(name|description)[ \t]*:(?:[ \t]+(.*))?")
_NO_PLAIN_TEXT = re.compile(
    r"[|>&*!%@`\[{?,\]}#]|- |(?:true|false|yes|no|on|off|null|~|[-+.\d][\d.eExXobA-Fa-f_:-]*)\Z",
    re.IGNORECASE,
)
"""How a scalar begins that is not read here or that YAML does not take for a text."""
_OTHER_YAML = ('"', "'", "{", "<", "?", "%")
"""How a line begins that may hide a name or a description."""
_NOT_A_SKILL = (
    "If the URI does not identify a skill the server serves, the server MUST return error -32602."
)
_NOT_A_DIRECTORY = (
    "If the URI does not exist or is not a directory resource, the server MUST return error -32602."
)


@attrs.define
class SkillChecker:
    """The skills in one session."""

    _known: OrderedDict[PendingCall, str] = attrs.field(factory=OrderedDict)
    """Requests for the entry of a skill that has one."""

    def check_message(
        self,
        checked: CheckedMessage,
        state: State,
        listings: Listings,
        answers: AnswerChecker,
    ) -> Iterator[Breach | Unjudged]:
        """Yield the breaches in what is asked and said of skills."""
        call = checked.attribution.call
        if call is None or checked.attribution.late:
            return
        entries = state.server.skills if checked.modern else state.skills
        if isinstance(checked.message, Request):
            if checked.from_client:
                yield from self._check_request(checked, state, entries, call)
                error = _expected_of(checked, listings, entries)
                if error is not None:
                    answers.expect(call, error)
        elif not checked.from_client:
            known = self._known.pop(call, None)
            if checked.result is not None:
                yield from _check_result(checked, state, entries, checked.result)
            elif not is_refused_by_http(checked) or checked.code == METHOD_NOT_FOUND:
                yield from _check_refusal(checked, state, known)

    def _check_request(
        self, checked: CheckedMessage, state: State, entries: SkillEntries, call: PendingCall
    ) -> Iterator[Breach]:
        uri = checked.params.get("uri")
        if checked.method == GET and entries.get(uri) is not None:
            self._known[call] = str(uri)
            drop_oldest(self._known, MAX_REMEMBERED)
        elif checked.method == _READ and isinstance(uri, str):
            owner = entries.lacking(uri)
            if owner is not None and SECRET_MARK not in uri:
                text = f"{short(uri)}, which {short(owner)} does not list"
                yield Breach("skill-unlisted", text, place("params", "uri"))
        capabilities = _capabilities(checked, state)
        if capabilities is None:
            return
        settings = settings_in(capabilities)
        if checked.method == DIRECTORY and (settings or {}).get("directoryRead") is not True:
            text = f"{DIRECTORY}, but the server has not declared directoryRead"
            yield Breach("directory-undeclared", text)
        elif checked.method in (LIST, GET) and settings is None:
            text = f"{checked.method}, but the server has not declared skills"
            yield Breach("skills-undeclared", text)


def _capabilities(checked: CheckedMessage, state: State) -> Object | None:
    return state.server.capabilities if checked.modern else state.server_capabilities


def _expected_of(
    checked: CheckedMessage, listings: Listings, entries: SkillEntries
) -> ExpectedError | None:
    """Return the error that a request should get, if it is recognisably wrong."""
    uri = checked.params.get("uri")
    if not isinstance(uri, str) or SECRET_MARK in uri or checked.method not in (GET, DIRECTORY):
        return None
    if checked.method == GET:
        wrong = not uri.endswith("/SKILL.md")
        wrong |= listings.lacks(SKILLS_LIST, uri) and entries.get(uri) is None
        said, what = _NOT_A_SKILL, f"{short(uri)}, which is no skill"
    else:
        unlisted = listings.whole(SKILLS_LIST) is not None and not entries.is_directory(uri)
        wrong = unlisted or entries.file(uri) is not None
        said, what = _NOT_A_DIRECTORY, f"{short(uri)}, which is no directory"
    if not wrong:
        return None
    return ExpectedError(
        "not-found-code", INVALID_PARAMS, what, said, SKILLS, unless=METHOD_NOT_FOUND
    )


def _check_refusal(checked: CheckedMessage, state: State, known: str | None) -> Iterator[Breach]:
    capabilities = _capabilities(checked, state)
    settings = None if capabilities is None else settings_in(capabilities)
    missing = checked.code == METHOD_NOT_FOUND and settings is not None
    if checked.method == DIRECTORY:
        missing = missing and (settings or {}).get("directoryRead") is True
    if missing and checked.method in (LIST, GET, DIRECTORY):
        text = f"{checked.method} was answered with {METHOD_NOT_FOUND}, though it is declared"
        yield Breach("skills-missing", text)
    elif known is not None and checked.code != METHOD_NOT_FOUND:
        text = f"{short(known)}, which was listed, was refused with {short(checked.code)}"
        yield Breach("skill-listed-refused", text)


def _check_result(
    checked: CheckedMessage, state: State, entries: SkillEntries, result: Object
) -> Iterator[Breach | Unjudged]:
    method = checked.method or ""
    if method in (INITIALIZE, DISCOVER):
        capabilities = as_object(result.get("capabilities"))
        if settings_in(capabilities) is not None and not declared(capabilities, "resources"):
            text = "skills are declared, and no resources"
            yield Breach("skills-resources", text, place("result", "capabilities"))
    elif method == _READ:
        contents = result.get("contents")
        for index, one in enumerate(contents if isinstance(contents, list) else ()):
            yield from _check_file(as_object(one), index, entries, state)
    elif method == DIRECTORY:
        yield from _check_children(checked.call_params.get("uri"), result)
    else:
        member, kind = ("skill", dict) if method == GET else ("skills", list)
        if not isinstance(result.get(member), kind):
            yield _misfit(method, result, ("result", member), _RESULT.format(member))
        for steps, entry in entries_in(method, result):
            uri = entry.get("uri")
            yield from _check_form(method, entry, ("result", *steps))
            if isinstance(uri, str):
                entries.add(uri, entry)
                yield from _check_entry(uri, entry, ("result", *steps))


def _check_form(method: str, entry: Object, steps: Steps) -> Iterator[Breach]:
    """Check the members and types of an entry."""
    front = entry.get("frontmatter")
    if not isinstance(entry.get("uri"), str):
        yield _misfit(method, entry, (*steps, "uri"), _ENTRY)
    if not isinstance(front, dict):
        yield _misfit(method, entry, (*steps, "frontmatter"), _ENTRY)
    else:
        for name in ("name", "description"):
            if not isinstance(front.get(name), str):
                yield _misfit(method, front, (*steps, "frontmatter", name), _FRONTMATTER)
    files = entry.get("resources")
    if not isinstance(files, list):
        if files != DYNAMIC:
            yield _misfit(method, entry, (*steps, "resources"), _RESOURCES)
        return
    for index, one in enumerate(files):
        file, inside = as_object(one), (*steps, "resources", index)
        for name in ("uri", "digest"):
            if not isinstance(file.get(name), str):
                yield _misfit(method, file, (*inside, name), _FILE)
        size = file.get("size")
        whole = isinstance(size, int | float) and not isinstance(size, bool) and size % 1 == 0
        if not whole and not (isinstance(size, str) and SECRET_MARK in size):
            yield _misfit(method, file, (*inside, "size"), _SIZE)


def _misfit(method: str, inside: Object, steps: Steps, sentence: str) -> Breach:
    """Return what is wrong with the last of the steps, a member of `inside`."""
    name, path = str(steps[-1]), place(*steps)
    problem = f"not {short(inside[name])}" if name in inside else "missing"
    return Breach("shape", f"{method} result, {path}: {problem}", path, sentence, SKILLS)


def _check_entry(uri: str, entry: Object, steps: Steps) -> Iterator[Breach]:
    name = as_object(entry.get("frontmatter")).get("name")
    *_, folder, file = ["", "", *uri.split("/")]
    if isinstance(name, str) and SECRET_MARK not in name + uri:
        path = place(*steps, "frontmatter", "name")
        if file != "SKILL.md" or folder != name:
            yield Breach("skill-name", f"{short(uri)} is not {short(name)}/SKILL.md", path)
        elif not _NAME.fullmatch(name) or len(name) > _MAX_NAME_CHARS:
            yield Breach("skill-name", f"a skill named {short(name)}", path)
    if not isinstance(entry.get("resources"), list):
        return
    files = files_of(entry)
    yield from _check_manifest(uri, files, (*steps, "resources"))
    sizes = [one.get("size") for one in files]
    size = sum(one for one in sizes if isinstance(one, int) and not isinstance(one, bool))
    if len(files) > MAX_FILES or size > MAX_BYTES:
        text = f"{short(uri)} has {len(files)} files and {size} bytes"
        yield Breach("skill-limits", text, place(*steps, "resources"))


def _check_manifest(uri: str, files: list[Object], steps: Steps) -> Iterator[Breach]:
    seen: set[object] = set()
    inside = uri.removesuffix("SKILL.md")
    for index, one in enumerate(files):
        file, digest = one.get("uri"), one.get("digest")
        path = (*steps, index)
        if isinstance(file, str):
            if file in seen:
                yield Breach("skill-manifest", f"{short(file)} twice", place(*path, "uri"))
            elif not file.startswith(inside) or "/../" in file or file == inside:
                text = f"{short(file)} is not in the folder of {short(uri)}"
                yield Breach("skill-manifest", text, place(*path, "uri"))
            seen.add(file)
        if isinstance(digest, str) and not _DIGEST.fullmatch(digest) and SECRET_MARK not in digest:
            yield Breach("skill-manifest", f"the digest {short(digest)}", place(*path, "digest"))
    if uri not in seen:
        yield Breach("skill-manifest", f"{short(uri)} does not list itself", place(*steps))


def _check_file(
    contents: Object, index: int, entries: SkillEntries, state: State
) -> Iterator[Breach | Unjudged]:
    """Check a file that was read against the entry that lists it."""
    uri, content = contents.get("uri"), content_of(contents)
    listed, skill = entries.file(uri), entries.get(uri)
    if content is None or (listed is None and skill is None):
        return
    if holds_placeholder(content):
        if state.once(f"redacted {uri}"):
            yield Unjudged(f"the digest of {short(uri)}", "it was redacted")
        return
    path = place("result", "contents", index)
    if listed is not None:
        digest, size = listed
        if digest != digest_of(content) or size != len(content):
            text = f"{short(uri)} has {len(content)} bytes with {digest_of(content)[:19]}..,"
            text += f" listed are {short(size)} with {short(digest)[:19]}.."
            yield Breach("skill-digest", text, path)
    if skill is not None:
        read = read_frontmatter(content.decode("utf-8", "replace"))
        told = [
            f"the {name} is {'missing' if read[name] is None else short(read[name])},"
            f" in the entry {short(said)}"
            for name, said in (("name", skill.name), ("description", skill.description))
            if isinstance(said, str) and SECRET_MARK not in said and read.get(name, said) != said
        ]
        if told:
            yield Breach("skill-frontmatter", f"{short(uri)}: {'; '.join(told)}", path)


def read_frontmatter(text: str) -> dict[str, str | None]:
    """Return name and description of a SKILL.md, as far as they are plain or quoted scalars on one
    line; None for one that is not there.
    """
    lines = _LINE_BREAK.split(text.removeprefix("\ufeff"))
    if not lines or lines[0].rstrip() != "---":
        return {"name": None, "description": None}
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() in ("---", "...")), 0)
    found: dict[str, str | None] = {"name": None, "description": None}
    for line, following in pairwise(lines[1 : end + 1]):
        match = _SCALAR.fullmatch(line.rstrip(" \t"))
        if line[:1] in _OTHER_YAML:
            return {}
        if match is None:
            continue
        value = None if following[:1] in (" ", "\t") else _scalar(match[2] or "")
        if value is None:
            found.pop(match[1], None)
        else:
            found[match[1]] = value
    return found


def _scalar(text: str) -> str | None:
    """Return the value of a scalar of YAML; None if it is not a plain or quoted one."""
    text = text.strip(" \t")
    if text[:1] == "'":
        whole = re.fullmatch(r"'((?:[^']|'')*)'(?:\s+#.*)?", text)
        return None if whole is None else whole[1].replace("''", "'")
    if text[:1] == '"':
        whole = re.fullmatch(r'("(?:[^"\\]|\\.)*")(?:\s+#.*)?', text)
        value = None if whole is None else decode(whole[1].encode())
        return value if isinstance(value, str) else None
    plain = re.split(r"[ \t]+#", text, maxsplit=1)[0]
    if not plain or _NO_PLAIN_TEXT.match(plain) or ": " in plain:
        return None
    return plain


def _check_children(uri: object, result: Object) -> Iterator[Breach]:
    if not isinstance(uri, str) or SECRET_MARK in uri:
        return
    inside = f"{uri.rstrip('/')}/"
    children = result.get("resources")
    for index, one in enumerate(children if isinstance(children, list) else ()):
        child = as_object(one).get("uri")
        if not isinstance(child, str) or SECRET_MARK in child:
            continue
        step = child.removeprefix(inside).rstrip("/")
        if not child.startswith(inside) or not step or "/" in step:
            text = f"{short(child)} is no direct child of {short(uri)}"
            yield Breach("directory-children", text, place("result", "resources", index, "uri"))
