"""A table of DynamoDB: puts, deletes and queries, each as often as it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from boto3.dynamodb.conditions import Attr, ConditionBase, Key
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from singerlake.errors import BadLocation, PermissionDenied, Unavailable
from singerlake.index.storage.dynamodb.item import (
    HASH,
    LATEST_HASH,
    RANGE,
    RUN_HASH,
    RUN_INDEX,
    Item,
)

_DENIED = ("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException")
_MISSING = "ResourceNotFoundException"
_CONDITION = "ConditionalCheckFailedException"


class Table:
    """The table of records, and that of the latest record of each stream."""

    def __init__(self, name: str, latest: str, options: Mapping[str, str]) -> None:
        self.name = name
        config = Config(retries={"mode": "adaptive", "max_attempts": 10})
        with self._explained():
            self._resource = boto3.session.Session(region_name=options.get("region")).resource(
                "dynamodb", endpoint_url=options.get("endpoint_url"), config=config
            )
            self._records = self._resource.Table(name)
            self._latest = self._resource.Table(latest)

    def create(self) -> None:
        """Both tables, where they are missing."""
        with self._explained():
            _create(self._resource, self._records.name, (HASH, RANGE), (RUN_HASH, RANGE))
            _create(self._resource, self._latest.name, (LATEST_HASH,), None)

    def put(self, items: Iterable[Item]) -> None:
        """Each in place of what has its keys."""
        with (
            self._explained(),
            self._records.batch_writer(overwrite_by_pkeys=[HASH, RANGE]) as batch,
        ):
            for item in items:
                batch.put_item(Item=item)

    def delete(self, items: Iterable[Mapping[str, Any]]) -> None:
        """By their keys."""
        with (
            self._explained(),
            self._records.batch_writer(overwrite_by_pkeys=[HASH, RANGE]) as batch,
        ):
            for item in items:
                batch.delete_item(Key={HASH: item[HASH], RANGE: item[RANGE]})

    def get(self, partition: str, range_key: str) -> Item | None:
        with self._explained():
            key = {HASH: partition, RANGE: range_key}
            found: Item | None = self._records.get_item(Key=key, ConsistentRead=True).get("Item")
            return found

    def partition(self, partition: str) -> Iterator[Item]:
        """A whole partition in the order of its range keys."""
        return self.query(Key(HASH).eq(partition), ConsistentRead=True)

    def range(self, partition: str, first: str, last: str) -> Iterator[Item]:
        """A part of a partition, both ends included."""
        condition = Key(HASH).eq(partition) & Key(RANGE).between(first, last)
        return self.query(condition, ConsistentRead=True)

    def of_run(self, partition: str) -> Iterator[Item]:
        """The records of a run. DynamoDB keeps this index a moment later than the table."""
        return self.query(Key(RUN_HASH).eq(partition), IndexName=RUN_INDEX)

    def query(self, condition: ConditionBase, **options: Any) -> Iterator[Item]:
        start: dict[str, Any] = {}
        while True:
            with self._explained():
                answer = self._records.query(KeyConditionExpression=condition, **options, **start)
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def put_latest(self, what_where: str, record: Item) -> None:
        """Unless the stream has a newer one."""
        newer = Attr(LATEST_HASH).not_exists() | Attr("metadata.start").lte(
            record["metadata"]["start"]
        )
        item = {**record, LATEST_HASH: what_where}
        try:
            self._latest.put_item(Item=item, ConditionExpression=newer)
        except ClientError as error:
            if error.response["Error"]["Code"] != _CONDITION:
                with self._explained():
                    raise

    def drop_latest(self, what_where: str) -> None:
        with self._explained():
            self._latest.delete_item(Key={LATEST_HASH: what_where})

    @contextmanager
    def _explained(self) -> Iterator[None]:
        where = f"dynamodb://{self.name}"
        try:
            yield
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _DENIED:
                raise PermissionDenied(f"{where}: {error}") from error
            if code == _MISSING:
                raise BadLocation(f"{where}: there is no such table: {error}") from error
            raise Unavailable(f"{where}: {error}") from error
        except BotoCoreError as error:
            raise BadLocation(f"{where}: {error}") from error


def _create(resource: Any, name: str, keys: tuple[str, ...], index: tuple[str, ...] | None) -> None:
    names = dict.fromkeys((*keys, *(index or ())))
    more: dict[str, Any] = {}
    if index is not None:
        projection = {"ProjectionType": "ALL"}
        more["GlobalSecondaryIndexes"] = [
            {"IndexName": RUN_INDEX, "KeySchema": _schema(index), "Projection": projection}
        ]
    try:
        resource.meta.client.describe_table(TableName=name)
        return
    except ClientError as error:
        if error.response["Error"]["Code"] != _MISSING:
            raise
    try:
        resource.create_table(
            TableName=name,
            KeySchema=_schema(keys),
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in names],
            BillingMode="PAY_PER_REQUEST",
            **more,
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceInUseException":
            raise
    resource.Table(name).wait_until_exists()


def _schema(keys: tuple[str, ...]) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(keys, kinds, strict=False)
    ]
