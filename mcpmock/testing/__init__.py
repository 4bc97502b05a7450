"""The servers of tests: what the pytest plugin does once a test uses it, and what `mcpmock control`
does for tests in other languages. `pytest_plugin` has the hooks and fixtures, and imports this room
only then. Public are the types of its fixtures, for annotations, and `broken`, which checks the
frames of a session in which a call was cancelled:

    from mcpmock.testing import CassetteFile, Client, Race, broken
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpmock.faults.races.invariants import broken

    from .races import Race
    from .servers import CassetteFile, Client

__all__ = ["CassetteFile", "Client", "Race", "broken"]

_PLACES = {
    "CassetteFile": "mcpmock.testing.servers",
    "Client": "mcpmock.testing.servers",
    "Race": "mcpmock.testing.races",
    "broken": "mcpmock.faults.races.invariants",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'mcpmock.testing' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
