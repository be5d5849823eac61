"""A real Airflow, on loopback ports of its own: scheduler, triggerer, DAG processor, API server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.airflow.environment import environment, install_ours
from tests.servers import HOST, free_ports

PATIENCE = 240.0
"""Seconds: the machine may be busy."""

COMMANDS = {
    "api-server": ["api-server", "--host", HOST, "--workers", "1"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
}
COMMANDS["another triggerer"] = COMMANDS["triggerer"]


ENDS = ("success", "failed", "skipped", "upstream_failed")
"""States that a task does not leave."""


def until(check: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """What the check returns, once that is true. It asks a server, which says nothing by itself."""
    end = time.monotonic() + patience
    while not (found := check()):
        assert time.monotonic() < end, f"not within {patience:g} seconds: {what}"
        time.sleep(0.5)
    return found


@dataclass
class Airflow:
    home: Path
    variables: Mapping[str, str]
    port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def dags(self) -> Path:
        return self.home / "dags"

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, **self.variables}

    def run(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        command = [str(environment().parent / "airflow"), *arguments]
        return subprocess.run(
            command, env=self.environment(), text=True, capture_output=True, timeout=300, **more
        )

    def start(self, *names: str) -> None:
        for name in names:
            command = [str(environment().parent / "airflow"), *COMMANDS[name]]
            if name == "api-server":
                command += ["--port", str(self.port)]
            with (self.home / f"{name}.log").open("ab") as log:
                self.running[name] = subprocess.Popen(
                    command,
                    env=self.environment(),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

    def kill(self, name: str) -> None:
        """All its processes, at once: nobody gets to tidy up."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in list(self.running):
            self.kill(name)

    # The API

    def client(self, user: str = "admin") -> httpx.Client:
        token = httpx.post(
            f"{self.url}/auth/token", json={"username": user, "password": "test"}, timeout=30
        ).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def answers(self) -> bool:
        return bool(self._health())

    def is_healthy(self) -> bool:
        wanted = ("scheduler", "triggerer", "dag_processor")
        found = self._health()
        return bool(found) and all(found[name]["status"] == "healthy" for name in wanted)

    def _health(self) -> dict[str, Any]:
        try:
            answer = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=5)
            return dict(answer.json())
        except (httpx.HTTPError, ValueError):
            return {}

    def connect(self, name: str, conn_type: str, **more: str) -> None:
        """Make a connection; see `connect_to_itself`."""
        body = {"connection_id": name, "conn_type": conn_type, **more}
        with self.client() as client:
            client.post("/api/v2/connections", json=body).raise_for_status()

    def connect_to_itself(self, name: str) -> None:
        """A connection to the receiver in the API server, with a token."""
        with self.client() as client:
            token = client.headers["Authorization"].removeprefix("Bearer ")
        self.connect(name, "http", host=f"{self.url}/singerlake", password=token)

    def has_dags(self, *dag_ids: str) -> bool:
        with self.client() as client:
            found = client.get("/api/v2/dags", params={"limit": 100}).json()
        return set(dag_ids) <= {dag["dag_id"] for dag in found.get("dags", ())}

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Begin a run; returns its id."""
        body = {"logical_date": None, "conf": dict(conf or {}), **more}
        with self.client() as client:
            client.patch(f"/api/v2/dags/{dag_id}", json={"is_paused": False}).raise_for_status()
            answer = client.post(f"/api/v2/dags/{dag_id}/dagRuns", json=body)
            assert answer.status_code == 200, answer.text
            return str(answer.json()["dag_run_id"])

    def tasks(self, dag_id: str, run_id: str) -> dict[str, str | None]:
        """The state of each task; those that were made of one have their index."""
        with self.client() as client:
            answer = client.get(
                f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances", params={"limit": 200}
            )
        return {
            one["task_id"] + (f"[{one['map_index']}]" if one["map_index"] >= 0 else ""): one[
                "state"
            ]
            for one in answer.json()["task_instances"]
        }

    def triggerers(self, dag_id: str, run_id: str) -> dict[str, int | None]:
        """The triggerer that each task of a run waits in, by its job."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        with self.client() as client:
            answer = client.get(path, params={"limit": 200})
        return {
            one["task_id"]: (one["triggerer_job"] or {}).get("id")
            for one in answer.json()["task_instances"]
        }

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        with self.client() as client:
            answer = client.get(f"/api/v2/dags/{dag_id}/dagRuns", params={"limit": 100})
        return list(answer.json()["dag_runs"])

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/{key}"
        with self.client() as client:
            answer = client.get(path, params={"deserialize": "true"})
        return answer.json().get("value")

    def logs(self, dag_id: str, run_id: str, task_id: str) -> str:
        """What a task logged, on a worker and in the triggerer."""
        folder = self.home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}" / f"task_id={task_id}"
        return "".join(path.read_text() for path in sorted(folder.rglob("*.log")))

    def has_state_of_asset(self, name: str) -> bool:
        """Whether anything is kept for an asset."""
        with self.client() as client:
            found = client.get("/api/v2/assets", params={"name_pattern": name}).json()["assets"]
            if not found:
                return False
            answer = client.get(f"/api/v2/assets/{found[0]['id']}/state-store")
        return bool(answer.raise_for_status().json()["total_entries"])

    def until_tasks(self, dag_id: str, run_id: str, wanted: Mapping[str, str | None]) -> None:
        """Until these tasks have these states."""

        def are_there() -> bool:
            found = self.tasks(dag_id, run_id)
            ended = {name: found.get(name) for name in wanted if found.get(name) in ENDS}
            assert ended.items() <= wanted.items(), f"{dag_id}: {found}"
            return all(found.get(name) == state for name, state in wanted.items())

        until(are_there, f"{dag_id} {dict(wanted)}")


