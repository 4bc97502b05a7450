"""All kinds of fault by the names that plans give them. A new kind is a module and a line here."""

from __future__ import annotations

from .fault import Fault
from .latency import Latency

KINDS: dict[str, type[Fault]] = {fault.kind: fault for fault in (Latency,)}
