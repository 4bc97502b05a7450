"""`no_initialized`: the handshake is never finished."""

from __future__ import annotations

from typing import ClassVar

import attrs

from mcpmock.faults.fault import On, Toward

from .drop import Drop


@attrs.frozen(kw_only=True)
class NoInitialized(Drop):
    """`notifications/initialized` never arrives.

    >>> fault = mcpmock.faults.NoInitialized()
    """

    kind: ClassVar[str] = "no_initialized"
    usually: ClassVar[Toward] = "server"
    acts_on: ClassVar[On] = On.NOTIFICATION
    about: ClassVar[str | None] = "notifications/initialized"
