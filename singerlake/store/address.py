"""The user and password that a URL may hold."""

from __future__ import annotations

import re

# A colon before the first slash that is no port's begins a password, which may hold slashes (AWS's
# often do) and more than one @; without one, an @ behind the first slash is part of a path. Azure's
# addresses have a container before the @, which is no user.
_PASSWORD = r"(?![^/:]*:\d{1,5}(?:/|$))[^/:]*:.*@"
_AZURE = "".join(f"(?<!{scheme}://)" for scheme in ("abfs", "abfss", "az", "adl", "wasb", "wasbs"))
_USER_INFO = re.compile(rf"(?<=://){_AZURE}(?:{_PASSWORD}|[^/]*@)", re.I)


def user_info(url: str) -> str:
    """The user and password in the URL, with the @ that ends them; else nothing."""
    match = _USER_INFO.search(url)
    return match[0] if match else ""


def password(url: str) -> str:
    """The same, where there is a password."""
    found = user_info(url)
    return found if ":" in found else ""


def public_url(url: str, instead: str = "") -> str:
    """The URL, or a text with URLs, without the users and passwords that it may hold."""
    return _USER_INFO.sub(instead, url)
