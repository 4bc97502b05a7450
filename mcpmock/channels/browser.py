"""`open_page`: the browser of the user."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from shutil import which


def open_page(url: str) -> None:
    """Show a page in `$BROWSER`, else in the system's browser; nothing on a headless machine. The
    browser may run on behind us.
    """
    given = shlex.split(os.environ.get("BROWSER", ""))
    command = given or ["open" if sys.platform == "darwin" else "xdg-open"]
    # The address may come from a server: no other scheme, and no option of a browser.
    if not url.startswith(("https://", "http://")) or which(command[0]) is None:
        return
    words = [word.replace("%s", url) for word in command]
    if words == command:
        words.append(url)
    null = subprocess.DEVNULL  # what it prints must not reach our standard output
    subprocess.Popen(words, stdin=null, stdout=null, stderr=null, start_new_session=True)
