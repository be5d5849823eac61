"""The proxy as a process of its own: started, asked, killed."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

COMMAND = (sys.executable, "-m", "singerlake.cli", "lineage", "proxy")
COMMAND += ("--listen", "127.0.0.1:0", "--json")


class Process:
    def __init__(
        self,
        folder: Path,
        backends: Sequence[str],
        *options: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        words = [word for url in backends for word in ("--backend", url)]
        self._log = (folder.parent / "proxy.log").open("ab")
        self._process = subprocess.Popen(
            [*COMMAND, "--data", str(folder), *words, *options],
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **(environment or {})},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, (folder.parent / "proxy.log").read_text()[-2000:]
        self.url: str = json.loads(line)["url"]
        self.pid = self._process.pid

    def connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        assert address.hostname is not None
        return http.client.HTTPConnection(address.hostname, address.port, timeout=60)

    def post(
        self, event: bytes, path: str = "/api/v1/lineage", **headers: str
    ) -> tuple[int, bytes]:
        connection = self.connection()
        try:
            connection.request("POST", path, event, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, str]:
        connection = self.connection()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        """The sum over all labels."""
        _, text = self.get("/metrics")
        lines = [
            line for line in text.splitlines() if line.startswith(f"singerlake_lineage_{name}")
        ]
        return sum(float(line.rpartition(" ")[2]) for line in lines if "_created" not in line)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        if self._process.poll() is None:
            self._process.send_signal(number)
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()
        return code
