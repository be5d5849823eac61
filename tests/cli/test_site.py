"""`site`: what the command itself says. The pages and their server are tested in tests/site."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path


def test_serve_tells_scripts_its_address_in_one_line(built: Path) -> None:
    command = [sys.executable, "-m", "singerlake.cli", "site", "serve", str(built), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            with urllib.request.urlopen(url) as page:
                assert b"tap-shop--test" in page.read()
            server.send_signal(signal.SIGINT)
            assert (server.stdout.read(), server.wait(30)) == ("", 0)
        finally:
            server.kill()


def test_a_machine_without_a_temporary_folder_is_told(built: Path) -> None:
    """As in a container whose every file system is read-only."""
    program = (
        "import tempfile; tempfile._candidate_tempdir_list = lambda: ['/proc/nowhere']\n"
        "from singerlake.cli import main; main(prog_name='singerlake')"
    )
    command = [sys.executable, "-c", program, "site", "serve", str(built), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "TMPDIR" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode != 0
