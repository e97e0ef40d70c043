"""What the API says about itself: the OpenAPI document, and the page at / with commands to try."""

from __future__ import annotations

from http import HTTPStatus
from typing import get_args

from pydantic.json_schema import models_json_schema

from coterie.app.api.messages import ProblemDocument
from coterie.app.api.model_file import LoadedModel
from coterie.app.api.routes import ROUTES, Route, examples
from coterie.app.page import filled
from coterie.app.problem import PROBLEM_TYPE
from coterie.base.json_values import JsonObject
from coterie.base.version import __version__

_REFERENCE = "#/components/schemas/{model}"


def openapi_document(model: LoadedModel, *, token: bool) -> JsonObject:
    """Return the description of every route; `token` says whether one is required."""
    models = [
        *((route.request, "validation") for route in ROUTES if route.request),
        *((answer, "serialization") for route in ROUTES for answer in _answers(route)),
        (ProblemDocument, "serialization"),
    ]
    tried = examples(model.recommender)
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
            route.path: {route.method.lower(): _operation(route, token, tried)} for route in ROUTES
        },
        "components": components,
    }
    if token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _answers(route: Route) -> tuple[type, ...]:
    """Return the models of the answers of a route."""
    return get_args(route.response) or ((route.response,) if route.response else ())


def _operation(route: Route, token: bool, tried: dict[str, JsonObject]) -> JsonObject:
    """Return the description of one route."""
    answers = [_schema(model) for model in _answers(route)]
    statuses = (*route.statuses, *((401,) if token and not route.is_open else ()))
    operation: JsonObject = {
        "operationId": route.path.removeprefix("/"),
        "summary": route.summary,
        "responses": {
            "200": {
                "description": "OK",
                "content": {
                    route.media_type.partition(";")[0]: {
                        "schema": {"anyOf": answers} if answers else {"type": "string"}
                    }
                },
            },
            **{
                str(status): {
                    "description": HTTPStatus(status).phrase,
                    "content": {PROBLEM_TYPE: {"schema": _schema(ProblemDocument)}},
                }
                for status in statuses
            },
        },
    }
    if route.request is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {"schema": _schema(route.request), "example": tried[route.path]}
            },
        }
    if token and route.is_open:
        operation["security"] = []
    return operation


def _schema(model: type) -> JsonObject:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def documentation_page(model: LoadedModel, address: str, *, token: bool) -> str:
    """Return the page as HTML, where each route can be tried with ids that the model has."""
    return filled(
        "documentation.html",
        model=model,
        address=address,
        token=token,
        routes=ROUTES,
        examples=examples(model.recommender),
    )
