"""The OpenAPI document of the API."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_MS: Json = {"type": "integer", "description": "Milliseconds since 1970, in UTC."}


def specification(base: str) -> Json:
    """The document, for clients that reach the service at `base`."""
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Singerlake index",
            "version": version("singerlake"),
            "description": "Which files hold a stream (what) of a tap (where), at which time, "
            "from which run (work_id). Names are slugs: a byte that a slug cannot hold is `_x` and "
            "its two hexadecimal digits.",
        },
        "servers": [{"url": base}],
        "paths": _paths(),
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _paths() -> Json:
    problem_400 = {"400": _answer("The request is not understood.", _ref("Problem"))}
    problem_404 = {"404": _answer("There is no such file.", _ref("Problem"))}
    latest = [_path("what"), _path("where"), _query("lookback", {"type": "integer"})]
    return {
        "/v0/archive/": _get("What the archive is.", [], _ref("Archive")),
        "/v0/archive/files/": _get("Files, by time or run.", _FILES, _ref("Page"), problem_400),
        "/v0/archive/summary": _get(
            "What files add up to.", _SUMMARY, _ref("Summary"), problem_400
        ),
        "/v0/archive/files/{id}/metadata": _get(
            "A file's metadata.", [_path("id")], _ref("Metadata"), problem_404
        ),
        "/v0/archive/files/{id}/data": _get("A file.", [_path("id")], None, problem_404),
        "/v0/archive/latest/{what}/{where}": _get(
            "The newest file.", latest, _ref("Record"), problem_400 | problem_404
        ),
        "/v0/archive/latest/{what}/{where}/data": _get(
            "The newest file's bytes.", latest, None, problem_400 | problem_404
        ),
        "/v0/environment/": _get("What runs here.", [], {"type": "object"}),
    }


def _get(
    summary: str, parameters: list[Json], schema: Json | None, others: Json | None = None
) -> Json:
    found = _answer("Found.", schema) if schema is not None else _FILE
    busy = {"503": _answer("Too many requests, or a store that does not answer.", _ref("Problem"))}
    return {
        "get": {
            "summary": summary,
            "parameters": parameters,
            "responses": {"200": found, **(others or {}), **busy},
        }
    }


def _answer(description: str, schema: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": _TEXT}


def _query(name: str, schema: Json, meaning: str = "", required: bool = False) -> Json:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "schema": schema,
        "description": meaning,
    }


def _object(required: list[str], **properties: Json) -> Json:
    return {"type": "object", "required": required, "properties": properties}


def _or_null(schema: Json) -> Json:
    return {**schema, "nullable": True}


_FILE: Json = {
    "description": "The bytes as they were committed; Content-Encoding says where they are gzip.",
    "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
}

_CHOICE = [
    _query("what", _TEXT, "The stream; `*` and `?` stand for any characters.", required=True),
    _query("where", _TEXT, "The tap, or a pattern."),
    _query("work_id", _TEXT, "The run. Not together with a time."),
    _query("start", _TEXT, "Milliseconds, seconds or an ISO time; together with end."),
    _query("end", _TEXT, "As start."),
    _query("interval", _TEXT, "In place of start and end: `2026-03-01/..`."),
    _query("schema_version", _COUNT, "Files of this version of the stream's schema."),
    _query("min_size", _COUNT, "Files of so many bytes or more."),
    _query("max_size", _COUNT, "Files of so many bytes or fewer."),
]
_FILES = [
    *_CHOICE,
    _query("cursor", _TEXT, "Where the page before ended: it is part of `next`."),
    _query("limit", {"type": "integer", "minimum": 1, "maximum": 100}, "Records on a page."),
    _query("count", {"type": "string", "enum": ["true", "false"]}, "Count all matches too."),
]
_SUMMARY = [*_CHOICE, _query("by", {"type": "string", "enum": ["day", "run", "stream"]})]

_SCHEMAS: Json = {
    "Problem": _object(["code", "message"], code=_TEXT, message=_TEXT),
    "Archive": _object(["storage_url"], storage_url=_or_null(_TEXT)),
    "Metadata": _object(
        ["version", "id", "what", "where", "start", "end", "work_id", "hash", "path"],
        version={"type": "integer"},
        id=_TEXT,
        what=_TEXT,
        where=_TEXT,
        start=_MS,
        end=_or_null(_MS),
        start_iso=_TEXT,
        end_iso=_or_null(_TEXT),
        work_id=_or_null(_TEXT),
        hash=_TEXT,
        path=_TEXT,
    ),
    "Record": _object(
        ["url", "http_url", "create_time", "size", "metadata"],
        url=_TEXT,
        http_url=_TEXT,
        create_time=_MS,
        size=_COUNT,
        metadata=_ref("Metadata"),
        lake={"type": "object", "description": "The commit, and the object that holds it today."},
    ),
    "Page": _object(
        ["records", "next"],
        records={"type": "array", "items": _ref("Record")},
        next=_or_null(_TEXT),
        count={**_COUNT, "description": "All matches; on the first page."},
    ),
    "Summary": _object(
        ["by", "groups"],
        by=_TEXT,
        groups={
            "type": "array",
            "items": _object(
                ["files", "records", "bytes", "start", "end"],
                day=_TEXT,
                what=_TEXT,
                where=_TEXT,
                work_id=_or_null(_TEXT),
                files=_COUNT,
                records=_COUNT,
                bytes=_COUNT,
                start=_MS,
                end=_MS,
            ),
        },
    ),
}
