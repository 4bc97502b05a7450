"""What people fear of a server, in their words, and the kinds of faults that make it happen.

One table: `mcpmock faults WORD`, "did you mean" and the table in the manual are made of it. Each
kind stands in a row. `registry` has the names, `plan` and the command line stand above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

import attrs

from .registry import KINDS

_MAX_SUGGESTED = 3
_MIN_STEM_CHARS = 4
_WORD = re.compile(r"[a-z0-9]+")


@attrs.frozen
class Fear:
    """Something that may go wrong, the kinds that make it happen, the likeliest first, and more
    words for it. The words of `text` count too.
    """

    text: str
    kinds: tuple[str, ...]
    words: str = ""

    def hits(self, asked: Iterable[str]) -> int:
        """Return how many of these words speak of it."""
        known = set(_words(f"{self.text} {self.words}")) - _FILLERS
        return sum(any(_is_same(word, one) for one in known) for word in asked)


def _fear(text: str, kinds: str, words: str = "") -> Fear:
    return Fear(text, tuple(kinds.split()), words)


FEARS = (
    _fear(
        "a call that never ends: timeout, hang",
        "never_respond drop black_hole never_answer_server_request",
        "timed out hung stuck freeze frozen block deadlock forever unresponsive lost missing "
        "silent silence unanswered dead stall swallowed",
    ),
    _fear(
        "a slow server: latency, lag, jitter",
        "latency delay dribble bandwidth pause hold slow_close",
        "late sluggish throughput network congestion spike delayed",
    ),
    _fear(
        "a disconnect: connection reset, broken pipe, closed",
        "reset_peer close_before_response half_close garbage_then_close",
        "disconnected drop dropped lost hangup hang up eof abort aborted econnreset socket cut "
        "offline network down",
    ),
    _fear(
        "a crash: the server dies, or does not start",
        "exit down",
        "crashed killed kill sigkill segfault oom memory exception panic restart dead process "
        "unavailable startup spawn",
    ),
    _fear(
        "HTTP 500, 502, 503: internal error, outage, maintenance",
        "http_status outage empty_response",
        "status 5xx 504 gateway unavailable server error down downtime",
    ),
    _fear(
        "a rate limit: 429, throttling, quota",
        "quota http_status",
        "too many requests retry after backoff ratelimit limited throttled",
    ),
    _fear(
        "a dropped stream, and its resume",
        "limit_data sse_gap sse_retry sse_duplicate_id json_instead_of_sse sse_comment_storm",
        "sse event events last-event-id reconnect resumable resumption replay cut interrupted "
        "lost keepalive",
    ),
    _fear(
        "a session that expired: 404, initialize again",
        "session_expired exit",
        "expire expires lost restart unknown reinitialize",
    ),
    _fear(
        "a login that fails: 401, token expired",
        "auth_expire_token auth_invalid_grant auth_slow auth_no_registration auth_scope_loop "
        "auth_wrong_iss auth_wrong_issuer auth_wrong_resource",
        "oauth auth unauthorized 403 forbidden credentials revoked refresh scope permission "
        "denied authorization",
    ),
    _fear(
        "an answer with a wrong id, or to no request",
        "wrong_id id_type_flip swap_responses unsolicited_response",
        "mismatch mismatched crossed mixed unknown response ids correlation stray swapped",
    ),
    _fear(
        "a cancel that crosses the answer",
        "cancel_race cancel",
        "cancelled cancellation cancels abort race late stop interrupt ctrl-c",
    ),
    _fear(
        "garbage: invalid JSON, corrupt or cut messages",
        "invalid_json corrupt truncate stdout_noise invalid_utf8 replace inject",
        "malformed broken parse parser syntax noise banner log print stdout bytes binary "
        "encoding utf unicode junk rubbish partial incomplete wrong answer unexpected",
    ),
    _fear(
        "a tool that fails: isError, JSON-RPC error",
        "tool_error error initialize_error",
        "exception failure failed refused fails errors",
    ),
    _fear(
        "a tool that is gone: unknown tool, changed list",
        "tool_vanishes list_changed_storm cursor_loop",
        "missing removed renamed vanish disappears disappear not found tools list pagination "
        "page endless infinite loop",
    ),
    _fear(
        "an empty answer: no content, null",
        "empty empty_response",
        "nothing blank none missing result",
    ),
    _fear(
        "too much: a huge answer, deep nesting, a flood of logs",
        "huge deep stderr_flood backpressure list_changed_storm sse_comment_storm",
        "large big size payload memory nested spam overflow limit consumer reader",
    ),
    _fear(
        "twice: a duplicate message, a second answer",
        "duplicate respond_twice",
        "double repeated repeat again idempotent retry redelivery",
    ),
    _fear(
        "the wrong order, split or joined reads",
        "reorder swap_responses slicer coalesce",
        "reordered unordered out sequence interleaved chunk chunks fragment fragmented pieces "
        "buffering",
    ),
    _fear(
        "a wrong body over HTTP: content type, chunks, HTML",
        "wrong_content_type malformed_chunk json_instead_of_sse",
        "header headers mime proxy chunked encoding",
    ),
    _fear(
        "a handshake that fails: version mismatch, capabilities",
        "version_mismatch initialize_error no_initialized capability_lie "
        "request_without_capability",
        "initialize initialized protocol revision incompatible negotiation unsupported lie "
        "sampling elicitation roots",
    ),
    _fear(
        "wrong progress",
        "progress_unknown_token progress_decreasing progress_after_response",
        "notification notifications token backwards bar percent",
    ),
    _fear(
        "a server that does not stop",
        "ignore_eof slow_close",
        "shutdown exit zombie orphan leak ends end close terminate eof",
    ),
)
_FILLERS = {
    "a",
    "an",
    "and",
    "or",
    "that",
    "the",
    "to",
    "no",
    "not",
    "is",
    "its",
    "with",
    "of",
    "does",
}


def fears_of(asked: str) -> list[Fear]:
    """Return the fears that these words are about, the likeliest first."""
    words = [word for word in _words(asked) if word not in _FILLERS]
    found = [(fear.hits(words), fear) for fear in FEARS]
    most = max((hits for hits, _ in found), default=0)
    return [fear for hits, fear in found if hits == most > 0]


def suggest_kinds(asked: str) -> list[str]:
    """Return the kinds that may be meant by an unknown word: those with the nearest names, if
    they are near, and those for what the word speaks of.
    """
    near = get_close_matches(asked, KINDS, n=_MAX_SUGGESTED, cutoff=0.75)
    feared = _first_of_each(fears_of(asked))
    rest = get_close_matches(asked, KINDS, n=_MAX_SUGGESTED, cutoff=0.5)
    found = [*near, *feared] or rest
    return list(dict.fromkeys(found))[:_MAX_SUGGESTED]


def table_of_fears() -> Iterator[str]:
    """Yield the table of the manual."""
    yield from ("| what I fear | faults |", "|---|---|")
    for fear in FEARS:
        yield f"| {fear.text} | {', '.join(f'`{kind}`' for kind in fear.kinds)} |"


def _first_of_each(fears: list[Fear]) -> Iterator[str]:
    """Yield the likeliest kind of each fear, then the second of each."""
    for place in range(max((len(fear.kinds) for fear in fears), default=0)):
        yield from (fear.kinds[place] for fear in fears if place < len(fear.kinds))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _is_same(asked: str, known: str) -> bool:
    """Return whether two words are one but for their ends: `hangs`, `slowness`, `throttled`."""
    short, long = sorted((asked, known), key=len)
    stem = short[:-1] if short.endswith(("e", "y")) and len(short) > _MIN_STEM_CHARS else short
    return asked == known or (len(stem) >= _MIN_STEM_CHARS and long.startswith(stem))
