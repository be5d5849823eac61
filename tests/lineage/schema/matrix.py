"""Good events, and what bad ones are made of."""

from __future__ import annotations

from typing import Any

from tests.lineage.samples import (
    PRODUCER,
    Event,
    dataset_event,
    facet,
    job_event,
    run_event,
)

UUID = "0199aa7f-5b1c-7000-8000-0000000000aa"
COLUMN = {"namespace": "n", "name": "d", "field": "a"}


def run(**facets: Any) -> Event:
    return run_event(run={"runId": UUID, "facets": facets})


def job(**facets: Any) -> Event:
    return run_event(job={"namespace": "n", "name": "j", "facets": facets})


def dataset(**facets: Any) -> Event:
    return run_event(inputs=[{"namespace": "n", "name": "d", "facets": facets}])


def inputs(**facets: Any) -> Event:
    return run_event(inputs=[{"namespace": "n", "name": "d", "inputFacets": facets}])


def outputs(**facets: Any) -> Event:
    return run_event(outputs=[{"namespace": "n", "name": "d", "outputFacets": facets}])


def without(event: Event, *names: str) -> Event:
    return {key: value for key, value in event.items() if key not in names}


def schema(*fields: Any) -> Event:
    return facet("SchemaDatasetFacet", "1-2-0", fields=[*fields])


def parent(**changes: Any) -> Event:
    body = {"run": {"runId": UUID}, "job": {"namespace": "n", "name": "p"}} | changes
    return facet("ParentRunFacet", "1-2-0", **body)


def lineage(**fields: Any) -> Event:
    return facet("LineageFacet", "1-0-0", **fields)


OF_DATASET = {"type": "DATASET", "namespace": "n", "name": "d"}

GOOD: dict[str, Event] = {
    "a run event": run_event(),
    "a run event without a type": without(run_event(), "eventType"),
    "a run event without datasets": without(run_event(), "inputs", "outputs"),
    "a job event": job_event(),
    "a job event with datasets": job_event(inputs=[{"namespace": "n", "name": "d"}]),
    "a dataset event": dataset_event(),
    "a dataset event with a run beside it": dataset_event(run=5),
    "a run event with a dataset beside it": run_event(dataset="nonsense"),
    "properties that nobody knows": run_event(more={"a": [1, None, True]}),
    "a time with an offset": run_event(eventTime="2026-11-18T10:00:00+05:30"),
    "an unknown facet": run(spark_plan={"_producer": PRODUCER, "_schemaURL": PRODUCER, "x": 1}),
    "a known facet in another group": run(schema={"_producer": PRODUCER, "_schemaURL": PRODUCER}),
    "a schema": dataset(schema=schema({"name": "a"}, {"name": "b", "type": "struct"})),
    "a schema in a schema": dataset(schema=schema({"name": "a", "fields": [{"name": "b"}]})),
    "a facet that is deleted": dataset(
        documentation=facet("DocumentationDatasetFacet", "1-1-0", _deleted=True)
    ),
    "a job facet that is deleted": job(sql=facet("SQLJobFacet", "1-1-0", _deleted=True)),
    "a parent": run(parent=parent()),
    "a parent with a root": run(
        parent=parent(root={"run": {"runId": UUID}, "job": {"namespace": "n", "name": "r"}})
    ),
    "a nominal time": run(
        nominalTime=facet("NominalTimeRunFacet", "1-0-1", nominalStartTime="2026-11-18T00:00:00Z")
    ),
    "an error": run(
        errorMessage=facet(
            "ErrorMessageRunFacet", "1-0-1", message="no", programmingLanguage="python"
        )
    ),
    "an engine": run(
        processing_engine=facet("ProcessingEngineRunFacet", "1-1-1", version="4", name="spark")
    ),
    "an engine of the first version": run(
        processing_engine=facet("ProcessingEngineRunFacet", "1-0-0", engine_version="2.5")
    ),
    "an extraction error of the first version": run(
        extractionError=facet(
            "ExtractionErrorRunFacet", "1-0-0", totalElements=2, failedElements=1, errors=[]
        )
    ),
    "a job type": job(
        jobType=facet("JobTypeJobFacet", "2-0-4", processingType="BATCH", integration="SPARK")
    ),
    "sql": job(sql=facet("SQLJobFacet", "1-1-0", query="select 1")),
    "owners": job(ownership=facet("OwnershipJobFacet", "1-0-1", owners=[{"name": "team"}])),
    "a version that is not at hand": job(sql=facet("SQLJobFacet", "9-9-9", query="select 1")),
    "column lineage": dataset(
        columnLineage=facet(
            "ColumnLineageDatasetFacet", "1-2-0", fields={"a": {"inputFields": [COLUMN]}}
        )
    ),
    "statistics of an output": outputs(
        outputStatistics=facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount=5)
    ),
    "metrics of an input": inputs(
        dataQualityMetrics=facet(
            "DataQualityMetricsInputDatasetFacet", "1-0-3", columnMetrics={"a": {"nullCount": 0}}
        )
    ),
    "assertions of an input": inputs(
        dataQualityAssertions=facet(
            "DataQualityAssertionsDatasetFacet",
            "1-1-0",
            assertions=[{"assertion": "not_null", "success": True}],
        )
    ),
    "explicit lineage of a job": job(lineage=lineage(entries=[OF_DATASET])),
    "explicit lineage of a dataset": dataset(lineage=lineage(inputs=[OF_DATASET])),
    "a storage": dataset(storage=facet("StorageDatasetFacet", "1-0-1", storageLayer="s3")),
}
