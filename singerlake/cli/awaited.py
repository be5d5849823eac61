"""The words of `singerlake wait`: a root, and what is awaited."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime

import click

from singerlake.cli.place import VARIABLE
from singerlake.errors import BadName, ConfigError
from singerlake.format.names import unescape
from singerlake.wait.event import Awaited, LakeCommit, LakeRun
from singerlake.wait.window import Window

_WORD = re.compile(r"(?P<tap>[^/@]+)(?:/(?P<stream>[^/@]+))?(?:@(?P<sequence>\d{1,16}))?", re.ASCII)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|[./~]|[A-Za-z]:[/\\]", re.ASCII)


def split_root(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The root, None where no word is one, and the others.

    Without $SINGERLAKE_ROOT the first word is the root. With it a first word is a root where it
    looks like one: a URL, or a path that begins with `/`, `.` or `~`. Raises `click.UsageError`.
    """
    known = os.environ.get(VARIABLE)
    if words and (not known or _ADDRESS.match(words[0])):
        return words[0], list(words[1:])
    if not known:
        raise click.UsageError(
            f"Missing argument ROOT. ROOT is the lake's folder or URL; ${VARIABLE} can hold it."
        )
    return known, list(words)


def parse_word(word: str, window: Window | None, since: datetime | None) -> Awaited:
    """`TAP`, `TAP/STREAM` or `TAP/STREAM@SEQUENCE`. Raises `ConfigError`.

    A tap or a stream is awaited by a complete run; a number by its commit.
    """
    match = _WORD.fullmatch(word)
    try:
        tap = unescape(match["tap"]) if match else ""
        stream = unescape(match["stream"]) if match and match["stream"] else None
    except BadName as error:
        raise ConfigError(f"{word!r}: {error}") from None
    if match is None or (match["sequence"] and stream is None):
        raise ConfigError(
            f"expected TAP, TAP/STREAM or TAP/STREAM@SEQUENCE, found {word!r}; other characters in "
            "names are written as !XX, as in the lake's paths (docs/spec.md, Names)"
        )
    if match["sequence"]:
        assert stream is not None
        number = int(match["sequence"])
        return LakeCommit(name=word, tap=tap, stream=stream, sequence=number)
    streams = () if stream is None else (stream,)
    return LakeRun(name=word, tap=tap, streams=streams, window=window, since=since)
