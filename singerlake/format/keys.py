"""Every object key of the lake: built here, parsed here, and nowhere else.

    raw/singerlake.json
    raw/_pins/<name>.json
    raw/_consumers/<name>.json
    raw/<tap>/catalogue.json
    raw/<tap>/_runs/log.json
    raw/<tap>/_runs/<begun>-<run id>-<writer id>.json
    raw/<tap>/_runs/_segments/<level>-<first>-<last>-<id>.json
    raw/<tap>/<stream>/manifest.json
    raw/<tap>/<stream>/manifest.copy.json
    raw/<tap>/<stream>/_segments/<level>-<first>-<last>-<id>.json
    raw/<tap>/<stream>/_merges/<first>-<last>-<id>.json
    raw/<tap>/<stream>/_uploads/<job>/<schema hash>/<file>.json
    raw/<tap>/<stream>/_uploads/<job>/withdrawn.json
    raw/<tap>/<stream>/_files/<aa>/<sha256>
    raw/<tap>/<stream>/_files/_removals/<id>.json
    raw/<tap>/<stream>/<schema hash>/singerlake.lock
    raw/<tap>/<stream>/<schema hash>/<stream>-<first>-<last>-<digits>.singer[.gz|.bz2]

Names of taps, streams and pins become path segments by `escape` (`singerlake/format/names.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from singerlake.errors import BadName
from singerlake.format import consumer_keys, pin_keys, run_keys, times
from singerlake.format.blob_keys import FOLDER as FILES
from singerlake.format.blob_keys import kind_of
from singerlake.format.consumer_keys import ConsumerObject
from singerlake.format.names import LONGEST_SEGMENT, ROOT, escape, tap_folder, unescape
from singerlake.format.pin_keys import PINS, PinObject, pin
from singerlake.format.run_keys import RunKeys, RunObject

__all__ = [
    "DIGITS",
    "LAKE_DOCUMENT",
    "LONGEST_SEGMENT",
    "PINS",
    "ROOT",
    "ConsumerObject",
    "FileName",
    "PinObject",
    "RunKeys",
    "RunObject",
    "StreamKeys",
    "StreamObject",
    "TapObject",
    "catalogue",
    "digits_of",
    "escape",
    "file_path",
    "is_named_by_content",
    "is_of_files",
    "merge_path",
    "note_path",
    "parse",
    "pin",
    "segment_path",
    "tap_folder",
    "unescape",
    "uploads_folder",
    "withdrawal_path",
]

LAKE_DOCUMENT = "raw/singerlake.json"

DIGITS = 10
"""How many digits of a file's SHA-256 end its name: with them the longest key segment, that of a
note, has 255 bytes, and no name is taken for an older one with eight random digits."""

_HASH = re.compile(r"[0-9A-Za-z]{7}")
_FILE = re.compile(
    r"(?P<stream>.+)-(?P<first>\d{8}T\d{6}(?:\.\d{6})?Z)-(?P<last>\d{8}T\d{6}(?:\.\d{6})?Z)"
    r"(?:-(?P<suffix>[0-9a-f]{8}|[0-9a-f]{10}))?\.singer(?P<compression>|\.gz|\.bz2)",
    re.ASCII,
)
_SEGMENT = re.compile(
    r"(?P<level>\d+)-(?P<first>\d+)-(?P<last>\d+)-(?P<id>[0-9a-f]{8})\.json", re.ASCII
)
_MERGE = re.compile(r"\d+-\d+-[0-9a-f]{8}\.json", re.ASCII)
_JOB = re.compile(r"[0-9a-f]{32}")
_WITHDRAWN = "withdrawn.json"
_COPY = "manifest.copy.json"


@dataclass(frozen=True)
class FileName:
    """What a Singer file's name tells: its stream, the times of its records, and its bytes.

    `suffix` is the `digits_of` the file. Older names have eight random digits there, or nothing.
    """

    stream: str
    first: datetime
    last: datetime
    suffix: str = ""
    compression: str = ".gz"

    def __str__(self) -> str:
        suffix = f"-{self.suffix}" if self.suffix else ""
        return (
            f"{escape(self.stream)}-{times.stamp(self.first)}-{times.stamp(self.last)}"
            f"{suffix}.singer{self.compression}"
        )

    @property
    def digits(self) -> str:
        """The first digits of the file's SHA-256; "" where an older name does not tell."""
        return self.suffix if len(self.suffix) == DIGITS else ""

    def may_be_of(self, checksum: str) -> bool:
        """Whether a file with this checksum can have the name: any, where it is an older one."""
        return self.digits in ("", digits_of(checksum))

    @staticmethod
    def parse(text: str) -> FileName | None:
        """The name's parts, or None where it is not a Singer file's name."""
        match = _FILE.fullmatch(text)
        if match is None:
            return None
        try:
            return FileName(
                stream=unescape(match["stream"]),
                first=times.parse_stamp(match["first"]),
                last=times.parse_stamp(match["last"]),
                suffix=match["suffix"] or "",
                compression=match["compression"],
            )
        except (BadName, ValueError):
            return None


def digits_of(checksum: str) -> str:
    """What a file's name tells of a checksum: no two files have one name."""
    return checksum.removeprefix("sha256:")[:DIGITS]


def is_named_by_content(path: str) -> bool:
    """Whether the name at the end of a Singer file's path means one file for ever."""
    name = FileName.parse(path.rpartition("/")[2])
    return name is not None and name.digits != ""


