"""The browser of these tests: the machine's own Chromium, installed where that can be done.

`make packages` runs this as a program, so that a fresh machine has one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests import packages

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)

WITHOUT = (
    "no Chromium or Chrome is on PATH: install one (Debian: apt-get install chromium), or run "
    "`playwright install chromium`"
)


def find() -> str | None:
    """The program to start, or None where there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def flags() -> list[str]:
    """Chromium refuses to start its sandbox as root, as which containers run."""
    return [*FLAGS, *(["--no-sandbox"] if packages.is_root() else [])]


def install() -> None:
    """Try what this machine offers; whether it helped, `find` tells."""
    packages.install("chromium")
    if find() is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


if __name__ == "__main__":
    if find() is None:
        print("Looking for a browser to test the pages in …", flush=True)
        install()
    print(f"Testing pages with {find()}" if find() else f"Pages go untested: {WITHOUT}")
