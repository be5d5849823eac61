"""What a suite counted: one line of the table in docs/reliability.md, as a JSON file of its own.

The files lie in `build/faults/`, one for each line, so that workers beside each other do not meet;
those of a share have names of their own, and leave the others alone. Each bears the run that it is
of, as `make faults` names it: a table is of one run.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.scale import VARIABLE, WHOLE

FOLDER = Path(__file__).parents[2] / "build" / "faults"
RUN = os.environ.get("SINGERLAKE_FAULTS_RUN", "")


@dataclass
class Line:
    """`runs` are schedules, crash points or examples; `faults` what was injected in them.

    `replays` are records that are there twice because their STATE had not come out.
    `violations` are records lost, torn or there twice, and everything else that broke a promise.
    """

    suite: str
    what: str
    test: str
    runs: int = 0
    faults: int = 0
    replays: int = 0
    violations: int = 0
    bounds: str = ""
    controls: int = 0
    """Broken variants that the suite was given, and that it reported."""

    tried: int = 0
    """Those that it was given; no fewer than it reported."""

    seconds: float = 0.0
    whole: bool = WHOLE
    run: str = RUN
    began: float = field(default_factory=time.monotonic, repr=False)

    def control(self, seen: bool, what: object = "") -> None:
        """A broken variant was tried; one that was not seen is counted too, before this fails."""
        self.tried += 1
        self.controls += seen
        self.keep()
        assert seen, f"a control was not seen: {what or self.what}"

    def keep(self) -> None:
        """Write the line down; the last run of a line is the one that counts."""
        self.tried = max(self.tried, self.controls)
        self.seconds = round(time.monotonic() - self.began, 1)
        row = {key: value for key, value in dataclasses.asdict(self).items() if key != "began"}
        name = re.sub(r"[^a-z0-9]+", "-", f"{self.suite} {self.what}".lower())
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{name}.{os.getpid()}.tmp"
        path.write_text(json.dumps(row, indent=2))
        path.replace(FOLDER / f"{name}.{'whole' if self.whole else 'share'}.json")

    @property
    def command(self) -> str:
        return f"{VARIABLE}=whole pytest {self.test}"


def kept(whole: bool = WHOLE) -> list[Line]:
    """The lines of the last whole run, or of the last share."""
    lines = [Line(**json.loads(path.read_text())) for path in sorted(FOLDER.glob("*.json"))]
    wanted = {(line.suite, line.what): line for line in lines if line.whole == whole}
    return [wanted[key] for key in sorted(wanted)]
