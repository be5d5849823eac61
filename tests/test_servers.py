"""The servers that other tests stand on: they store, and they honour conditions."""

from __future__ import annotations

import pytest
import s3fs
from botocore.exceptions import ClientError

from tests.servers import S3Server


def test_seaweedfs(seaweedfs: S3Server) -> None:
    stores_and_honours_conditions(seaweedfs)


def test_moto(moto_server: S3Server) -> None:
    stores_and_honours_conditions(moto_server)


def stores_and_honours_conditions(server: S3Server) -> None:
    bucket, client = server.new_bucket(), server.client()
    client.put_object(Bucket=bucket, Key="a/b", Body=b"first", IfNoneMatch="*")

    with pytest.raises(ClientError) as refused:
        client.put_object(Bucket=bucket, Key="a/b", Body=b"second", IfNoneMatch="*")

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert client.get_object(Bucket=bucket, Key="a/b")["Body"].read() == b"first"
    filesystem = s3fs.S3FileSystem(**server.storage_options(), skip_instance_cache=True)
    assert filesystem.cat_file(f"{bucket}/a/b") == b"first"
