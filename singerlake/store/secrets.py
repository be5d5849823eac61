"""Keeping secrets out of messages, logs and URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from singerlake.store.sealed import secret_values

SHORTEST = 4
"""Characters of a secret: blotting out fewer would blot out half of every message."""

# A colon before the first slash that is no port's begins a password, which may hold slashes (AWS's
# often do) and more than one @; without one, an @ behind the first slash is part of a path.
_PASSWORD = r"(?![^/:]*:\d{1,5}(?:/|$))[^/:]*:.*@"
_USER_INFO = re.compile(rf"(?<=://)(?:{_PASSWORD}|[^/]*@)")


def user_info(url: str) -> str:
    """The user and password in the URL, with the @ that ends them; else nothing."""
    match = _USER_INFO.search(url)
    return match[0] if match else ""


def public_url(url: str) -> str:
    """The URL without the user and password that it may hold."""
    return _USER_INFO.sub("", url)


def scrub(text: str, options: Mapping[str, Any]) -> str:
    """The text with every secret of the options, and every user info in a URL, blotted out."""
    known = (value for value in secret_values(options) if len(value) >= SHORTEST)
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _USER_INFO.sub("***@", text)
