"""`tap | target`, with real programs."""

from __future__ import annotations

import json
import subprocess
import sysconfig
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BIN = Path(sysconfig.get_path("scripts"))
TAP, TARGET = BIN / "tap-singerlake", BIN / "target-singerlake"

Settings = dict[str, Any]


@dataclass(frozen=True)
class Pipes:
    """Runs programs in a folder of their own."""

    folder: Path

    def run(
        self,
        tap: tuple[Path, Settings],
        target: tuple[Path, Settings],
        catalog: Settings | None = None,
        state: Settings | None = None,
    ) -> Settings:
        """Run a tap into a target, and return the last STATE that came out."""
        arguments = [*self._file("--catalog", catalog), *self._file("--state", state)]
        log = self.folder / "tap.log"
        with (
            log.open("wb") as errors,
            subprocess.Popen(
                [tap[0], *self._file("--config", tap[1]), *arguments],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=errors,
            ) as source,
        ):
            loaded = subprocess.run(
                [target[0], *self._file("--config", target[1])],
                cwd=self.folder,
                stdin=source.stdout,
                capture_output=True,
                check=False,
            )
        assert source.returncode == 0, log.read_text()
        assert loaded.returncode == 0, loaded.stderr.decode()
        states = loaded.stdout.splitlines()
        return json.loads(states[-1]) if states else {}

    def discover(self, tap: tuple[Path, Settings]) -> Settings:
        """The tap's catalog, with everything selected."""
        command = [tap[0], *self._file("--config", tap[1]), "--discover"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=True)
        catalog: Settings = json.loads(done.stdout)
        for entry in catalog["streams"]:
            for row in entry["metadata"]:
                if not row["breadcrumb"]:
                    row["metadata"]["selected"] = True
        return catalog

    def _file(self, option: str, content: Settings | None) -> list[str]:
        if content is None:
            return []
        path = self.folder / f"{uuid.uuid4().hex}.json"
        path.write_text(json.dumps(content))
        return [option, str(path)]
