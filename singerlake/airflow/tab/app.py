"""The app in Airflow's API server: it shows the table, and takes posts of events.

Airflow leaves the apps of plugins open to everybody: every route here asks who it is.
"""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import requires_access_asset, requires_access_dag
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from singerlake.airflow import table
from singerlake.airflow.tab import page
from singerlake.errors import SingerlakeError
from singerlake.http.answer import Problem
from singerlake.wait.receiver import take

MOST_BYTES = 1024 * 1024

_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
_SEE_RUNS = Depends(requires_access_dag("GET", DagAccessEntity.RUN))
_MAKE_EVENTS = Depends(requires_access_asset("POST"))

app = FastAPI(title="Singerlake", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/awaited/{dag_id}/{run_id}", dependencies=[_SEE_RUNS])
def awaited_by_run(dag_id: str, run_id: str) -> HTMLResponse:
    return _shown(dag_id, run_id)


@app.get("/awaited/{dag_id}/{run_id}/{task_id}", dependencies=[_SEE_RUNS])
def awaited_by_task(dag_id: str, run_id: str, task_id: str) -> HTMLResponse:
    return _shown(dag_id, run_id, task_id)


@app.post("/events/{name:path}", dependencies=[_MAKE_EVENTS])
async def post_event(name: str, request: Request) -> Response:
    """As that of `singerlake events serve`; a token of Airflow opens it."""
    try:
        data = await _body(request)
        headers = request.headers.raw
        status, answer = await asyncio.to_thread(lambda: take(table.inbox(), name, headers, data))
    except Problem as problem:
        answer = {"code": problem.code, "message": problem.message}
        return JSONResponse(answer, problem.status)
    except SingerlakeError as error:
        answer = {"code": type(error).__name__, "message": "the database of waits does not answer"}
        return JSONResponse(answer, 503)
    return JSONResponse(answer, status)


async def _body(request: Request) -> bytes:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BYTES:
            raise Problem(413, "TooLarge", f"a body may have {MOST_BYTES} bytes")
    return data


def _shown(dag_id: str, run_id: str, task_id: str | None = None) -> Any:
    try:
        text = page.page(table.rows_of_run(dag_id, run_id, task_id))
    except SingerlakeError as error:
        text = page.page([], f"The table cannot be read now ({type(error).__name__}).")
    return HTMLResponse(text, headers=_SAFE)
