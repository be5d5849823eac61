"""A real PostgreSQL for tests: Debian's package, started in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.servers import HOST, free_ports

USER = "lake"
STARTS_WITHIN_SECONDS = 120


@dataclass(frozen=True)
class Postgres:
    """Where it is. It trusts whoever reaches it, and nobody from elsewhere does."""

    programs: Path
    port: int

    def settings(self, **others: Any) -> dict[str, Any]:
        """What tap-postgres and target-postgres need to reach it."""
        where = {"host": HOST, "port": self.port, "user": USER, "database": "postgres"}
        return where | {"password": "unused"} | others

    def sql(self, statement: str) -> str:
        """Run SQL; returns the rows as text."""
        connection = ["-h", HOST, "-p", str(self.port), "-U", USER, "-d", "postgres"]
        done = subprocess.run(
            [self.programs / "psql", *connection, "-qAtX", "-v", "ON_ERROR_STOP=1"],
            input=statement,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    """Skips the test, with the reason, where there is none and none can be installed."""
    programs = _programs()
    # It refuses to run as root, and the user it runs as must reach its folder.
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data = f"{folder}/data"
        create = ["-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "-N"]
        subprocess.run(
            [programs / "initdb", *create], user=user, cwd=folder, check=True, capture_output=True
        )
        (port,) = free_ports(1)
        options = {"listen_addresses": HOST, "unix_socket_directories": folder, "fsync": "off"}
        server = subprocess.Popen(
            [
                *(programs / "postgres", "-D", data, "-p", str(port)),
                *(part for name in options for part in ("-c", f"{name}={options[name]}")),
            ],
            user=user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _await(programs, port, server)
            yield Postgres(programs, port)
        finally:
            server.kill()
            server.wait()


def _await(programs: Path, port: int, server: subprocess.Popen[bytes]) -> None:
    ready = [programs / "pg_isready", "-q", "-h", HOST, "-p", str(port)]
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while subprocess.run(ready, check=False).returncode != 0:
        assert server.poll() is None, "PostgreSQL ended"
        assert time.monotonic() < deadline, "PostgreSQL did not start"
        time.sleep(0.1)


def _programs() -> Path:
    """The folder of the newest version that is installed; it is installed where that is allowed."""
    with FileLock(Path(tempfile.gettempdir()) / "singerlake-postgres.lock"):
        found = _installed()
        if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
            _install()
            found = _installed()
    if found is None:
        pytest.skip("PostgreSQL is not installed, and apt-get cannot install it here")
    return found


def _installed() -> Path | None:
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(folders, key=lambda path: int(path.parts[-3]), default=None)
    if newest is None:
        on_path = shutil.which("initdb")
        return Path(on_path).parent if on_path else None
    return newest.parent


def _install() -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
        subprocess.run(
            ["apt-get", "-qq", *arguments], env=environment, check=False, capture_output=True
        )
