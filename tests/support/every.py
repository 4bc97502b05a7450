"""Whether every row of a large product is to run, and not a set that covers it."""

from __future__ import annotations

import os

EVERY = bool(os.environ.get("MCPMOCK_E2E_ALL"))