@contextmanager
def airflow(
    home: Path, dags: Sequence[Path], database: str = "", **variables: str
) -> Iterator[Airflow]:
    """Set up with these DAGs, without any process yet. All of them are killed at the end."""
    (home / "dags").mkdir(parents=True)
    for path in (path for folder in dags for path in folder.glob("*.py")):
        shutil.copy(path, home / "dags")
    (home / "passwords.json").write_text(json.dumps({"admin": "test", "viewer": "test"}))
    (port,) = free_ports(1)
    made = Airflow(home, {**_settings(home, port, database), **variables}, port)
    done = made.run("db", "migrate")
    assert done.returncode == 0, done.stderr[-2000:]
    try:
        yield made
    finally:
        made.stop()


def _settings(home: Path, port: int, database: str) -> dict[str, str]:
    settings = {
        "core__executor": "LocalExecutor",
        "core__load_examples": "False",
        "core__dags_are_paused_at_creation": "False",
        "core__dags_folder": str(home / "dags"),
        "core__parallelism": "4",
        "core__execution_api_server_url": f"http://{HOST}:{port}/execution/",
        "core__simple_auth_manager_users": "admin:admin,viewer:viewer",
        "core__simple_auth_manager_passwords_file": str(home / "passwords.json"),
        "core__fernet_key": "",
        "database__sql_alchemy_conn": database or f"sqlite:///{home / 'airflow.db'}",
        "api__base_url": f"http://{HOST}:{port}",
        "api__secret_key": "test",
        "api_auth__jwt_secret": "a secret of the tests, which is long enough for HS512" * 2,
        "dag_processor__min_file_process_interval": "600",
        "dag_processor__bundle_refresh_check_interval": "5",
        "dag_processor__parsing_processes": "1",
        "scheduler__enable_health_check": "False",
        "triggerer__job_heartbeat_sec": "2",
        "scheduler__job_heartbeat_sec": "2",
        "logging__logging_level": "INFO",
        "usage_data_collection__enabled": "False",
    }
    return {
        **{f"AIRFLOW__{name.upper()}": value for name, value in settings.items()},
        "AIRFLOW_HOME": str(home),
        "HOME": str(home),
        "PYTHONPATH": str(install_ours(home / "ours")),
        "NO_PROXY": HOST,
        "PYTHONUNBUFFERED": "1",
    }
