#!/usr/bin/env python3
"""Restarts a server hundreds of times behind a client that calls it all the time.

    tools/restarts.py N

The test is tests/e2e/test_server_restarts.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEST = "tests/e2e/test_server_restarts.py::test_restarts_under_calls"


def main() -> None:
    parser = argparse.ArgumentParser(description="`mcpmock proxy --restart-on` under calls")
    parser.add_argument("restarts", type=int, metavar="N")
    os.environ["MCPMOCK_E2E_RESTARTS"] = str(parser.parse_args().restarts)
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-m", "e2e", TEST])


if __name__ == "__main__":
    main()
