"""The API against its own OpenAPI description: whatever is sent, the answers conform to it."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from coterie.app.api.application import make_api
from coterie.app.api.rating_log import RatingLog
from coterie.app.api.routes import ROUTES
from coterie.app.guard import AllowedHosts

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
)


@pytest.fixture(scope="module")
def described(model_files, tmp_path_factory):
    log = RatingLog(tmp_path_factory.mktemp("log") / "ratings")
    hosts = AllowedHosts.of("127.0.0.1", ["testserver"])
    app = make_api(model_files["mmsbm"], hosts=hosts, log=log)
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), [(route.method, route.path) for route in ROUTES])
def test_every_answer_conforms_to_the_description(described, method, path, mode):
    if mode is GenerationMode.NEGATIVE and method == "GET":
        mode = GenerationMode.POSITIVE  # without parameters, nothing can be wrong
    operation = described[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    def check(case):
        response = case.call()
        case.validate_response(response, checks=CHECKS)

    check()
