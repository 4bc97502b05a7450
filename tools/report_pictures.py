#!/usr/bin/env python3
"""Takes pictures of the pages of `mcpmock report` with Chromium.

They show shipped cassettes, and an exploration of the demo server, which takes half a minute.

tools/report_pictures.py FOLDER     # each scene, wide and narrow, light and dark: to look at
tools/report_pictures.py --readme   # cassettes/report.png, the picture in the README
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mcpmock.cassette.file import load
from mcpmock.view.explore_grid import explore_page
from mcpmock.view.report import report_page

SHIPPED = Path(__file__).parents[1] / "cassettes"
README_PICTURE = SHIPPED / "report.png"
MAX_README_BYTES = 150_000
SCENES = {
    "plain": (("git.jsonl",), "n=7"),
    "list": (("everything.jsonl",), ""),
    "overlapping": (("everything.jsonl",), "n=52"),
    "sampling": (("everything.jsonl",), "n=74"),
    "race": (("everything.jsonl",), "n=49"),
    "late-answer": (("workshop-sessions.jsonl",), "n=89"),
    "resumption": (("workshop-sessions.jsonl",), "n=247&q=s%3D2%20x%3D%5B23%5D%5B09%5D"),
    "diff": (("everything.jsonl", "everything-http.jsonl"), ""),
    "difference": (("everything.jsonl", "everything-http.jsonl"), "difference=2"),
    "explore": ((), ""),
}
"""The cassettes of each, and what is open."""
DEMO = [sys.executable, "-m", "mcpmock.demo.server", "--bug", "crashes-on-early-cancel"]
EXPLORE_RUNS = 200
SIZES = {"wide": (1280, 800), "narrow": (400, 800)}
THEMES = {"light": 1, "dark": 0}
README_SCENE, README_SIZE = "late-answer", (1040, 680)
PAGE_TIME_MS = 3000
"""Of the page's own clock: what it draws is there by then."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--readme", action="store_true", help=f"write {README_PICTURE.name}")
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this (repeatable)")
    args = parser.parse_args()
    if not args.readme and args.folder is None:
        parser.error("name a FOLDER, or give --readme")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if browser is None:
        print("there is no Chromium here", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        if args.readme:
            page = _page(README_SCENE, Path(folder))
            _shoot(browser, page, README_PICTURE, README_SIZE, "light")
            if README_PICTURE.stat().st_size > MAX_README_BYTES:
                print(f"{README_PICTURE}: more than {MAX_README_BYTES} bytes", file=sys.stderr)
                return 1
        if args.folder is not None:
            args.folder.mkdir(parents=True, exist_ok=True)
            for scene in args.scene or SCENES:
                explored = scene == "explore"
                page = _explored(Path(folder)) if explored else _page(scene, Path(folder))
                for picture, size, theme in _variants(args.folder / scene):
                    _shoot(browser, page, picture, size, theme)
    return 0


def _explored(folder: Path) -> str:
    """The URL of the grid of an exploration, written to the folder."""
    mcpmock, short = [sys.executable, "-m", "mcpmock"], "short.jsonl"
    record = [*mcpmock, "record", "-o", short, "--", *DEMO]
    client = [sys.executable, "-m", "mcpmock.demo.client", "--short", "--", *record]
    subprocess.run(client, cwd=folder, capture_output=True, check=True)
    explore = [*mcpmock, "explore", short, "--json", "--max-runs", str(EXPLORE_RUNS), "--", *DEMO]
    found = subprocess.run(explore, cwd=folder, capture_output=True, check=False)
    path = folder / "explore.html"
    path.write_bytes(explore_page("run.jsonl", found.stdout))
    return path.as_uri()


def _page(scene: str, folder: Path) -> str:
    """The URL of the page of a scene, written to the folder."""
    cassettes, link = SCENES[scene]
    path = folder / f"{scene}.html"
    path.write_bytes(report_page(*(load(SHIPPED / name) for name in cassettes)))
    return f"{path.as_uri()}#{link}"


def _variants(path: Path) -> Iterator[tuple[Path, tuple[int, int], str]]:
    for width, size in SIZES.items():
        for theme in THEMES:
            yield path.with_name(f"{path.name}-{width}-{theme}.png"), size, theme


def _shoot(browser: str, url: str, picture: Path, size: tuple[int, int], theme: str) -> None:
    command = [
        browser,
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        f"--blink-settings=preferredColorScheme={THEMES[theme]}",
        f"--window-size={size[0]},{size[1]}",
        f"--virtual-time-budget={PAGE_TIME_MS}",
        f"--screenshot={picture.resolve()}",
        url,
    ]
    picture.unlink(missing_ok=True)
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    if not picture.exists():
        raise SystemExit(f"Chromium made no {picture}")


if __name__ == "__main__":
    sys.exit(main())
