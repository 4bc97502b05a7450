"""Skills: entries and files are paired by URI, and each cause is one change."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.skills import digest_of
from mcpmock.semantic_diff.catalog_changes import catalog_changes, skill_changes
from mcpmock.semantic_diff.compare import compare
from tests.semantic_diff.test_catalog_changes import measure, shown
from tests.support import c, cassette, request, response, s

SKILL, NOTES = "skill://refunds/SKILL.md", "skill://refunds/notes.md"
AT = f"$.skills[?@.uri=='{SKILL}']"


def file(uri: str = SKILL, content: bytes = b"a", **more: Any) -> dict[str, Any]:
    return {"uri": uri, "digest": digest_of(content), "size": len(content), **more}


def entry(*files: Any, **more: Any) -> dict[str, Any]:
    front = {"name": "refunds", "description": "How"}
    return {"uri": SKILL, "frontmatter": front, "resources": [*files] or [file()], **more}


OTHER = entry(uri="skill://other/SKILL.md")
ROWS: list[tuple[Any, Any, list[str]]] = [
    ([entry()], [entry()], []),
    ([entry(), OTHER], [entry()], ["skill-removed $.skills[?@.uri=='skill://other/SKILL.md']"]),
    ([entry()], [OTHER, entry()], ["skill-added $.skills[?@.uri=='skill://other/SKILL.md']"]),
    ([entry(), OTHER], [OTHER, entry()], ["list-reordered $.skills"]),
    (
        [entry(file(), file(NOTES))],
        [entry()],
        [f"skill-file-removed {AT}.resources[?@.uri=='{NOTES}']"],
    ),
    (
        [entry()],
        [entry(file(), file(NOTES))],
        [f"skill-file-added {AT}.resources[?@.uri=='{NOTES}']"],
    ),
    (
        [entry()],
        [entry(file(content=b"bb"))],
        [f"skill-content-changed {AT}.resources[?@.uri=='{SKILL}'].digest"],
    ),
    (
        [entry()],
        [entry(file(size=7))],
        [f"skill-content-changed {AT}.resources[?@.uri=='{SKILL}'].size"],
    ),
    (
        [entry(file(), file(NOTES))],
        [entry(file(NOTES), file())],
        [f"list-reordered {AT}.resources"],
    ),
    ([entry()], [entry(resources="dynamic")], [f"skill-dynamic {AT}.resources"]),
    ([entry(resources="dynamic")], [entry()], [f"metadata-changed {AT}.resources"]),
    (
        [entry()],
        [entry(frontmatter={"name": "refunds", "description": "So", "license": "MIT"})],
        [f"skill-frontmatter-changed {AT}.frontmatter"],
    ),
    ([entry(1)], [entry(2)], [f"metadata-changed {AT}.resources[0]"]),
    ([entry({})], [entry(2)], [f"metadata-changed {AT}.resources[0]"]),
    ([entry(1)], [entry({})], [f"metadata-changed {AT}.resources[0]"]),
    ([1], [2], ["metadata-changed $.skills[0]"]),
    ([{}], [2], ["metadata-changed $.skills[0]"]),
    ([1], [{}], ["metadata-changed $.skills[0]"]),
    ([entry()], [entry(_meta={"a": 1})], [f"metadata-changed {AT}._meta"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), ROWS)
def test_a_list_of_skills(old: list[Any], new: list[Any], expected: list[str]) -> None:
    """One change for each cause."""
    found = catalog_changes("skills/list", {"skills": old}, {"skills": new}, (), measure())

    assert expected == shown([*found])


def test_one_skill() -> None:
    """The answer to `skills/get` is compared like an entry of a list."""
    old, new = {"skill": entry()}, {"skill": entry(file(content=b"bb")), "ttlMs": 1}
    found = shown([*skill_changes(old, new, (), measure())])

    assert [
        f"skill-content-changed $.skill.resources[?@.uri=='{SKILL}'].digest",
        "metadata-changed $.ttlMs",
    ] == found


@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, {}), ({}, 2)])
def test_a_skill_of_a_wrong_form(old: Any, new: Any) -> None:
    """It is one change."""
    found = shown([*skill_changes({"skill": old}, {"skill": new}, (), measure())])

    assert ["metadata-changed $.skill"] == found


def test_verdicts() -> None:
    """What a host has approved is gone or not as it was."""

    def recorded(*entries: Any) -> Any:
        return cassette(c(request(1, "skills/list")), s(response(1, {"skills": [*entries]})))

    found = compare(recorded(entry(), OTHER), recorded(entry(resources="dynamic")))
    verdicts = {one.rule.name: one.verdict.word for one in found.differences}
    assert {"skill-removed": "breaking", "skill-dynamic": "breaking"} == verdicts
    found = compare(recorded(entry()), recorded(OTHER, entry(file(content=b"b"))))
    verdicts = {one.rule.name: one.verdict.word for one in found.differences}
    assert {"skill-added": "compatible", "skill-content-changed": "risky"} == verdicts


def test_a_digest_that_redaction_changed_is_none() -> None:
    """A recording of a replay has the digests of the redacted content."""
    secret = "token: mcpmock:secret:token:1"

    def recorded(content: bytes) -> Any:
        read = {"contents": [{"uri": NOTES, "text": secret}]}
        return cassette(
            c(request(1, "skills/list")),
            s(response(1, {"skills": [entry(file(), file(NOTES, content))]})),
            c(request(2, "resources/read", {"uri": NOTES})),
            s(response(2, read)),
        )

    assert not compare(recorded(b"token: abc"), recorded(secret.encode())).differences
