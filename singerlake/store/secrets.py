"""Keeping secrets out of messages and logs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from singerlake.store.address import public_url
from singerlake.store.sealed import secret_values

SHORTEST = 4
"""Characters of a secret: blotting out fewer would blot out half of every message."""


def text_of(error: BaseException, options: Mapping[str, Any]) -> str:
    """The error's kind and text, without secrets."""
    return scrub(f"{type(error).__name__}: {error}", options)


def cause(error: Exception, options: Mapping[str, Any]) -> Exception | None:
    """The error as the cause of another; None where a traceback would show a secret with it."""
    return error if scrub(str(error), options) == str(error) else None


def scrub(text: str, options: Mapping[str, Any]) -> str:
    """The text with every secret of the options, and every user info in a URL, blotted out."""
    known = (value for value in secret_values(options) if len(value) >= SHORTEST)
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, "***")
    return public_url(text, "***@")


def silence_debug(*loggers: str) -> None:
    """Keep the debug messages of libraries out of logs: they hold headers and whatever is sent.

    A logger whose level somebody has set keeps it, and no logger says more than before.
    """
    for name in loggers:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(max(logging.INFO, logger.getEffectiveLevel()))
