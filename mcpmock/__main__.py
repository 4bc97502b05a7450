"""`mcpmock` and `python -m mcpmock`."""

from __future__ import annotations

from mcpmock.cli import main

if __name__ == "__main__":
    main()
