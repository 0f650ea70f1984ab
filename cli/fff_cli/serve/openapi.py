"""What the server understands, as an OpenAPI document."""

from __future__ import annotations

from typing import Any

from fff_cli.serve.answers import ARROW, EVENTS, JSON, NDJSON
from fff_cli.serve.queries import MEMBERS

_TYPES: dict[str, dict[str, Any]] = {
    "sql": {"type": "string"},
    "params": {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "string"}}]},
    "deadline": {"type": "number", "exclusiveMinimum": 0},
    "max_requests": {"type": "integer", "minimum": 1},
    "budget": {"type": ["number", "string"]},
    "rows": {"type": "integer", "minimum": 0},
    "prefer": {"enum": ["fast", "balanced", "cheap"]},
    "semantics": {"enum": ["parked", "paper"]},
    "seed": {"type": "integer", "minimum": 0},
    "on_source_error": {"enum": ["fail", "partial"]},
    "hold_rows": {"type": "boolean"},
    "prioritize": {"type": "array", "items": {"type": "string"}},
    "interval": {"type": "number", "minimum": 0.05, "maximum": 60},
    "report": {"type": "boolean"},
    "partial": {"type": "boolean"},
}

_END: dict[str, Any] = {
    "type": "object",
    "required": ["complete"],
    "properties": {
        "complete": {"type": "boolean", "description": "whether the rows are the whole answer"},
        "cut": {"type": "boolean", "description": "whether there are more rows than `rows` allowed"},
        "reason": {"type": ["string", "null"], "description": "why it is not whole"},
        "exit_code": {"type": "integer"},
        "row_count": {"type": "integer"},
        "elapsed_s": {"type": "number"},
        "requests": {"type": "integer"},
        "bill": {"type": "array", "items": {"type": "object"}},
        "missing": {"type": "array", "items": {"type": "object"}},
        "doubts": {"type": "array", "items": {"type": "string"}},
        "bounds": {
            "type": "array",
            "items": {"enum": ["certain", "at_least", "at_most", "unknown"]},
            "description": "by column, what the values of a partial answer say of those of the whole one",
        },
        "within": {
            "type": "array",
            "items": {"type": ["integer", "null"]},
            "description": "by column, by how much the values of the whole one are higher at most",
        },
        "warnings": {"type": "array", "items": {"type": "string"}},
        "report": {"type": "object", "description": "the account of the run, where it was asked for"},
        "error": {"$ref": "#/components/schemas/Error"},
    },
}

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["code", "message", "position"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "position": {"type": ["integer", "null"], "description": "character of the SQL, from 1"},
        "hint": {"type": ["string", "null"]},
        "text": {"type": "string"},
        "exit_code": {"type": "integer"},
    },
}


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": schema}}}


def _failures(*statuses: str) -> dict[str, Any]:
    """Every request can come from somebody without a token, or by a wrong name."""
    error = {"$ref": "#/components/schemas/Error"}
    return {status: _json("refused, or no answer", error) for status in ("401", "421", *statuses)}


def document(version: str, report_version: int) -> dict[str, Any]:
    """The document; `report_version` is that of the account of a run."""
    members = {
        name: {"description": words, **_TYPES.get(name, {"type": "string"})}
        for name, (_, words) in MEMBERS.items()
        if name != "output"
    }
    query = {"type": "object", "required": ["sql"], "additionalProperties": False, "properties": members}
    end = {"$ref": "#/components/schemas/End"}
    whole = {"allOf": [end, {"properties": {"columns": {"type": "array"}, "rows": {"type": "array"}}}]}
    answers: dict[str, Any] = {
        JSON: {"schema": whole},
        **{kind: {"schema": {"type": "string"}} for kind in (NDJSON, ARROW, EVENTS)},
    }
    by_id = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    some = {"type": "object"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fff serve",
            "version": version,
            "description": f"SQL over web sources. Reports are of version {report_version}.",
        },
        "security": [{"token": []}],
        "paths": {
            "/v1/query": {
                "post": {
                    "summary": "Run one statement; the last part of the answer says whether it is whole",
                    "requestBody": {"required": True, "content": {JSON: {"schema": query}}},
                    "responses": {
                        "200": {"description": "rows, and how the query ended", "content": answers},
                        **_failures("400", "406", "413", "429", "500", "502", "503", "505"),
                    },
                }
            },
            "/v1/queries": {
                "get": {
                    "summary": "Your queries under way",
                    "responses": {"200": _json("a list", {"type": "array", "items": some}), **_failures()},
                }
            },
            "/v1/queries/{id}": {
                "get": {
                    "summary": "How far a query of yours is, or how it ended",
                    "parameters": by_id,
                    "responses": {"200": _json("its state", some), **_failures("404")},
                },
                "delete": {
                    "summary": "Stop fetching: the query ends soon, incomplete, with what is there",
                    "parameters": by_id,
                    "responses": {"202": _json("it is told", some), **_failures("404")},
                },
            },
            "/v1/tables": {
                "get": {
                    "summary": "Tables with columns, keys and access methods",
                    "responses": {"200": _json("tables", some), **_failures()},
                }
            },
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"End": _END, "Error": _ERROR},
        },
    }
