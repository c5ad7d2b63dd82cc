"""Requests made from the service's own description, and broken ones, never end in an error of the service."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import opauc
from opauc import OPAUC
from opauc.serving.app import create_app
from opauc.serving.settings import Limits, ServeSettings
from tests.problems import problem

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def description_of(model, folder):
    opauc.save(model, folder / "model")
    app = create_app(ServeSettings(str(folder / "model"), learn=True, limits=Limits(max_rows=5)))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.fixture
def of_a_table(gam, tmp_path):
    return description_of(gam, tmp_path)


@pytest.fixture
def of_an_array(tmp_path):
    rows, labels = problem(0, 100, 3)
    return description_of(OPAUC().fit(rows, labels), tmp_path)


few = settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)


@schemathesis.pytest.from_fixture("of_a_table").parametrize()
@few
def test_a_service_of_a_table_answers_everything(case):
    case.call_and_validate(checks=CHECKS)


@schemathesis.pytest.from_fixture("of_an_array").parametrize()
@few
def test_a_service_of_an_array_answers_everything(case):
    case.call_and_validate(checks=CHECKS)
