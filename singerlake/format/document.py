"""What the JSON documents of the lake share: a kind, a format version, and clear refusals."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec

from singerlake.errors import CorruptDocument, UnsupportedFormat
from singerlake.format.nesting import DEEPEST, is_too_deep

VERSION = 1
"""The newest format version that this code writes and reads."""

Document = TypeVar("Document")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Up to where every JSON parser is exact: more than there is, and sums of some stay in 64 bits."""

MaybeCount = Annotated[int, msgspec.Meta(ge=-1, le=2**53)]
"""-1 where nothing tells it."""

LARGEST_SUM = 2**63 - 1
Sum = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_SUM)]

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""With a zone: a time without one cannot be compared with others."""


class _Head(msgspec.Struct):
    format: str
    format_version: int


_heads = msgspec.json.Decoder(_Head)


def reader(
    into: type[Document],
    kind: str,
    sealed: bool = False,
    require: Callable[[Document], None] = lambda _: None,
) -> Callable[[bytes, str], Document]:
    """A function that reads a document of one kind, given its bytes and where they are.

    `require` raises `ValueError`, with what it found, where types alone do not tell that a
    document is wrong. The function raises `CorruptDocument` and `UnsupportedFormat`. Make it when
    the module is imported: msgspec learns a type the first time it meets it, and two threads that
    meet it at the same moment crash the process.
    """
    documents = msgspec.json.Decoder(into)

    def decode(data: bytes, where: str) -> Document:
        if sealed:
            require_seal(data, kind, where)
        try:
            _require(_heads.decode(data), kind, where)
            found = documents.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            # Names may hold lone surrogates, which only Python's json reads.
            found = convert(data, where)
        try:
            require(found)
        except ValueError as error:
            raise corrupt(kind, where, error) from error
        return found

    def convert(data: bytes, where: str) -> Document:
        body = decode_object(data, kind, where)
        try:
            return msgspec.convert(body, into)
        except (ValueError, RecursionError) as error:
            # A `ValidationError` is one, and so is a lone surrogate where a time should be.
            raise corrupt(kind, where, error) from error

    return decode


def decode_object(data: bytes, kind: str, where: str) -> dict[str, Any]:
    """Read a document as Python's json does: every key in its place, every integer exact."""
    try:
        body = json.loads(data)
        _require(msgspec.convert(body, _Head), kind, where)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise corrupt(kind, where, error) from error
    if is_too_deep(body):
        raise corrupt(kind, where, f"more than {DEEPEST} levels of nesting")
    return dict(body)


def _require(head: _Head, kind: str, where: str) -> None:
    if head.format != kind:
        raise corrupt(kind, where, f"a document of format {head.format!r}")
    if head.format_version > VERSION:
        raise UnsupportedFormat(
            f"{where}: format version {head.format_version} is newer than {VERSION}, the newest "
            "that this Singerlake knows; upgrade it (`pip install -U singerlake`)"
        )


_REBUILT = "`singerlake rebuild` makes it again from the files"
_REMEDIES = {
    "singerlake.pin": (
        "nothing else says what was pinned: restore it from a backup, or remove it by "
        "`singerlake unpin`"
    ),
    "singerlake.run": (
        "nothing else says how this run ended: restore it from a backup, or delete it and run "
        "`singerlake rebuild`"
    ),
    "singerlake.run_log": "`singerlake rebuild` makes it again from the documents of the runs",
    "singerlake.run_segment": "`singerlake rebuild` makes it again from the documents of the runs",
}


def corrupt(kind: str, where: str, found: object) -> CorruptDocument:
    return CorruptDocument(
        f"{where}: expected a {kind} document, found {found}; {_REMEDIES.get(kind, _REBUILT)}"
    )


_SEAL = re.compile(rb',\s*"document_checksum":\s*"sha256:(?P<hash>[0-9a-f]{64})"\s*\}\n\Z')
_TEXT_LAST = re.compile(rb'"\s*\}\n\Z')


def seal(data: bytes) -> bytes:
    """The document with a last field that holds the checksum of all that stands before it."""
    body = data.removesuffix(b"\n").removesuffix(b"}").rstrip()
    indented = data.endswith(b"\n}\n")
    field = (
        b',\n  "document_checksum": "sha256:%s"\n}\n'
        if indented
        else (b',"document_checksum":"sha256:%s"}\n')
    )
    return body + field % hashlib.sha256(body).hexdigest().encode()


def require_seal(data: bytes, kind: str, where: str) -> None:
    """Raises `CorruptDocument` where a sealed document is not as it was written.

    Older documents have no seal, and what another program has printed anew does not end as ours
    do: both pass. No document that is sealed has a text as its last value but the seal.
    """
    found = _SEAL.search(data)
    if found is None and not _TEXT_LAST.search(data):
        return
    if found is None or found["hash"].decode() != hashlib.sha256(data[: found.start()]).hexdigest():
        raise corrupt(kind, where, "other bytes than were written (by its document_checksum)")


def encode(value: Any) -> bytes:
    """Compact JSON, for documents that programs read."""
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError:
        body = msgspec.to_builtins(value)
        return _utf8(json.dumps(body, separators=(",", ":"), ensure_ascii=False))


def encode_object(body: dict[str, Any]) -> bytes:
    """Indented JSON, for documents that people open and edit."""
    return _utf8(json.dumps(body, indent=2, ensure_ascii=False))


def _utf8(text: str) -> bytes:
    """A lone surrogate, which UTF-8 cannot hold, becomes the escape that JSON has for it."""
    return text.encode("utf-8", "backslashreplace") + b"\n"
