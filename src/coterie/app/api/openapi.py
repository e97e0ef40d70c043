"""The OpenAPI description of the API, made from the routes and their messages."""

from __future__ import annotations

from http import HTTPStatus

from pydantic.json_schema import models_json_schema

from coterie.app.api.messages import ProblemDocument
from coterie.app.api.routes import PLAIN_ROUTES, ROUTES, Route
from coterie.app.problem import PROBLEM_TYPE
from coterie.base.json_values import JsonObject
from coterie.base.version import __version__

_REFERENCE = "#/components/schemas/{model}"


def openapi_document(*, token: bool) -> JsonObject:
    """Return the description of every route; `token` says whether one is required."""
    models = [
        *((route.request, "validation") for route in ROUTES),
        *((route.response, "serialization") for route in ROUTES),
        *((route.response, "serialization") for route in PLAIN_ROUTES if route.response),
        (ProblemDocument, "serialization"),
    ]
    _, schemas = models_json_schema(models, ref_template=_REFERENCE)  # type: ignore[arg-type]
    components: JsonObject = {"schemas": schemas["$defs"]}
    document: JsonObject = {
        "openapi": "3.1.0",
        "info": {
            "title": "coterie: the API of a saved recommender",
            "version": __version__,
            "description": "Errors are problem documents (RFC 9457). Ids are numbers or texts, as "
            "in the ratings that the model was fitted to.",
        },
        "paths": {
            **{route.path: {"post": _post(route, token)} for route in ROUTES},
            **{
                route.path: {
                    "get": {
                        "operationId": route.path.removeprefix("/"),
                        "summary": route.summary,
                        "responses": {
                            "200": {
                                "description": "OK",
                                "content": {
                                    route.media_type: {
                                        "schema": _schema(route.response)
                                        if route.response
                                        else {"type": "string"}
                                    }
                                },
                            },
                            **({"401": _problem(401)} if token and route.path != "/health" else {}),
                        },
                    }
                }
                for route in PLAIN_ROUTES
            },
        },
        "components": components,
    }
    if token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        document["paths"]["/health"]["get"]["security"] = []
    return document


def _post(route: Route, token: bool) -> JsonObject:
    statuses = (*route.statuses, *((401,) if token else ()))
    return {
        "operationId": route.name,
        "summary": route.summary,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _schema(route.request)}},
        },
        "responses": {
            "200": {
                "description": "OK",
                "content": {"application/json": {"schema": _schema(route.response)}},
            },
            **{str(status): _problem(status) for status in statuses},
        },
    }


def _schema(model: type) -> JsonObject:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def _problem(status: int) -> JsonObject:
    return {
        "description": HTTPStatus(status).phrase,
        "content": {PROBLEM_TYPE: {"schema": _schema(ProblemDocument)}},
    }
