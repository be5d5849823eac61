"""Landing lines in a lake and replaying them with the tap: shared by the tests of the tap."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import sysconfig
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import Lake, WriterOptions, open_lake
from tap_singerlake import command as thin
from tap_singerlake.tap import TapSingerlake
from tests import zygote
from tests.target.driving import signal_handlers_kept

DOORS = ["tap_singerlake.command", "tap_singerlake.tap"]
"""The thin command, and that of the SDK."""

DOOR = DOORS[0]
TAP_ID = "tap-shop--tests"
STREAM = "orders"
BIN = Path(sysconfig.get_path("scripts"))

Message = dict[str, Any]
Config = dict[str, Any]


def new_root() -> str:
    """The address of a lake in memory that no other test knows."""
    return f"memory://{uuid.uuid4().hex}"


def config(root: str | Path, **others: Any) -> Config:
    return {"lake_root": str(root), "tap_id": TAP_ID, **others}


def properties(*names: str) -> dict[str, Any]:
    return {"id": {"type": "integer"}} | {name: {"type": ["null", "string"]} for name in names}


def schema(fields: Mapping[str, Any] | None = None, stream: str = STREAM, **others: Any) -> bytes:
    """A SCHEMA line as a tap might print it, with white space and a key of its own."""
    message = {
        "type": "SCHEMA",
        "stream": stream,
        "schema": {"type": "object", "properties": fields or properties("name")},
        "key_properties": ["id"],
        **others,
    }
    return json.dumps(message).encode()


def time_of(number: int) -> str:
    return f"2026-03-01T10:{number // 60:02}:{number % 60:02}.5Z"


def record(number: int, stream: str = STREAM, **fields: Any) -> bytes:
    """A RECORD line; the time follows from the number."""
    message = {
        "type": "RECORD",
        "stream": stream,
        "record": {"id": number, **(fields or {"name": f"no {number}"})},
        "time_extracted": time_of(number),
    }
    return json.dumps(message, ensure_ascii=False).encode()


def activate(version: int, stream: str = STREAM) -> bytes:
    return json.dumps({"type": "ACTIVATE_VERSION", "stream": stream, "version": version}).encode()


def land(root: str | Path, *commits: Iterable[bytes], tap_id: str = TAP_ID) -> None:
    """Commit each row of lines by a run of its own; the lake is made if need be."""
    lake = open_lake(root, create=True)
    for lines in commits:
        with lake.writer(tap_id, options=WriterOptions()) as writer:
            for line in lines:
                writer.write(line)


def land_numbers(root: str | Path, *numbers: int, stream: str = STREAM) -> None:
    """A commit, and so a file, for each record."""
    land(root, *([schema(stream=stream), record(number, stream)] for number in numbers))


def files(root: str | Path, stream: str = STREAM) -> list[File]:
    return list(lake(root).stream(TAP_ID, stream).snapshot().files())


def lake(root: str | Path) -> Lake:
    return open_lake(root)


def stream_keys(stream: str = STREAM) -> StreamKeys:
    return StreamKeys(TAP_ID, stream)


def paths(root: Path, stream: str = STREAM) -> list[Path]:
    """The stream's files on the local disk, in commit order."""
    return [root / stream_keys(stream).under(file.path) for file in files(root, stream)]


@dataclass(frozen=True)
class Output:
    """What the tap printed."""

    raw: bytes

    @property
    def lines(self) -> list[bytes]:
        assert not self.raw or self.raw.endswith(b"\n"), "the last line is cut off"
        return self.raw.splitlines()

    @property
    def messages(self) -> list[Message]:
        return [json.loads(line) for line in self.lines]

    def of(self, kind: str, stream: str | None = None) -> list[Message]:
        return [
            message
            for message in self.messages
            if message["type"] == kind and stream in (None, message.get("stream"))
        ]

    @property
    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]

    @property
    def data(self) -> list[bytes]:
        """Every line but STATE, as printed."""
        return [line for line in self.lines if json.loads(line)["type"] != "STATE"]

    def records(self, stream: str | None = None) -> list[dict[str, Any]]:
        return [message["record"] for message in self.of("RECORD", stream)]

    def numbers(self, stream: str | None = None) -> list[int]:
        return [row["id"] for row in self.records(stream)]

    @property
    def state(self) -> Message:
        """The last STATE."""
        return self.of("STATE")[-1]["value"]

    def sequences(self, stream: str = STREAM) -> list[int]:
        """The bookmark of each STATE, in order."""
        return [state["value"]["bookmarks"][stream]["sequence"] for state in self.of("STATE")]


def replay(
    settings: Config, state: Message | None = None, catalog: Message | None = None
) -> Output:
    """Run the tap in this process, through the door of the test."""
    found = io.BytesIO()
    printed = io.TextIOWrapper(found, encoding="utf-8")
    plain = thin.plain(settings, state or {}, catalog) if DOORS[0] == DOOR else None
    with redirect_stdout(printed):
        if plain is None:
            TapSingerlake(config=settings, state=state, catalog=catalog).sync_all()
        else:
            with signal_handlers_kept():
                thin.replay(plain, logging.getLogger(thin.NAME))
        printed.flush()
    return Output(found.getvalue())


def discover(settings: Config) -> Message:
    catalog: Message = TapSingerlake(config=settings).catalog_dict
    return catalog


def deselect(catalog: Message, *breadcrumb: str, stream: str = STREAM) -> Message:
    """The catalog without a stream, or without one of its properties."""
    entry = next(each for each in catalog["streams"] if each["tap_stream_id"] == stream)
    crumbs = [part for name in breadcrumb for part in ("properties", name)]
    for row in entry["metadata"]:
        if row["breadcrumb"] == crumbs:
            row["metadata"]["selected"] = False
            return catalog
    entry["metadata"].append({"breadcrumb": crumbs, "metadata": {"selected": False}})
    return catalog


@dataclass(frozen=True)
class Run(Output):
    """What a real process printed, and how it ended."""

    log: str
    code: int


def command(folder: Path, settings: Config, *arguments: str) -> list[str]:
    """The command line of the real tap, with its settings in a file."""
    settings_file = folder / f"config-{uuid.uuid4().hex}.json"
    settings_file.write_text(json.dumps(settings))
    program = [str(BIN / "tap-singerlake")] if DOORS[0] == DOOR else [sys.executable, "-m", DOOR]
    return [*program, "--config", str(settings_file), *arguments]


def run(folder: Path, settings: Config, *arguments: str, state: Message | None = None) -> Run:
    """Run the real command, all but its imports: see `tests.zygote`."""
    if state is not None:
        state_file = folder / f"state-{uuid.uuid4().hex}.json"
        state_file.write_text(json.dumps(state))
        arguments = (*arguments, "--state", str(state_file))
    line = command(folder, settings, *arguments)
    given = line[line.index("--config") :]
    with (
        Path(os.devnull).open("rb") as nothing,
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryFile() as log,
    ):
        streams = (nothing, printed, log)
        process = zygote.shared().start(DOOR, given, os.environ, streams)
        try:
            code = process.wait(timeout=600)
        finally:
            process.kill()
        for stream in (printed, log):
            stream.seek(0)
        return Run(printed.read(), log.read().decode(), code)
