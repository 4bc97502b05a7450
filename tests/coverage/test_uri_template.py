"""Which URIs may come from a template (RFC 6570)."""

from __future__ import annotations

import pytest

from mcpmock.coverage.uri_template import UriTemplate


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("demo://x", "demo://x", True),
        ("demo://x", "demo://xy", False),
        ("demo://{id}", "demo://5", True),
        ("demo://{id}", "demo://", False),
        ("demo://{id}", "demo://a/b", False),
        ("demo://{id}", "demo://a%2Fb", True),
        ("demo://{id}", "demo://é", True),
        ("demo://é/{id}", "demo://%C3%A9/1", True),
        ("demo://{id}/text", "demo://1/text", True),
        ("demo://{id}/text", "demo://1/2/text", False),
        ("file:///{+path}", "file:///a/b c", True),
        ("file:///{path*}", "file:///a/b c", True),
        ("file:///{path*}/x", "file:///a/b", False),
        ("file://{/path*}", "file:///a/b", True),
        ("file://{/path*}", "file://", True),
        ("file://{/path*}x", "file://a/bx", False),
        ("a://x{?q,lang}", "a://x", True),
        ("a://x{?q,lang}", "a://x?q=1&lang=de", True),
        ("a://x{?q,lang}", "a://x?lang=de&q=", True),
        ("a://x{?q}", "a://x&q=1", False),
        ("a://x{?q}", "a://x?lang=de", False),
        ("a://x{?q}", "a://x?q=1&lang=de", False),
        ("a://x{?q}", "a://x?query=1", False),
        ("a://x{?q}", "a://x?q=1#part", False),
        ("a://x{?q}{#part}", "a://x?q=1#part", True),
        ("a://x{?any*}", "a://x?lang=de", True),
        ("a://{+x}{?q}", "a://1?2?q=3?4", True),
        ("a://x{?é}", "a://x?%C3%A9=1", True),
        ("a://x{;p,q:3}", "a://x;q=1;p", True),
        ("a://x{;p}", "a://x;q", False),
        ("a://x{;p}/y", "a://x;p/y", True),
        ("a://x?f=1{&q}", "a://x?f=1&r=2", False),
        ("a://x?f=1{&q}", "a://x?f=1&q=2", True),
        ("a://x{#part}", "a://x#p", True),
        ("a://x{.ext}", "a://x.md", True),
        ("a://x{;p}", "a://x;p=1", True),
        ("{scheme}://{host}", "a://b", True),
        ("a://{x}{y}", "a://1", False),
        ("a://{x}-{y}", "a://1-2-3", True),
        ("a://{x:3}{y*}", "a://abc", True),
        ("a://{", "a://{", True),
        ("a://{x", "a://1", False),
        ("a://x}", "a://x}", True),
        ("", "", True),
        ("", "a", False),
        ("{+all}", "anything at all", True),
        ("a[b]*?.{x}", "a[b]*?.1", True),
    ],
)
def test_which_uris_fit(template: str, uri: str, fits: bool) -> None:
    """A simple expression is not empty and within a segment; operators as the RFC expands them."""
    assert fits == UriTemplate(template).fits(uri)


def test_no_template_takes_long() -> None:
    """A regular expression would backtrack for ever."""
    assert not UriTemplate("a" + "{+x}a" * 40).fits("a" * 3000 + "b")
    assert not UriTemplate("a{+x}{?q,r}" * 20 + "z").fits("a?q=1&r" * 400)
