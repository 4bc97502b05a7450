"""`ServerRequests`: which recorded request of the server a live one is. What the client answered to
it is in `client.script`, which `client.driver` plays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mcpmock.playback.request_key import canonical, significant
from mcpmock.protocol.messages import Request

from .script import ScriptServerRequest


class ServerRequests:
    """The recorded server requests, and which of them were made already."""

    def __init__(self, server_requests: Sequence[ScriptServerRequest]) -> None:
        self._asked: set[int] = set()
        self._alike: dict[str, deque[int]] = {}
        self._same: dict[tuple[str, bytes], deque[int]] = {}
        self._last: dict[str, int] = {}
        for number, one in enumerate(server_requests):
            self._alike.setdefault(one.method, deque()).append(number)
            key = one.method, canonical(significant(one.params))
            self._same.setdefault(key, deque()).append(number)
            self._last[one.method] = number

    def find(self, request: Request) -> int | None:
        """The recorded request that a live one is: the next of those that ask the same, else the
        next of the same method; when there are no more, the last of these once more.
        """
        key = request.method, canonical(significant(request.params))
        found = self._first(self._same.get(key))
        if found is None:
            found = self._first(self._alike.get(request.method))
        if found is None:
            return self._last.get(request.method)
        self._asked.add(found)
        return found

    def _first(self, numbers: deque[int] | None) -> int | None:
        while numbers and numbers[0] in self._asked:
            numbers.popleft()
        return numbers[0] if numbers else None
