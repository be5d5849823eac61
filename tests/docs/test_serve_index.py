"""What docs/how-to/serve-index.md says of settings, policies and paths."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from singerlake.cli.index.ingest import ingest
from singerlake.cli.index.serve import serve
from singerlake.http.service import HEALTH
from singerlake.index.api.app import index_app
from singerlake.index.notification import aws
from singerlake.index.notification.report import Report

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve-index.md"
TEXT = PAGE.read_text(encoding="utf-8")

ACTIONS = {
    "receive_message": "sqs:ReceiveMessage",
    "delete_message_batch": "sqs:DeleteMessage",
    "get_queue_attributes": "sqs:GetQueueAttributes",
    "head_object": "s3:GetObject",
    "publish": "sns:Publish",
}


def json_blocks() -> list[Any]:
    return [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```$", TEXT, re.M | re.S)]


def flags(command: click.Command) -> set[str]:
    return {flag for option in command.params for flag in option.opts if flag.startswith("--")}


def test_the_policy_allows_what_is_asked_of_aws_and_no_more() -> None:
    tree = ast.parse(Path(str(aws.__file__)).read_text())
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr == "_client"
    }
    assert called == set(ACTIONS)
    (policy,) = [
        one for one in json_blocks() if any("Sid" in row for row in one.get("Statement", ()))
    ]
    allowed = [row["Action"] for row in policy["Statement"]]
    names = [name for one in allowed for name in ([one] if isinstance(one, str) else one)]
    assert sorted(names) == sorted(ACTIONS.values())


def test_the_settings_of_the_file_are_options() -> None:
    (settings,) = [one for one in json_blocks() if "listen" in one]
    assert {f"--{name}" for name in settings} <= flags(serve)


def test_the_options_it_names_exist() -> None:
    named = set(re.findall(r"`(--[a-z-]+)", TEXT))
    assert named
    assert named <= flags(serve) | flags(ingest)


def test_the_paths_it_names_exist() -> None:
    named = {path for path in re.findall(r"^\| `(/[^?`]*)", TEXT, re.M)}
    served = {getattr(route, "path", "") for route in index_app(None).routes}  # type: ignore[arg-type]
    shown = {re.sub(r"\{(\w+)(:path)?\}", r"<\1>", path) for path in served} | HEALTH
    assert named
    assert named <= shown


def test_the_report_has_the_fields_of_a_report() -> None:
    (shown,) = [one for one in json_blocks() if "duration" in one]
    fields = set(Report.__struct_fields__)
    assert set(shown) == fields - {"message"}


@pytest.mark.parametrize("name", ["http_requests", "http_request_seconds", "index_notifications"])
def test_the_metrics_it_names_exist(name: str) -> None:
    assert f"singerlake_{name}" in TEXT
    sources = (Path(__file__).parents[2] / "singerlake").rglob("*.py")
    assert any(f'"{name}"' in source.read_text(encoding="utf-8") for source in sources)
