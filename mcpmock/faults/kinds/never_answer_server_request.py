"""`never_answer_server_request`: the client never answers what the server asks."""

from __future__ import annotations

from typing import ClassVar

import attrs

from mcpmock.faults.fault import On, Toward

from .drop import Drop


@attrs.frozen(kw_only=True)
class NeverAnswerServerRequest(Drop):
    """The client's answer never arrives.

    >>> fault = mcpmock.faults.NeverAnswerServerRequest()
    """

    kind: ClassVar[str] = "never_answer_server_request"
    usually: ClassVar[Toward] = "server"
    acts_on: ClassVar[On] = On.RESPONSE
