"""Which of the typed words is the root, the tap and the stream, where words may be left out."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from itertools import takewhile

import click

VARIABLE = "SINGERLAKE_ROOT"


def in_place(
    words: Sequence[str],
    names: Sequence[str],
    required: Collection[str] = (),
    by_option: Collection[str] = (),
) -> dict[str, str | None]:
    """The root and a word for each name; None for a name without a word.

    A name in `by_option` was given as an option, so no word stands for it, nor for a later name.
    $SINGERLAKE_ROOT stands for the root where the root was left out. Counting shows that, except
    where a name is optional: then a first word with a slash is a root. Raises `click.UsageError`
    where a word is missing or too many.
    """
    root = os.environ.get(VARIABLE)
    open_names = tuple(takewhile(lambda name: name not in by_option, names))
    least = sum(name in required for name in open_names)
    if len(words) > 1 + len(open_names):
        raise _too_many(words, names, open_names)
    typed = len(words) > len(open_names) or (len(words) > least and is_address(words[0]))
    if root and not typed:
        words = [root, *words]
    if len(words) <= least:
        raise _missing(("root", *open_names)[len(words)], bool(root))
    for name in names[len(open_names) :]:
        if name in required and name not in by_option:
            raise _missing(name, True)
    return {
        **dict.fromkeys(names),
        **dict(zip(("root", *open_names), words, strict=False)),
    }


def is_address(word: str) -> bool:
    return "/" in word or os.sep in word or word in (".", "..")


def _missing(name: str, has_root: bool) -> click.UsageError:
    hint = "" if has_root else f" ROOT is the lake's folder or URL; ${VARIABLE} can hold it."
    return click.UsageError(f"Missing argument {name.upper()}.{hint}")


def _too_many(
    words: Sequence[str], names: Sequence[str], open_names: Sequence[str]
) -> click.UsageError:
    extra = words[1 + len(open_names)]
    if len(open_names) == len(names):
        return click.UsageError(f"Got unexpected extra argument ({extra})")
    twice = names[len(open_names)]
    return click.UsageError(
        f"{extra!r}: {twice.upper()} and --{twice} are the same, give only one of them"
    )
