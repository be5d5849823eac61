"""The body of a request: bounded as sent, and bounded again when it is unpacked."""

from __future__ import annotations

import zlib

from singerlake.http.answer import Problem, Receive, Scope
from singerlake.http.settings import Limits

_GZIP = 16 + zlib.MAX_WBITS
_MOST_MEMBERS = 100
_ENCODINGS = {b"": False, b"identity": False, b"gzip": True, b"x-gzip": True}


async def read_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """The body as its sender meant it: gzip is unpacked. `Service` has received it, within its
    bounds, before it called the app.

    Raises `Problem`: 400 where it is no gzip, 413 where it unpacks to too much, 415 for other
    encodings.
    """
    encoding = next((value for name, value in scope["headers"] if name == b"content-encoding"), b"")
    is_gzip = _ENCODINGS.get(encoding.strip().lower())
    if is_gzip is None:
        raise Problem(
            415,
            "UnsupportedEncoding",
            "expected a body that is plain or gzip",
            [(b"accept-encoding", b"gzip, identity")],
        )
    body: bytes = (await receive())["body"]
    return _unpacked(body, limits.unpacked_bytes) if is_gzip else body


def _unpacked(packed: bytes, most: int) -> bytes:
    """The content of one gzip member, or of several in a row: few, as each costs a copy of all that
    comes after it."""
    parts, size = [], 0
    for _ in range(_MOST_MEMBERS):
        inflater = zlib.decompressobj(_GZIP)
        try:
            parts.append(inflater.decompress(packed, most - size + 1))
        except zlib.error:
            raise Problem(400, "BadGzip", "the body is not the gzip that its header says") from None
        size += len(parts[-1])
        if size > most:
            raise Problem(413, "TooLarge", f"a body may have {most} bytes when it is unpacked")
        if not inflater.eof:
            raise Problem(400, "BadGzip", "the body is gzip that ends before its end")
        packed = inflater.unused_data
        if not packed:
            return b"".join(parts)
    raise Problem(400, "BadGzip", f"the body has more than {_MOST_MEMBERS} members of gzip")
