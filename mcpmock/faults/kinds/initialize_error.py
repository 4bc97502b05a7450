"""`initialize_error`: the server refuses the handshake."""

from __future__ import annotations

from typing import ClassVar

import attrs

from mcpmock.faults.units import Code

from .error import Error


@attrs.frozen(kw_only=True)
class InitializeError(Error):
    """`initialize` never arrives, and is answered with this error.

    >>> fault = mcpmock.faults.InitializeError(message="not today")
    """

    kind: ClassVar[str] = "initialize_error"
    about: ClassVar[str | None] = "initialize"

    code: Code = -32602
    message: str = "Unsupported protocol version"
