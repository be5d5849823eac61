"""No secret in a message, and no message without its words."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.store.secrets import scrub

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
