"""Bad events, each with the path that its verdict has to name."""

from __future__ import annotations

from tests.lineage.samples import PRODUCER, Event, dataset_event, facet, job_event, run_event
from tests.lineage.schema.matrix import (
    OF_DATASET,
    UUID,
    dataset,
    inputs,
    job,
    lineage,
    outputs,
    parent,
    run,
    schema,
    without,
)

BAD: dict[str, tuple[Event, str]] = {
    "nothing": ({}, "eventTime"),
    "no time": (without(run_event(), "eventTime"), "eventTime"),
    "no producer": (without(run_event(), "producer"), "producer"),
    "no schema": (without(run_event(), "schemaURL"), "schemaURL"),
    "a day for a time": (run_event(eventTime="2026-11-18"), "eventTime"),
    "a time without a zone": (run_event(eventTime="2026-11-18T10:00:00"), "eventTime"),
    "a number for a time": (run_event(eventTime=5), "eventTime"),
    "a producer that is no address": (run_event(producer="me"), "producer"),
    "a type that nobody knows": (run_event(eventType="DONE"), "eventType"),
    "no run id": (run_event(run={}), "run.runId"),
    "a run id without dashes": (run_event(run={"runId": UUID.replace("-", "")}), "run.runId"),
    "a run that is a text": (run_event(run="r"), "run"),
    "a run without a job": (without(run_event(), "job"), "job"),
    "a job without a name": (run_event(job={"namespace": "n"}), "job.name"),
    "a job with null for a name": (run_event(job={"namespace": "n", "name": None}), "job.name"),
    "inputs that are an object": (run_event(inputs={}), "inputs"),
    "an input without a name": (run_event(inputs=[{"namespace": "n"}]), "inputs[0].name"),
    "a second output without a namespace": (
        run_event(outputs=[{"namespace": "n", "name": "d"}, {"name": "d"}]),
        "outputs[1].namespace",
    ),
    "a dataset event without a name": (
        dataset_event(dataset={"namespace": "n"}),
        "dataset.name",
    ),
    "a dataset and a job": (dataset_event(job={"namespace": "n", "name": "j"}), ""),
    "a job event without a name": (job_event(job={"namespace": "n"}), "job.name"),
    "facets that are a list": (run_event(run={"runId": UUID, "facets": []}), "run.facets"),
    "a facet that is null": (run(schema=None), "run.facets.schema"),
    "an unknown facet without a producer": (
        run(mine={"_schemaURL": PRODUCER}),
        "run.facets.mine._producer",
    ),
    "an unknown facet without a schema": (
        job(mine={"_producer": PRODUCER}),
        "job.facets.mine._schemaURL",
    ),
    "a facet with a schema that is no address": (
        dataset(mine={"_producer": PRODUCER, "_schemaURL": "no address"}),
        "inputs[0].facets.mine._schemaURL",
    ),
    "a facet with a dot in its name": (
        dataset(**{"my.own": {"_producer": PRODUCER}}),
        'inputs[0].facets["my.own"]._schemaURL',
    ),
    "a facet that says yes to being deleted": (
        dataset(mine={"_producer": PRODUCER, "_schemaURL": PRODUCER, "_deleted": "yes"}),
        "inputs[0].facets.mine._deleted",
    ),
    "a run facet that is deleted": (
        run(parent=facet("ParentRunFacet", "1-2-0", _deleted=True)),
        "run.facets.parent.run",
    ),
    "a field without a name": (
        dataset(schema=schema({"name": "a"}, {"type": "string"})),
        "inputs[0].facets.schema.fields[1].name",
    ),
    "a field without a name in a field": (
        dataset(schema=schema({"name": "a", "fields": [{}]})),
        "inputs[0].facets.schema.fields[0].fields[0].name",
    ),
    "a parent without a run id": (
        run(parent=parent(run={})),
        "run.facets.parent.run.runId",
    ),
    "a parent whose run id is no uuid": (
        run(parent=parent(run={"runId": "7"})),
        "run.facets.parent.run.runId",
    ),
    "a root without a job": (
        run(parent=parent(root={"run": {"runId": UUID}})),
        "run.facets.parent.root.job",
    ),
    "a nominal time that is a day": (
        run(nominalTime=facet("NominalTimeRunFacet", "1-0-1", nominalStartTime="today")),
        "run.facets.nominalTime.nominalStartTime",
    ),
    "an engine without a version": (
        run(processing_engine=facet("ProcessingEngineRunFacet", "1-1-1", name="spark")),
        "run.facets.processing_engine.version",
    ),
    "an engine of the first version by the newest": (
        run(processing_engine=facet("ProcessingEngineRunFacet", "1-1-1", engine_version="2")),
        "run.facets.processing_engine.version",
    ),
    "an error without a language": (
        run(errorMessage=facet("ErrorMessageRunFacet", "1-0-1", message="no")),
        "run.facets.errorMessage.programmingLanguage",
    ),
    "a job type without an integration": (
        job(jobType=facet("JobTypeJobFacet", "2-0-4", processingType="BATCH")),
        "job.facets.jobType.integration",
    ),
    "a window of no length": (
        job(
            jobType=facet(
                "JobTypeJobFacet",
                "2-0-4",
                processingType="STREAMING",
                integration="FLINK",
                emissionPattern={"eventTrigger": "a", "eventContentMode": "b", "windowDuration": 0},
            )
        ),
        "job.facets.jobType.emissionPattern.windowDuration",
    ),
    "a parameter with more than a parameter has": (
        run(
            executionParameters=facet(
                "ExecutionParametersRunFacet", "1-0-0", parameters=[{"key": "a", "more": 1}]
            )
        ),
        "run.facets.executionParameters.parameters[0]",
    ),
    "sql without a query": (job(sql=facet("SQLJobFacet", "1-1-0")), "job.facets.sql.query"),
    "sql of a version that is not at hand": (
        job(sql=facet("SQLJobFacet", "9-9-9")),
        "job.facets.sql.query",
    ),
    "an owner without a name": (
        job(ownership=facet("OwnershipJobFacet", "1-0-1", owners=[{"type": "team"}])),
        "job.facets.ownership.owners[0].name",
    ),
    "a source that is no address": (
        dataset(dataSource=facet("DatasourceDatasetFacet", "1-0-1", uri="no address")),
        "inputs[0].facets.dataSource.uri",
    ),
    "a column without its field": (
        dataset(
            columnLineage=facet(
                "ColumnLineageDatasetFacet",
                "1-2-0",
                fields={"a": {"inputFields": [{"namespace": "n", "name": "d"}]}},
            )
        ),
        "inputs[0].facets.columnLineage.fields.a.inputFields[0].field",
    ),
    "a change that nobody knows": (
        dataset(
            lifecycleStateChange=facet(
                "LifecycleStateChangeDatasetFacet", "1-0-1", lifecycleStateChange="EAT"
            )
        ),
        "inputs[0].facets.lifecycleStateChange.lifecycleStateChange",
    ),
    "a text for a count of rows": (
        outputs(
            outputStatistics=facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount="5")
        ),
        "outputs[0].outputFacets.outputStatistics.rowCount",
    ),
    "metrics without columns": (
        inputs(dataQualityMetrics=facet("DataQualityMetricsInputDatasetFacet", "1-0-3")),
        "inputs[0].inputFacets.dataQualityMetrics.columnMetrics",
    ),
    "an assertion without an outcome": (
        inputs(
            dataQualityAssertions=facet(
                "DataQualityAssertionsDatasetFacet", "1-1-0", assertions=[{"assertion": "a"}]
            )
        ),
        "inputs[0].inputFacets.dataQualityAssertions.assertions[0].success",
    ),
    "explicit lineage without entries": (job(lineage=lineage()), "job.facets.lineage.entries"),
    "explicit lineage of an unknown kind": (
        job(lineage=lineage(entries=[{**OF_DATASET, "type": "TABLE"}])),
        "job.facets.lineage.entries[0]",
    ),
    "explicit lineage to half a job": (
        dataset(lineage=lineage(inputs=[{"type": "JOB", "name": "j"}])),
        "inputs[0].facets.lineage.inputs[0]",
    ),
    "a facet of a dataset event": (
        dataset_event(dataset={"namespace": "n", "name": "d", "facets": {"schema": 5}}),
        "dataset.facets.schema",
    ),
    "a schema in a dataset event": (
        dataset_event(
            dataset={"namespace": "n", "name": "d", "facets": {"schema": schema({"type": "a"})}}
        ),
        "dataset.facets.schema.fields[0].name",
    ),
}
