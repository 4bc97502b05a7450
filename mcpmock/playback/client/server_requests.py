"""`ServerRequests`: finds the recorded server request for a live one. `client.script` has the
answers, `client.driver` sends them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mcpmock.playback.request_key import canonical, significant
from mcpmock.protocol.messages import Request

from .script import ScriptServerRequest


class ServerRequests:
    """The recorded server requests, and which of them are used up."""

    def __init__(self, server_requests: Sequence[ScriptServerRequest]) -> None:
        self._used: set[int] = set()
        self._by_method: dict[str, deque[int]] = {}
        self._by_key: dict[tuple[str, bytes], deque[int]] = {}
        self._last: dict[str, int] = {}
        for number, one in enumerate(server_requests):
            self._by_method.setdefault(one.method, deque()).append(number)
            key = one.method, canonical(significant(one.params))
            self._by_key.setdefault(key, deque()).append(number)
            self._last[one.method] = number

    def find(self, request: Request) -> int | None:
        """The number of the recorded request for a live one: the next equal one, else the next of
        the same method, else the last of the same method again.
        """
        key = request.method, canonical(significant(request.params))
        found = self._first_unused(self._by_key.get(key))
        if found is None:
            found = self._first_unused(self._by_method.get(request.method))
        if found is None:
            return self._last.get(request.method)
        self._used.add(found)
        return found

    def _first_unused(self, numbers: deque[int] | None) -> int | None:
        while numbers and numbers[0] in self._used:
            numbers.popleft()
        return numbers[0] if numbers else None
