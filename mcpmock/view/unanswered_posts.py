"""What came over HTTP in the place of an answer, for `verify`: a difference only says that there is
none. Reads the recording of the run; `cli.verify` stands above.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.cassette.model import Cassette, Take
from mcpmock.printable import printable
from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import ReplyFlattener


def unanswered_posts(live: Cassette) -> list[str]:
    """Return a line for each request whose HTTP exchange ended without its answer: what came."""
    return [line for take in live.takes for line in _of_take(take)]


def _of_take(take: Take) -> Iterator[str]:
    waiting: dict[int, tuple[str, ReplyFlattener]] = {}
    for event in take.events:
        frame, x = event.frame, event.x
        if frame is None or x is None:
            continue
        if frame.direction is m.C2S:
            if isinstance(content := frame.content, m.Request):
                asked = f"{content.method} {content.tool or ''}".rstrip()
                waiting[x] = asked, ReplyFlattener(frame.raw)
            elif isinstance(frame.fact, m.ExchangeEnd):
                waiting.pop(x, None)  # the client left
        elif x in waiting:
            asked, reply = waiting[x]
            reply.feed(frame)
            if isinstance(frame.fact, m.SseMeta) and frame.fact.id is not None:
                del waiting[x]  # the stream may go on elsewhere
            elif isinstance(frame.fact, m.ExchangeEnd):
                for answer in reply.unanswered(frame.fact.how):
                    why = str(m.decode(m.member(answer.raw, "error", "message") or b"null"))
                    yield printable(f"no answer to {asked}: {why.removeprefix('mcpmock: ')}")
