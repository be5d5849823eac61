"""No secret in a message, and no message without its words."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest

from singerlake.store.address import public_url, user_info
from singerlake.store.secrets import scrub, silence_debug

MESSAGE = "the bucket is not there: check the address"


@pytest.mark.parametrize("secret", ["e", "th", "the"])
def test_a_secret_of_a_few_letters_does_not_blot_out_the_message(secret: str) -> None:
    assert scrub(MESSAGE, {"secret": secret, "key": ""}) == MESSAGE


@pytest.mark.parametrize(
    "options",
    [
        {"secret": "hunter2"},
        {"password": "hunter2", "token": "hunter"},
        {"client_kwargs": {"aws_secret_access_key": "hunter2"}},
        {"credentials": {"user": "hunter2"}},
    ],
)
def test_a_secret_is_blotted_out_wherever_it_stands(options: dict[str, Any]) -> None:
    told = scrub(f"{MESSAGE} (hunter2, ftp://me:hunter2@host/x)", options)
    assert "hunter" not in told
    assert told.startswith(MESSAGE)


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("ftp://user:p@SECRET@host/lake", "ftp://host/lake"),
        ("ftp://user:p SECRET@host/lake", "ftp://host/lake"),
        ("ftp://user:SEC/RET@host/lake", "ftp://host/lake"),
        ("ftp://user:S@EC/RE@T@host:21/lake", "ftp://host:21/lake"),
        ("ftp://user:12345@host/lake", "ftp://host/lake"),
        ("s3://AKIAEXAMPLE:abc/SECRET@bucket/lake", "s3://bucket/lake"),
        ("sftp://SECRET@host:22/lake", "sftp://host:22/lake"),
    ],
)
def test_all_of_the_user_and_password_is_left_out_of_a_url(url: str, public: str) -> None:
    assert public_url(url) == public
    assert url == url.replace(user_info(url), "", 1).replace("://", f"://{user_info(url)}", 1)
    told = scrub(f"{MESSAGE} ({url})", {})
    assert told == f"{MESSAGE} ({public.replace('://', '://***@')})"


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/team@home/lake", "sftp://host:22/team@home/lake", "file:///C:/team@home/lake"],
)
def test_a_path_may_hold_what_would_end_a_password(url: str) -> None:
    assert user_info(url) == ""
    assert public_url(url) == url
    assert scrub(url, {}) == url


@pytest.mark.parametrize(
    ("around", "own", "after"),
    [
        (logging.WARNING, logging.NOTSET, logging.WARNING),
        (logging.INFO, logging.NOTSET, logging.INFO),
        (logging.DEBUG, logging.NOTSET, logging.INFO),
        (logging.WARNING, logging.DEBUG, logging.DEBUG),
    ],
)
def test_a_library_says_no_more_than_before_and_nothing_of_debug(
    around: int, own: int, after: int
) -> None:
    name = f"library-{uuid.uuid4().hex}"
    logging.getLogger(name).setLevel(around)
    logger = logging.getLogger(f"{name}.inner")
    logger.setLevel(own)
    silence_debug(logger.name)
    assert logger.getEffectiveLevel() == after
    logging.getLogger(name).setLevel(logging.DEBUG)  # somebody turns it on later
    assert logger.getEffectiveLevel() >= min(after, logging.INFO)
