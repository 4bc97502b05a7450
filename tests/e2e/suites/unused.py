"""A suite that has mcpmock installed and does not use it."""

import sys
import threading


def test_nothing_of_it_is_there():
    ours = {name for name in sys.modules if name.partition(".")[0] == "mcpmock"}
    assert ours <= {
        "mcpmock",
        "mcpmock.pytest_plugin",
        "mcpmock.testing",
        "mcpmock.testing.plugin_session",
        "mcpmock.testing.unused",
        "mcpmock.testing.record_mode",
        "mcpmock.version",
    }
    assert not {"trio", "attrs", "msgspec", "click", "h11"} & set(sys.modules)
    assert threading.active_count() == 1
