"""Drives the page of MCP Inspector in Chromium, connected directly to a server that wants a login.
Run by tests/e2e/test_inspector.py with the Python of the part `browser`:

    python inspector.py CHROMIUM FOLDER URL PICTURE

Serves the page from its FOLDER, and prints the paths that the browser navigated to, and what
the tool `forecast` said, each in a line of JSON. PICTURE shows the end.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Page, Request, sync_playwright

# On a 401 its SDK logs in, and then it does so itself once more: where both come to a redirect, the
# second has overwritten the PKCE verifier of the first. Routes of Playwright are no way to stop it:
# with one, Playwright answers all preflights.
ONE_LOGIN = """
    const ask = window.fetch;
    window.fetch = (resource, options) =>
        String(resource).endsWith("/.well-known/oauth-protected-resource")
            ? new Promise(() => {})
            : ask(resource, options);
"""


class Handler(SimpleHTTPRequestHandler):
    """As the Inspector's own server: every other path is the page."""

    def translate_path(self, path: str) -> str:
        file = super().translate_path(path)
        return file if Path(file).is_file() else super().translate_path("/index.html")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def connect(page: Page, url: str, path: str) -> None:
    """Until the page shows its connection."""
    page.goto(f"{url}?{urlencode({'transport': 'streamable-http', 'serverUrl': path})}")
    page.locator("#connection-type-select").click()
    page.get_by_role("option", name="Direct").click()
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_text("Connected", exact=True).wait_for()


def call_tool(page: Page) -> str:
    """What the listed tool says."""
    page.get_by_role("tab", name="Tools").click()
    page.get_by_role("button", name="List Tools").click()
    page.get_by_text("forecast", exact=True).click()
    page.locator("#city").fill("Oslo")
    page.get_by_role("button", name="Run Tool").click()
    page.get_by_text("Tool Result: Success").wait_for()
    return page.get_by_text("degrees").first.inner_text()


def main(chromium: str, folder: str, url: str, picture: str) -> None:
    visited: list[str] = []

    def asked(request: Request) -> None:
        if request.is_navigation_request():
            visited.append(urlsplit(request.url).path)

    with ThreadingHTTPServer(("localhost", 0), partial(Handler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.on("request", asked)
            page.add_init_script(ONE_LOGIN)
            try:
                connect(page, f"http://localhost:{server.server_port}/", url)
                told = call_tool(page)
            finally:
                page.screenshot(path=picture)
                browser.close()
        server.shutdown()
    for found in (visited, told):
        print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
