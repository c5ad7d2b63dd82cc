"""Requests made from the service's own description, right and wrong ones, never end in an error of the service."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
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
from tests.serving.conftest import table

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ROWS, LABELS = problem(0, 100, 3)


def linear_of_table(folder):
    frame, labels = table(200)
    frame.drop(columns="since").fillna(40.0).assign(y=labels).to_csv(folder / "table.csv", index=False)
    options = {"solver": "exact", "categorical": ["city"], "missing": "mean"}
    return opauc.train(folder / "table.csv", label="y", **options)


MODELS = {
    "table": lambda gam, _: gam,
    "array": lambda *_: OPAUC().fit(ROWS, LABELS),
    "linear model of a table": lambda _, folder: linear_of_table(folder),
}


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.filterwarnings("ignore")  # of schemathesis, and of the rows that it makes up
def test_everything_is_answered(kind, mode, gam, tmp_path):
    opauc.save(MODELS[kind](gam, tmp_path), tmp_path / "model")
    app = create_app(ServeSettings(str(tmp_path / "model"), learn=True, limits=Limits(max_rows=5)))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert {operation.path for operation in operations} >= {"/score", "/explain", "/learn", "/metrics"}
    statuses = set()
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and operation.body is not None and not len(operation.body):
            continue  # there is nothing to get wrong

        @settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case):
            statuses.add(case.call_and_validate(checks=CHECKS).status_code)

        check()
    assert statuses >= ({200} if mode is GenerationMode.POSITIVE else {422})
    assert statuses <= {200, 400, 413, 415, 422}
