"""A stream's schema, and the seven characters that name it in every path."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import farmhash

_CLEAN = re.compile(r"[0-9A-Za-z]{7}")


@dataclass(frozen=True)
class Schema:
    """What a SCHEMA message declares that tells one version of a stream from another."""

    schema: Mapping[str, Any]
    key_properties: Sequence[str] = ()

    def canonical(self) -> bytes:
        """The text that is hashed: canonical JSON, as Python prints it.

        Python's own `json`, because real schemas hold integers past 64 bits, which
        faster libraries refuse or round.
        """
        text = json.dumps(
            {"key_properties": list(self.key_properties), "schema": self.schema},
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        return text.encode("utf-8", "surrogatepass")

    def hash(self) -> str:
        """Seven characters of `[0-9A-Za-z]`, see `hash_text`."""
        return hash_text(self.canonical())

    def digest(self) -> str:
        """SHA-256 of the canonical text: tells two schemas with one hash apart."""
        return "sha256:" + hashlib.sha256(self.canonical()).hexdigest()


def hash_text(text: bytes) -> str:
    """FarmHash's fingerprint64 in Base85, hashed again until it is safe in every path.

    About one in nine tries holds letters and digits only (docs/decisions/schema-hash.md).
    """
    attempt = 0
    while True:
        salted = text if attempt == 0 else text + b"\n" + str(attempt).encode()
        fingerprint: int = farmhash.fingerprint64(salted)
        hashed = base64.b85encode(fingerprint.to_bytes(8, "big"))[:7].decode()
        if _CLEAN.fullmatch(hashed):
            return hashed
        attempt += 1
