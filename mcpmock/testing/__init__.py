"""What the pytest plugin does once a test uses it. `pytest_plugin` has the hooks and fixtures, and
imports this room only then. These names are the types of its fixtures, for annotations:

    from mcpmock.testing import CassetteFile, Client, Race
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .races import Race
    from .servers import CassetteFile, Client

__all__ = ["CassetteFile", "Client", "Race"]

_PLACES = {"CassetteFile": "servers", "Client": "servers", "Race": "races"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'mcpmock.testing' has no attribute {name!r}")
    return getattr(import_module(f"mcpmock.testing.{_PLACES[name]}"), name)
