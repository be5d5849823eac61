"""Waits in a real Airflow: they succeed, fail and skip in the triggerer, without a worker."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import httpx

from tests.airflow.conftest import Ground
from tests.airflow.server import until
from tests.lake.landing import STREAM, TAP, land
from tests.lake.running import land_run


def soon(seconds: float = 600) -> str:
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat()


def begun(ground: Ground) -> dict[str, str]:
    """Runs whose tasks miss their deadlines: all at once, for they take their time."""
    land(ground.store, [1])
    return {name: ground.airflow.trigger(name) for name in ("missed", "any_of", "mapped", "mails")}


def a_sensor_waits_for_events_of_every_kind(ground: Ground, begun: dict[str, str]) -> None:
    """Some came before it began; others come while it waits, one by one."""
    broker, airflow = ground.kafka, ground.airflow
    broker.create("files")
    conf = {"stream": STREAM, "post": "file", "topic": "files", "kafka": broker.bootstrap}
    run = airflow.trigger("one_sensor", {**conf, "deadline": soon()})
    other = airflow.trigger("one_sensor", {**conf, "post": "other", "deadline": soon()})
    airflow.until_tasks("one_sensor", run, {"waits": "deferred"})
    broker.send("files", b'{"country": "DE"}')
    land_run(ground.store, "today", [2])

    def received() -> bool:
        rows = ground.table().rows_under(f"one_sensor/{run}/")
        return {row.name for row in rows if row.state == "received"} >= {
            f"run of {TAP}/{STREAM}",
            f"commit of {TAP}/{STREAM}",
            "message",
        }

    until(received, "the table shows what has come")
    assert airflow.tasks("one_sensor", run) == {"waits": "deferred"}
    ground.inbox().take("file", {})
    airflow.until_tasks("one_sensor", run, {"waits": "success"})
    found = airflow.xcom("one_sensor", run, "waits")
    assert found[f"run of {TAP}/{STREAM}"]["position"]["run_id"] == "today"
    assert set(found) == {
        f"run of {TAP}/{STREAM}", f"commit of {TAP}/{STREAM}", "partner", "message"
    }  # fmt: skip
    # The other run of the same DAG has its own post to wait for.
    assert airflow.tasks("one_sensor", other) == {"waits": "deferred"}
    ground.inbox().take("other", {})
    airflow.until_tasks("one_sensor", other, {"waits": "success"})


def at_the_deadline_the_missing_fail_and_are_named(ground: Ground, begun: dict[str, str]) -> None:
    run = begun["missed"]
    ends = {"hard.here": "success", "hard.post_to_never": "failed"}
    ground.airflow.until_tasks("missed", run, {**ends, "soft": "skipped", "wrong": "failed"})
    assert ground.airflow.xcom("missed", run, "hard.post_to_never", "missing") == ["post to never"]
    assert "no-such-kind" in ground.airflow.xcom("missed", run, "wrong", "error")
    logs = ground.airflow.logs("missed", run, "hard.post_to_never")
    assert "missing at" in logs
    rows = {row.name: row.state for row in ground.table().rows(f"missed/{run}/hard")}
    assert rows == {"here": "received", "post to never": "missed"}


def a_group_that_needs_less_than_all(ground: Ground, begun: dict[str, str]) -> None:
    run = begun["any_of"]
    met = {"any.here": "success", "any.post_to_never": "skipped", "any.enough": "success"}
    unmet = {"two.here": "success", "two.never": "failed", "two.enough": "failed"}
    ground.airflow.until_tasks("any_of", run, {**met, "after": "success", **unmet})
    rows = {row.name: row.state for row in ground.table().rows(f"any_of/{run}/any")}
    assert rows == {"here": "received", "post to never": "missed"}


def mapped_tasks_end_each_by_itself(ground: Ground, begun: dict[str, str]) -> None:
    ends = {"waits[0]": "success", "waits[1]": "failed"}
    ground.airflow.until_tasks("mapped", begun["mapped"], ends)


def fifty_waits_leave_a_pool_of_one_slot_free(ground: Ground) -> None:
    airflow = ground.airflow
    run = airflow.trigger("many", {"post": "for-all"})
    waits = {f"waits_{number}": "deferred" for number in range(50)}
    airflow.until_tasks("many", run, {**waits, "works": "success"})
    with airflow.client() as client:
        pool = client.get("/api/v2/pools/small").json()
    assert (pool["slots"], pool["open_slots"], pool["deferred_slots"]) == (1, 1, 50)
    ground.inbox().take("for-all", {})
    airflow.until_tasks("many", run, dict.fromkeys(waits, "success"))


def a_triggerer_that_dies_loses_no_event_and_moves_no_deadline(ground: Ground) -> None:
    airflow = ground.airflow
    broker = ground.kafka
    broker.create("killed")
    conf = {"stream": STREAM, "post": "killed", "topic": "killed", "kafka": broker.bootstrap}
    run = airflow.trigger("one_sensor", {**conf, "deadline": soon()})
    late = airflow.trigger("one_sensor", {**conf, "post": "never", "deadline": soon(15)})
    for one in (run, late):
        airflow.until_tasks("one_sensor", one, {"waits": "deferred"})
    airflow.kill("triggerer")
    # All come while nobody looks.
    broker.send("killed", b'{"country": "DE"}')
    land_run(ground.store, "while it was down", [3])
    ground.inbox().take("killed", {})
    airflow.start("triggerer")
    airflow.until_tasks("one_sensor", run, {"waits": "success"})
    airflow.until_tasks("one_sensor", late, {"waits": "failed"})
    assert airflow.xcom("one_sensor", late, "waits", "missing") == ["partner"]


def a_triggerer_takes_over_from_one_that_died(ground: Ground) -> None:
    """Fifty waits are with two triggerers; each ends once, also those of the one that is killed."""
    airflow = ground.airflow
    airflow.start("another triggerer")
    run = airflow.trigger("many", {"post": "for-both"})
    waits = {f"waits_{number}": "deferred" for number in range(50)}
    airflow.until_tasks("many", run, {**waits, "works": "success"})

    def both_wait() -> bool:
        return len({one for one in airflow.triggerers("many", run).values() if one}) == 2

    until(both_wait, "both triggerers have waits")
    airflow.kill("triggerer")
    ground.inbox().take("for-both", {})
    airflow.until_tasks("many", run, dict.fromkeys(waits, "success"))
    rows = ground.table().rows_under(f"many/{run}/")
    assert [row.state for row in rows] == ["received"] * 50
    airflow.start("triggerer")


def tasks_mark_events_for_others(ground: Ground) -> None:
    run = ground.airflow.trigger("marks")
    names = ("by-database", "by-http", "by-kafka")
    ends = {f"marks_{name}": "success" for name in names} | dict.fromkeys(names, "success")
    ground.airflow.until_tasks("marks", run, ends)


def the_table_goes_out_by_mail_and_stays_text(ground: Ground, begun: dict[str, str]) -> None:
    ground.airflow.until_tasks("mails", begun["mails"], {"waits": "failed", "mails": "success"})
    until(lambda: "To: callback@example.com" in ground.mail.text(), "the callback's mail")
    text = ground.mail.text()
    assert "To: task@example.com" in text
    assert "<script>" not in text


def the_tab_and_the_receiver_ask_who_it_is(ground: Ground, begun: dict[str, str]) -> None:
    airflow, run = ground.airflow, begun["missed"]
    pages = [f"/singerlake/awaited/missed/{run}", f"/singerlake/awaited/missed/{run}/soft"]
    post = "/singerlake/events/a%2Fb"
    for page in pages:
        assert httpx.get(f"{airflow.url}{page}").status_code == 401
    assert httpx.post(f"{airflow.url}{post}").status_code == 401
    with airflow.client("viewer") as viewer:
        assert viewer.post(post).status_code == 403
        assert viewer.get(pages[0]).status_code == 200
    with airflow.client() as client:
        assert "post to never" in client.get(pages[0]).text
        body = json.dumps({"id": "7", "time": "2026-03-03T06:00:00Z"})
        answers = [client.post(post, content=body) for _ in range(2)]
        assert [(one.status_code, one.json()["state"]) for one in answers] == [
            (201, "received"),
            (200, "repeat"),
        ]
        assert client.post(post, content="[]").status_code == 400
        assert client.post(post, content=b"x" * 2**21).status_code == 413
        views = client.get("/api/v2/plugins").json()["plugins"][0]["external_views"]
    assert {view["destination"] for view in views} == {"dag_run", "task_instance"}
