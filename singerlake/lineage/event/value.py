"""Events of OpenLineage 2-0-2, as frozen values. Both arrays are always there, and so are all
facets: some receivers fail without them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from singerlake.format import times
from singerlake.lineage.event.facet import PRODUCER, Facet
from singerlake.lineage.event.name import DatasetName, JobName

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"

EventType = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]
Facets = Mapping[str, Facet]

NO_FACETS: Facets = {}


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    run_id: str
    facets: Facets = NO_FACETS


class Job(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    facets: Facets = NO_FACETS


class Dataset(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A dataset by itself, as a dataset event has it."""

    namespace: str
    name: str
    facets: Facets = NO_FACETS


class InputDataset(Dataset, frozen=True, kw_only=True, rename="camel"):
    input_facets: Facets = NO_FACETS


class OutputDataset(Dataset, frozen=True, kw_only=True, rename="camel"):
    output_facets: Facets = NO_FACETS


class RunEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A step in the life of a run."""

    event_time: str
    event_type: EventType
    run: Run
    job: Job
    inputs: tuple[InputDataset, ...] = ()
    outputs: tuple[OutputDataset, ...] = ()
    producer: str = PRODUCER
    schema_url: str = msgspec.field(default=f"{_SPEC}/RunEvent", name="schemaURL")


class DatasetEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of a dataset, whichever run made it."""

    event_time: str
    dataset: Dataset
    producer: str = PRODUCER
    schema_url: str = msgspec.field(default=f"{_SPEC}/DatasetEvent", name="schemaURL")


Event = RunEvent | DatasetEvent


def input_dataset(
    named: DatasetName, facets: Facets = NO_FACETS, about_read: Facets = NO_FACETS
) -> InputDataset:
    return InputDataset(
        namespace=named.namespace, name=named.name, facets=facets, input_facets=about_read
    )


def output_dataset(
    named: DatasetName, facets: Facets = NO_FACETS, about_write: Facets = NO_FACETS
) -> OutputDataset:
    return OutputDataset(
        namespace=named.namespace, name=named.name, facets=facets, output_facets=about_write
    )


def job(named: JobName, facets: Facets = NO_FACETS) -> Job:
    return Job(namespace=named.namespace, name=named.name, facets=facets)


def moment(time: datetime) -> str:
    return times.rfc3339(time)


_NUL = rb"\u0000"
_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """One JSON object, on one line.

    Names may hold lone surrogates, which no JSON has, and NUL, which PostgreSQL refuses, so that
    receivers would fail on the event for ever: both become `\ufffd`.
    """
    try:
        data = _encoder.encode(event)
    except UnicodeEncodeError:
        return _encoder.encode(_storable(msgspec.to_builtins(event)))
    return _encoder.encode(_storable(msgspec.to_builtins(event))) if _NUL in data else data


def _storable(value: object) -> object:
    if isinstance(value, str):
        text = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(item) for item in value]
    return value
