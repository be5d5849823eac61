"""Names of datasets: by OpenLineage's rules, and never two things under one name."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadName
from singerlake.format.keys import LONGEST_SEGMENT, escape
from singerlake.lineage.event import name

RULES = [
    ("/data/lake", "file", "/data/lake/raw"),
    ("s3://bucket/some/lake", "s3://bucket", "some/lake/raw"),
    ("s3://bucket", "s3://bucket", "raw"),
    ("s3a://bucket/lake/", "s3://bucket", "lake/raw"),
    ("gcs://bucket/lake", "gs://bucket", "lake/raw"),
    ("gs://bucket/lake", "gs://bucket", "lake/raw"),
    (
        "abfs://box@account.dfs.core.windows.net/lake",
        "abfss://box@account.dfs.core.windows.net",
        "lake/raw",
    ),
    ("hdfs://node:8020/lake", "hdfs://node:8020", "/lake/raw"),
    ("sftp://host/lake", "sftp://host", "/lake/raw"),
    ("memory://made", "inmemory://", "made/raw"),
]


@pytest.mark.parametrize(("url", "namespace", "found"), RULES)
def test_the_rules(url: str, namespace: str, found: str) -> None:
    named = name.in_store(url, "raw")
    assert (named.namespace, named.name) == (namespace, found)
    assert urlsplit(named.uri).scheme


names = st.text(min_size=1, max_size=40)


def _escapable(text: str) -> bool:
    try:
        return len(escape(text)) <= LONGEST_SEGMENT
    except BadName:
        return False


@given(names.filter(_escapable), names.filter(_escapable), names.filter(_escapable))
def test_two_streams_never_share_a_name(tap: str, one: str, other: str) -> None:
    first, second = (name.of_stream("s3://b/lake", tap, each) for each in (one, other))
    assert (first == second) == (one == other)
    assert first.uri.isascii()
    assert " " not in first.uri
