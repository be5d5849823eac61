"""A mail server for tests: aiosmtpd, from Airflow's environment, which prints what it gets."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.airflow.environment import environment
from tests.servers import HOST, free_ports


@dataclass(frozen=True)
class MailServer:
    host: str
    port: int
    printed: Path

    def text(self) -> str:
        """All that came."""
        return self.printed.read_text(errors="replace")


@contextmanager
def mail_server(printed: Path) -> Iterator[MailServer]:
    (port,) = free_ports(1)
    command = [str(environment()), "-u", "-m", "aiosmtpd", "-n", "-l", f"{HOST}:{port}"]
    with printed.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield MailServer(HOST, port, printed)
    finally:
        process.kill()
        process.wait()
