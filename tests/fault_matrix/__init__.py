"""What every kind of fault does to one conversation, over each transport, live and in a replay."""

import pytest

# A failing row shows both sides of an assertion only where pytest rewrites it.
_JUDGES = ("row", "rows_bytes", "rows_http", "rows_mcp")
pytest.register_assert_rewrite(*(f"{__name__}.{judge}" for judge in _JUDGES))
