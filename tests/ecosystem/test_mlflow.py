"""Models as a flavor of MLflow: stored without pickle, loaded by it, scored by its own pyfunc and its own server."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import opauc
from opauc.errors import InputError, ParameterError, UnreadableFileError, UnsupportedOperationError

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its dependencies warn of each other
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: opauc[mlflow]")
    import uvicorn
    from mlflow.pyfunc import scoring_server

    import opauc.mlflow

# What MLflow does with the newest pandas, and what its server does in a thread.
pytestmark = pytest.mark.filterwarnings("ignore:Operation with range")


def table(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(50, 10, n_rows)),
            "city": rng.choice(["Basel", "Bern", None], n_rows),
        }
    )
    y = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-0.2 * (X["age"].fillna(50) - 50))), "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def model():
    return opauc.OnePassGAM(trees=False, random_state=0).fit(*table())


@pytest.fixture(scope="module")
def logged(model, tmp_path_factory):
    """Log the model to a store of files, as a run does, and return what MLflow says of it."""
    store = tmp_path_factory.mktemp("mlflow") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(store.as_uri())
        with mlflow.start_run():
            yield opauc.mlflow.log_model(
                model, "churn", input_example=table()[0][:3], registered_model_name="churn", tags={"team": "a"}
            )
        mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def pyfunc(logged):
    return mlflow.pyfunc.load_model(logged.model_uri)


def test_what_is_loaded_is_what_was_logged(model, logged):
    X, y = table(seed=1)
    for address in (logged.model_uri, "models:/churn/1"):
        loaded = opauc.mlflow.load_model(address)
        assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_array_equal(
        loaded.partial_fit(X, y).decision_function(X),
        opauc.OnePassGAM(trees=False, random_state=0).fit(*table()).partial_fit(X, y).decision_function(X),
    )


def test_the_file_is_that_of_this_library(model, logged, tmp_path):
    folder = mlflow.artifacts.download_artifacts(logged.model_uri, dst_path=str(tmp_path))
    names = {path.relative_to(folder).as_posix() for path in (tmp_path).rglob("*") if path.is_file()}
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".py"))]
    [file] = tmp_path.rglob("model.opauc")
    opauc.save(model, tmp_path / "again.opauc")
    assert file.read_bytes() == (tmp_path / "again.opauc").read_bytes()
    [requirements] = tmp_path.rglob("requirements.txt")
    assert f"opauc=={opauc.__version__}" in requirements.read_text().split()
    assert logged.flavors["opauc"] == {
        "data": "data/model.opauc", "estimator": "OnePassGAM", "opauc_version": opauc.__version__
    }  # fmt: skip


def test_pyfunc_gives_what_the_model_gives(model, pyfunc):
    X, _ = table(seed=2)
    assert_array_equal(pyfunc.predict(X), model.predict_proba(X)[:, 1])
    assert_array_equal(pyfunc.predict(X, params={"response": "score"}), model.decision_function(X))
    assert_array_equal(pyfunc.predict(X, params={"response": "label"}), model.predict(X))
    frame = pyfunc.predict(X, params={"response": "contributions"})
    assert frame.columns.tolist() == ["(baseline)", *model.explain(X).names]
    np.testing.assert_allclose(frame.sum(axis=1), model.decision_function(X), atol=1e-9)


def test_the_response_can_be_chosen_when_a_model_is_saved_or_loaded(model, tmp_path):
    X, _ = table(seed=3)
    opauc.mlflow.save_model(model, tmp_path / "labels", response="label", scoring_only=True)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "labels"))
    assert_array_equal(loaded.predict(X), model.predict(X))
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "labels"), model_config={"response": "score"})
    assert_array_equal(loaded.predict(X.assign(row=1)), model.decision_function(X))
    with pytest.raises(UnsupportedOperationError):
        opauc.mlflow.load_model(tmp_path / "labels").partial_fit(*table())


def test_a_linear_model_of_an_array(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = opauc.OPAUC().fit(X, X[:, 0] > 0)
    opauc.mlflow.save_model(model, tmp_path / "model", input_example=X[:2])
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert_array_equal(loaded.predict(X), model.predict_proba(X)[:, 1])
    with pytest.raises(UnsupportedOperationError, match=r"^OPAUC has no terms, and so no contributions$"):
        opauc.mlflow.save_model(model, tmp_path / "other", response="contributions")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("rows", ["/etc/passwd", ["/etc/passwd"]])
def test_a_request_opens_no_file_of_the_server(model, rows):
    with pytest.raises(InputError, match=r"^expected rows to score, got strings$"):
        opauc.mlflow.ScoringModel(model).predict(rows)


def test_columns_as_a_dict_and_rows_as_dicts_are_scored(model):
    X, _ = table(20, seed=4)
    scoring = opauc.mlflow.ScoringModel(model)
    assert_array_equal(scoring.predict(X.to_dict("list")), model.predict_proba(X)[:, 1])
    assert_array_equal(scoring.predict(X.to_dict("records")), model.predict_proba(X)[:, 1])


def test_mistakes_are_one_line(model, tmp_path):
    with pytest.raises(
        ParameterError, match=r"^response: unknown response 'labels'; expected one of label, score, probability, contr"
    ):
        opauc.mlflow.save_model(model, tmp_path / "model", response="labels")
    other = mlflow.models.Model()
    other.add_flavor("sklearn")
    (tmp_path / "other").mkdir()
    other.save(str(tmp_path / "other" / "MLmodel"))
    with pytest.raises(UnreadableFileError, match=r"other: a model of sklearn, expected one of opauc$"):
        opauc.mlflow.load_model(tmp_path / "other")


@pytest.fixture(scope="module")
def server(pyfunc):
    """Serve the model by MLflow's own server on a port of this machine; return how to ask it."""
    port = socket.socket()
    port.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(scoring_server.init(pyfunc), log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([port],), daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)

    def ask(body):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port.getsockname()[1]}/invocations",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    yield ask
    server.should_exit = True
    thread.join(20)
    port.close()


def test_the_server_of_mlflow_scores_rows(model, server):
    X = table(5, seed=5)[0].round(6)
    status, answer = server({"dataframe_split": json.loads(X.to_json(orient="split"))})
    assert status == 200
    np.testing.assert_allclose(answer["predictions"], model.predict_proba(X)[:, 1], rtol=1e-12)
    status, answer = server({"dataframe_records": [{"age": 61.0, "city": "new"}], "params": {"response": "label"}})
    assert (status, answer["predictions"]) == (200, ["yes"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"dataframe_records": [{"age": 61.0}]}, "city"),
        ({"dataframe_records": [{"age": "old", "city": "Bern"}]}, "age"),
        ({"dataframe_records": [{"age": 61.0, "city": "Bern"}], "params": {"response": "labels"}}, "labels"),
        ({"rows": []}, "inputs"),
    ],
)
def test_the_server_refuses_what_is_wrong(server, body, words):
    status, answer = server(body)
    assert status == 400
    assert words in json.dumps(answer)


@pytest.mark.parametrize("module", ["mlflow", "river"])
def test_without_the_package_the_extra_is_named(module):
    code = f"import sys; sys.modules[{module!r}] = None; import opauc.{module}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == (
        f"opauc.errors.MissingEngineError: {module} is not installed; install opauc with its extra: opauc[{module}]"
    )