def catalogue(tap_id: str) -> str:
    return f"{tap_folder(tap_id)}/catalogue.json"


@dataclass(frozen=True)
class StreamKeys:
    """The keys of one stream of one tap."""

    tap_id: str
    stream: str

    @property
    def folder(self) -> str:
        return f"{tap_folder(self.tap_id)}/{escape(self.stream)}"

    @property
    def manifest(self) -> str:
        return f"{self.folder}/manifest.json"

    @property
    def manifest_copy(self) -> str:
        return f"{self.folder}/{_COPY}"

    def lock(self, schema_hash: str) -> str:
        return f"{self.folder}/{schema_hash}/singerlake.lock"

    def under(self, path: str) -> str:
        """The key of a path that the manifest gives relative to the stream's folder."""
        return f"{self.folder}/{path}"


def file_path(schema_hash: str, name: FileName) -> str:
    """A file's path as the manifest has it: relative to the stream's folder."""
    return f"{schema_hash}/{name}"


def segment_path(level: int, first: int, last: int, unique: str) -> str:
    """A segment's path as the manifest has it; `unique` is eight hexadecimal digits."""
    return f"_segments/{level}-{first:012d}-{last:012d}-{unique}.json"


def is_of_files(segment: str) -> bool:
    """Whether a segment's path is that of one of the lowest level."""
    return segment.startswith("_segments/1-")


def merge_path(first: int, last: int, unique: str) -> str:
    """A merge document's path as the manifest has it; `unique` is eight hexadecimal digits."""
    return f"_merges/{first:012d}-{last:012d}-{unique}.json"


def uploads_folder(job: str = "") -> str:
    """Where the notes of all jobs lie, or those of one; `job` is 32 hexadecimal digits."""
    return f"_uploads/{job}" if job else "_uploads"


def note_path(job: str, path: str) -> str:
    """The note that the file at `path` waits for the commit of its job."""
    return f"{uploads_folder(job)}/{path}.json"


def withdrawal_path(job: str) -> str:
    """What tells that a job will not commit any more."""
    return f"{uploads_folder(job)}/{_WITHDRAWN}"


@dataclass(frozen=True)
class TapObject:
    """A tap's catalogue."""

    tap_id: str


@dataclass(frozen=True)
class StreamObject:
    """Something in a stream's folder: `kind` is manifest, copy (of the manifest), segment, merge,
    note, lock, file, blob (the bytes of a file of any kind) or removal (what tells that a purge is
    removing blobs).

    A note has the `job` that it is of, and the path of the file that it is about: none where it
    tells that the job was withdrawn.
    """

    keys: StreamKeys
    kind: str
    path: str
    schema_hash: str = ""
    name: FileName | None = None
    job: str = ""
    about: str = ""


def parse(
    key: str,
) -> TapObject | RunObject | StreamObject | PinObject | ConsumerObject | None:
    """What a key below `raw/` is; None for the lake document and for what is not ours."""
    root, *segments = key.split("/")
    try:
        if root != ROOT or not 2 <= len(segments) <= 6:
            return None
        if segments[0] == pin_keys.FOLDER:
            return pin_keys.parse(segments[1:])
        if segments[0] == consumer_keys.FOLDER:
            return consumer_keys.parse(segments[1:])
        tap_id = unescape(segments[0])
        if len(segments) == 2:
            return TapObject(tap_id) if segments[1] == "catalogue.json" else None
        if segments[1] == run_keys.FOLDER:
            return run_keys.parse(tap_id, segments[2:])
        keys = StreamKeys(tap_id, unescape(segments[1]))
    except BadName:
        return None
    return _in_stream(keys, segments[2:])


def _in_stream(keys: StreamKeys, rest: list[str]) -> StreamObject | None:
    path = "/".join(rest)
    if path == "manifest.json":
        return StreamObject(keys, "manifest", path)
    if path == _COPY:
        return StreamObject(keys, "copy", path)
    if rest[0] == uploads_folder():
        return _note(keys, rest)
    if rest[0] == FILES:
        kind = kind_of(path)
        return StreamObject(keys, kind, path) if kind else None
    if len(rest) != 2:
        return None
    folder, leaf = rest
    if folder == "_segments":
        return StreamObject(keys, "segment", path) if _SEGMENT.fullmatch(leaf) else None
    if folder == "_merges":
        return StreamObject(keys, "merge", path) if _MERGE.fullmatch(leaf) else None
    if not _HASH.fullmatch(folder):
        return None
    if leaf == "singerlake.lock":
        return StreamObject(keys, "lock", path, folder)
    name = FileName.parse(leaf)
    if name is None or name.stream != keys.stream:
        return None
    return StreamObject(keys, "file", path, folder, name)


def _note(keys: StreamKeys, rest: list[str]) -> StreamObject | None:
    if len(rest) < 3 or not _JOB.fullmatch(rest[1]):
        return None
    path, job = "/".join(rest), rest[1]
    if path == withdrawal_path(job):
        return StreamObject(keys, "note", path, job=job)
    if not path.endswith(".json"):
        return None
    about = _in_stream(keys, [*rest[2:-1], rest[-1].removesuffix(".json")])
    if about is None or about.kind != "file":
        return None
    return StreamObject(keys, "note", path, job=job, about=about.path)
