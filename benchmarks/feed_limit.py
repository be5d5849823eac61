"""The least that a poll can cost: bare conditional requests, or a stat of each file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiobotocore.session import AioSession  # type: ignore[import-untyped, unused-ignore]
from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore]
    ClientError,
)
from yarl import URL

from benchmarks.stores import Place
from singerlake.store import Listed

AT_ONCE = 32
STAT, CLIENT, HTTP = "os.stat", "bare aiobotocore", "bare aiohttp"

Limits = dict[str, Callable[[], None]]


@contextmanager
def limits(place: Place, rows: list[Listed]) -> Iterator[Limits]:
    """By name, what asks for each of these objects once, as nothing could for less."""
    if place.wire is None:
        paths = [Path(place.store.url, row.key) for row in rows]
        yield {STAT: lambda: _stat(paths)}
        return
    loop = asyncio.new_event_loop()
    stack = AsyncExitStack()
    try:
        yield loop.run_until_complete(_of_s3(stack, loop, place, rows))
    finally:
        loop.run_until_complete(stack.aclose())
        loop.close()


def _stat(paths: list[Path]) -> None:
    for path in paths:
        path.stat()


async def _of_s3(
    stack: AsyncExitStack, loop: asyncio.AbstractEventLoop, place: Place, rows: list[Listed]
) -> Limits:
    """On one event loop, with nothing around it. The second does not even sign its requests."""
    options, bucket = place.peer_options, place.store.url.split("/")[2]
    root = place.store.url.partition(bucket)[2].strip("/")
    s3 = await stack.enter_async_context(
        AioSession().create_client(
            "s3",
            endpoint_url=options["AWS_ENDPOINT_URL"],
            aws_access_key_id=options["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=options["AWS_SECRET_ACCESS_KEY"],
            region_name=options["AWS_REGION"],
        )
    )
    http = await stack.enter_async_context(aiohttp.ClientSession())
    asked = [{"Bucket": bucket, "Key": f"{root}/{row.key}"} for row in rows]
    marks = {one["Key"]: row.version for one, row in zip(asked, rows, strict=True)}
    signed = {
        one["Key"]: URL(await s3.generate_presigned_url("get_object", Params=one), encoded=True)
        for one in asked
    }

    async def by_client(key: str, mark: str) -> int:
        try:
            answer = await s3.get_object(Bucket=bucket, Key=key, IfNoneMatch=mark)
        except ClientError as error:
            answer = error.response
        return int(answer["ResponseMetadata"]["HTTPStatusCode"])

    async def by_http(key: str, mark: str) -> int:
        async with http.get(signed[key], headers={"If-None-Match": mark}) as answer:
            return answer.status

    def all_by(ask: Callable[[str, str], Awaitable[int]]) -> Callable[[], None]:
        return lambda: loop.run_until_complete(_ask_all(ask, marks))

    return {CLIENT: all_by(by_client), HTTP: all_by(by_http)}


async def _ask_all(ask: Callable[[str, str], Awaitable[int]], marks: Mapping[str, str]) -> None:
    left = iter(marks.items())

    async def take_turns() -> None:
        for key, mark in left:
            status: Any = await ask(key, mark)
            if status != 304:
                raise AssertionError(f"{key}: {status} where nothing has changed")

    await asyncio.gather(*(take_turns() for _ in range(AT_ONCE)))
