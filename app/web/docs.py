"""OpenAPI: the document, and a page that shows it. The page is ours: no script, no file from elsewhere.

FastAPI lists the routes; the schemas of a trace come from the records, which the API answers as bytes.
"""

import json
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from markupsafe import Markup
from pydantic.json_schema import models_json_schema

from ..lessons.markdown import inline
from ..schema import Trace, TraceRequest
from ..schema.packing import PackedTrace
from ..schema.state import StateDocument
from .addresses import base_url
from .templating import DocsPage, Templates

_REF = "#/components/schemas/"


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """The document, made once per app."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        _, definitions = models_json_schema(
            [
                (TraceRequest, "validation"),
                *((each, "serialization") for each in (PackedTrace, Trace, StateDocument)),
            ],
            by_alias=True,
            ref_template=f"{_REF}{{model}}",
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(definitions["$defs"])
        for name in ("HTTPValidationError", "ValidationError"):  # our refusals are problems instead
            schemas.pop(name, None)
        for operations in document["paths"].values():
            for operation in operations.values():
                _problem_for_422(operation)
        app.openapi_schema = document
    return app.openapi_schema


def _problem_for_422(operation: dict[str, Any]) -> None:
    """FastAPI's own description of a wrong parameter; ours is a problem."""
    refused = operation["responses"].get("422", {})
    if "HTTPValidationError" in json.dumps(refused):
        operation["responses"]["422"] = {"description": "`invalid-request`"}


def docs_router(app: FastAPI, templates: Templates, public_url: str | None) -> APIRouter:
    """`/api/docs` and `/api/openapi.json`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/api/openapi.json")
    async def document() -> JSONResponse:
        return JSONResponse(openapi_of(app), headers={"Cache-Control": "no-cache"})

    @router.get("/api/docs", response_class=Response)
    async def page(request: Request) -> Response:
        return templates.respond(request, docs_page(openapi_of(app), base_url(request, public_url)))

    return router


def docs_page(document: dict[str, Any], address: str) -> DocsPage:
    """The page of a document, for a reader who reaches the server at an address."""
    operations = tuple(
        {
            "method": method.upper(),
            "path": path,
            "summary": operation.get("summary", ""),
            "parameters": [
                {**parameter, "description": _prose(parameter.get("description", ""))}
                for parameter in operation.get("parameters", [])
            ],
            "body": "requestBody" in operation,
            "responses": {
                status: _prose(response.get("description", ""))
                for status, response in operation["responses"].items()
            },
        }
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    )
    schemas = tuple(
        {
            "name": name,
            "description": _prose(schema.get("description", "")),
            "fields": [
                {
                    "name": field,
                    "type": type_text(described),
                    "description": _prose(described.get("description", "")),
                    "required": field in schema.get("required", []),
                }
                for field, described in schema.get("properties", {}).items()
            ],
        }
        for name, schema in document["components"]["schemas"].items()
        if "properties" in schema
    )
    return DocsPage(
        address=address, version=document["info"]["version"], operations=operations, schemas=schemas
    )


def _prose(text: str) -> Markup:
    """A docstring of ours as HTML: backticks are code."""
    return Markup(inline(text))


def type_text(schema: dict[str, Any]) -> str:
    """A JSON Schema in a few words.

    >>> type_text({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]})
    'array of integer | null'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REF)
    if "anyOf" in schema or "oneOf" in schema:
        return " | ".join(type_text(each) for each in schema.get("anyOf", schema.get("oneOf", [])))
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        inner = [type_text(each) for each in schema.get("prefixItems", [])]
        return f"array of {', '.join(inner) or type_text(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_text(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))
