"""A plugin of pytest that writes down what is left of a run at its end: threads, child processes,
sockets.

Runs where the suites do; what was there before the first test does not count.
"""

import gc
import json
import os
import threading
from pathlib import Path

import pytest

# trio keeps its worker threads for some seconds; the SDK under trio uses some.
_CACHED = "Trio thread"


def _now():
    gc.collect()
    pid = os.getpid()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    links = (os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
    names = [thread.name for thread in threading.enumerate()]
    return {
        "threads": sorted(name for name in names if not name.startswith(_CACHED)),
        "children": children,
        "sockets": sorted(link.rpartition("/")[2] for link in links if "socket:" in link),
    }


def pytest_collection_finish(session):
    session.config.before = _now()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    before = getattr(session.config, "before", None)
    if before is None:  # the controller of xdist collects nothing
        return
    left = {what: [x for x in now if x not in before[what]] for what, now in _now().items()}
    name = f"left-{os.getpid()}.json"
    Path(os.environ["LEFT"], name).write_text(json.dumps(left))
