"""The description of a service in OpenAPI 3.1, and as a plain page."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from opauc.serving.live_model import LiveModel, ServedModel
from opauc.serving.requests import BAD_REQUEST, BUSY, JSON_TYPE, TOO_LARGE, UNREADABLE, WRONG_TYPE
from opauc.version import __version__

# What can be wrong with a request that has a body, by status.
REFUSALS = {
    BAD_REQUEST: "The body is no JSON.",
    TOO_LARGE: "The body or the number of rows is too large.",
    WRONG_TYPE: f"The body is not {JSON_TYPE}.",
    UNREADABLE: "A row cannot be read.",
}
NUMBER = {"type": "number"}
ERROR: dict[str, Any] = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
TEXT = {"type": "string"}


def describe(model: LiveModel) -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
    served, limits = model.current, model.settings.limits
    row = served.columns.row_schema()
    labels = {"enum": list(served.scorer.classes)}
    scored = _object(score=NUMBER, probability=NUMBER, label=labels)
    term = _object(term=TEXT, contribution=NUMBER)
    terms = {"type": "array", "items": term}
    explained = _object(
        score=NUMBER, probability=NUMBER, label=labels, baseline=NUMBER, terms=terms, others=NUMBER
    )  # fmt: skip
    k = {
        "name": "k", "in": "query", "required": False,
        "description": "How many terms, the largest contributions first; by default all.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999},
    }  # fmt: skip
    rows = _one_or_many(row, limits.max_rows)
    paths: dict[str, Any] = {
        "/score": _post("Score, probability and label of each row.", rows, _one_or_many(scored)),
        "/explain": _post("The score of each row as a sum of terms.", rows, _one_or_many(explained), [k]),
        "/health": _get("Whether the service scores, and by which model.", JSON_TYPE, {"type": "object"}),
        "/metrics": _get("Counts and latencies for Prometheus.", "text/plain", TEXT),
        "/openapi.json": _get("This document.", JSON_TYPE, {"type": "object"}),
        "/": _get("This document as a page.", "text/html", TEXT),
    }
    if model.settings.learn:
        labeled = {**_object(row=row, label=labels), "additionalProperties": False}
        answer = _object(rows={"type": "integer"}, rows_learned={"type": "integer"}, version={"type": "integer"})
        learn = _post("Train the model on labeled rows.", _one_or_many(labeled, limits.max_rows), answer)
        learn["post"]["responses"][str(BUSY)] = _response("Too many rows wait to be trained on.", JSON_TYPE, ERROR)
        paths["/learn"] = learn
    title = f"{served.estimator}: {served.scorer.classes[1]} or {served.scorer.classes[0]}"
    return {"openapi": "3.1.0", "info": {"title": title, "version": __version__}, "paths": paths}


def page(model: LiveModel) -> str:
    """Return the description as a page of HTML without scripts."""
    served, document = model.current, describe(model)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>{escape(document['info']['title'])}</title>",
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "pre{background:#f4f4f4;padding:.7em;overflow:auto}td,th{text-align:left;padding:.1em 1.5em .1em 0}</style>",
        f"<h1>{escape(document['info']['title'])}</h1>",
        f"<p>A model of <code>opauc</code> {escape(__version__)}. "
        "<a href=openapi.json>openapi.json</a> describes this service for programs.</p>",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            summary = escape(operation["summary"])
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{summary}</p>")
            if method == "post":
                parts.append(f"<pre>{escape(_example(path, served))}</pre>")
    if served.columns.kinds is not None:
        parts.append("<h2>Columns</h2><table><tr><th>name</th><th>kind</th></tr>")
        parts += [
            f"<tr><td>{escape(name)}</td><td>{escape(kind)}</td></tr>" for name, kind in served.columns.kinds.items()
        ]
        parts.append("</table>")
    return "\n".join(parts)


def _example(path: str, served: ServedModel) -> str:
    """Return a command that sends a row."""
    body: Any = served.columns.example()
    if path == "/learn":
        body = {"row": body, "label": served.scorer.classes[1]}
    text = json.dumps(body).replace("'", "'\\''")
    return f"curl -H 'Content-Type: {JSON_TYPE}' -d '{text}' http://ADDRESS{path}"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _one_or_many(schema: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    many: dict[str, Any] = {"type": "array", "items": schema, "minItems": 1}
    return {"anyOf": [schema, many if most is None else {**many, "maxItems": most}]}


def _response(description: str, content_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {content_type: {"schema": schema}}}


def _post(
    summary: str, body: dict[str, Any], answer: dict[str, Any], parameters: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    refusals = {str(status): _response(text, JSON_TYPE, ERROR) for status, text in REFUSALS.items()}
    operation = {
        "summary": summary,
        "parameters": parameters or [],
        "requestBody": {"required": True, "content": {JSON_TYPE: {"schema": body}}},
        "responses": {"200": _response("Done.", JSON_TYPE, answer), **refusals},
    }
    return {"post": operation}


def _get(summary: str, content_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": {"200": _response("Done.", content_type, schema)}}}
