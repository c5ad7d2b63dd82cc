"""A service answers what the model says, and refuses the rest with a status of 4xx and one line."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.serving.settings import Limits
from tests.serving.conftest import ROW, table

FRAME, _ = table(30, seed=1)
ROWS = json.loads(FRAME.to_json(orient="records"))


def test_scores_are_those_of_the_model_to_the_bit(serve, gam):
    with serve(gam) as client:
        loaded = opauc.load(client.path)
        many = client.post("/score", json=ROWS)
        assert many.status_code == 200
        expected = loaded.decision_function(FRAME).tolist(), loaded.predict_proba(FRAME)[:, 1].tolist()
        assert [answer["score"] for answer in many.json()] == expected[0]
        assert [answer["probability"] for answer in many.json()] == expected[1]
        assert [answer["label"] for answer in many.json()] == loaded.predict(FRAME).tolist()
        assert [client.post("/score", json=row).json() for row in ROWS] == many.json()
        assert client.post("/score", json=ROWS[:1]).json() == many.json()[:1]


def test_reasons_add_up_to_the_score(serve, gam):
    with serve(gam) as client:
        [whole, *_] = client.post("/explain", json=ROWS[:3]).json()
        few = client.post("/explain?k=2", json=ROWS[0]).json()
        explained = gam.explain(FRAME[:1])
        expected = dict(zip(explained.names, explained.contributions[0], strict=True))
        assert {term["term"] for term in whole["terms"]} == set(expected)
        for term in whole["terms"]:
            assert_allclose(term["contribution"], expected[term["term"]], rtol=1e-9, atol=1e-12)
        assert few["terms"] == whole["terms"][:2]
        for answer in (whole, few):
            total = answer["baseline"] + answer["others"] + sum(term["contribution"] for term in answer["terms"])
            assert_allclose(total, client.post("/score", json=ROWS[0]).json()["score"], rtol=0, atol=1e-9)


def test_a_model_of_an_array_takes_arrays(serve, linear):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    with serve(linear) as client:
        scores = [answer["score"] for answer in client.post("/score", json=rows.tolist()).json()]
        assert scores == [linear.decision_function(row[None])[0] for row in rows]
        assert client.post("/score", json=rows[0].tolist()).json()["score"] == scores[0]
        refused = client.post("/score", json=[1.0, None, 2.0])
        assert (refused.status_code, "NaN" in refused.json()["error"]) == (422, True)
        assert client.post("/explain", json=[1.0, 2.0, 3.0]).json() == {
            "error": "OPAUC has no terms, and so no contributions"
        }


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_table_of_numbers_takes_arrays_too(serve):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "c"])
    model = OnePassGAM(trees=False, random_state=0).fit(frame, frame["a"] + frame["b"] > 0)
    with serve(model) as client:
        of_arrays = client.post("/explain?k=1", json=[[1.0, None, 2.0], [0.0, 0.5, 1.0]]).json()
        assert of_arrays == client.post("/explain?k=1", json=[{"a": 1, "c": 2}, {"a": 0, "b": 0.5, "c": 1}]).json()
        assert client.post("/explain", json=[[1.0, None]]).status_code == 422


def test_a_linear_model_of_a_table_takes_its_columns(serve, tmp_path):
    frame = FRAME.drop(columns=["since", "income"]).fillna(40.0).assign(y=np.arange(30) % 2)
    frame.to_csv(tmp_path / "table.csv", index=False)
    model = opauc.train(tmp_path / "table.csv", label="y", solver="exact", categorical=["city"])
    with serve(model, learn=True) as client:
        answer = client.post("/score", json={"city": "Zug", "age": 30}).json()  # no category that the model knows
        assert answer["score"] == model.scorer().score({"city": "Zug", "age": 30})
        learned = client.post("/learn", json={"row": {"city": "Zug", "age": 31}, "label": int(model.classes_[1])})
        assert learned.json()["rows_learned"] == 1
        assert client.post("/score", json={"city": "Zug", "age": 30}).json()["score"] > answer["score"]
        missing = client.post("/score", json={"city": "Bern"})
        assert (missing.status_code, "missing" in missing.json()["error"]) == (422, True)


JSON = {"Content-Type": "application/json"}
BIG = "1" * 5000
MISTAKES = [
    ("/score", b"{", 400, "expected JSON"),
    ("/score", b"\xff\xfe\x00", 400, "expected JSON"),
    ("/score", b'{"age": NaN}', 400, "NaN is no JSON"),
    ("/score", b'{"age": -Infinity}', 400, "-Infinity is no JSON"),
    ("/score", f'{{"age": {BIG}}}'.encode(), 400, "expected JSON"),
    ("/score", b"[" * 100_000, 400, "nested too deeply"),
    ("/score", b'{"a":' * 50_000, 400, "nested too deeply"),
    ("/score", b"", 400, "expected JSON"),
    ("/score", b"null", 422, "expected a row"),
    ("/score", b'"age"', 422, "expected a row"),
    ("/score", b"7", 422, "expected a row"),
    ("/score", b"[]", 422, "expected a row"),
    ("/score", b"{}", 422, "row 0: the row has no column of the model; expected age, income, city, since"),
    ("/score", b'{"Age": 3}', 422, "row 0: the row has no column of the model; expected age"),
    ("/score", b'[{"age": 3}, 7]', 422, "row 1: expected an object of columns or an array, as the first row"),
    ("/score", b'[{"age": 3}, [7]]', 422, "row 1: expected an object of columns or an array, as the first row"),
    ("/score", b'[{"age": 3}, {"age": [7]}]', 422, "row 1: column age: expected a plain value"),
    ("/score", b'[{"age": 3}, {"age": 1e999}]', 422, "row 1: column age holds an infinite value"),
    ("/score", b'[{"age": 3}, {"since": 7}]', 422, "row 1: row: column since holds int64"),
    ("/score", b'{"city": 1000000000000000000000000000000}', 422, "row 0: column city: cannot read"),
    ("/score", b"[1.0, 2.0, 3.0, 4.0]", 422, "row 0: "),
    ("/score", b'[1.0, "2"]', 422, "row 0: expected numbers and null"),
    ("/score", b"[{}" + b",{}" * 1000 + b"]", 413, "1001 rows; a request may have 1000"),
    ("/score", b" " * (2**20 + 1), 413, "the body has more than 1048576 bytes"),
    ("/explain?k=0", b'{"age": 3}', 422, "k: expected a whole number"),
    ("/explain?k=x", b'{"age": 3}', 422, "k: expected a whole number from 1 to 999999, got 'x'"),
    ("/explain?k=" + BIG, b'{"age": 3}', 422, "k: expected a whole number"),
    ("/learn", b"7", 422, 'expected {"row": ..., "label": ...}'),
    ("/learn", b"[]", 422, "expected a row"),
    ("/learn", b'{"row": {"age": 3}}', 422, 'row 0: expected {"row": ..., "label": ...}'),
    ("/learn", b'{"row": {"age": 3}, "label": "maybe"}', 422, "row 0: unknown label 'maybe'; expected one of no, yes"),
    ("/learn", b'{"row": {"age": 3}, "label": ["yes"]}', 422, "row 0: unknown label ['yes']"),
    ("/learn", b'{"row": {"age": 3}, "label": null}', 422, "row 0: unknown label None"),
    ("/learn", b'{"row": {"Age": 3}, "label": "yes"}', 422, "row 0: the row has no column of the model"),
    ("/learn", b'{"row": 7, "label": "yes"}', 422, "row 0: expected an object of columns"),
]


@pytest.fixture(scope="module")
def learning(gam, tmp_path_factory):
    from starlette.testclient import TestClient

    from opauc.serving.app import create_app
    from opauc.serving.settings import ServeSettings

    path = tmp_path_factory.mktemp("served") / "model.opauc"
    opauc.save(gam, path)
    with TestClient(create_app(ServeSettings(str(path), learn=True))) as client:
        yield client


@pytest.mark.parametrize(("path", "body", "status", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_line(learning, path, body, status, words):
    response = learning.post(path, content=body, headers=JSON)
    assert response.status_code == status
    assert response.json().keys() == {"error"}
    error = response.json()["error"]
    assert words in error
    assert len(error) <= 300
    assert "\n" not in error


def test_what_is_no_json_is_refused_by_its_type(learning):
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        response = learning.post("/score", content=b'{"age": 3}', headers={"Content-Type": content_type})
        assert response.status_code == 415
    other = {"Content-Type": "Application/JSON; charset=utf-8"}
    answered = learning.post("/score", content=b'{"age": 3}', headers=other)
    assert answered.status_code == 200


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/score", 405), ("POST", "/", 405), ("GET", "/x", 404)])
def test_other_paths_and_methods_are_refused(learning, method, path, status):
    response = learning.request(method, path)
    assert response.status_code == status
    assert response.json().keys() == {"error"}


def test_text_of_any_kind_is_answered(learning):
    for text in ("\ud800", "\x00", "é" * 1000, "2021-05-06\x00", "<script>"):
        body = json.dumps({"city": text, "age": text, "since": text})
        response = learning.post("/score", content=body, headers=JSON)
        assert response.status_code in (200, 422)
        wrong = json.dumps({"row": {"city": text}, "label": text})
        refused = learning.post("/learn", content=wrong, headers=JSON)
        assert refused.status_code == 422
        assert refused.json()["error"]


def test_values_too_large_for_a_score_are_refused(serve):
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 4.0], "b": [1.0, 0.0, 1.0, 1.0]})
    with serve(OPAUC(standardize=False).fit(frame, [0, 0, 1, 1])) as client:
        response = client.post("/score", json={"a": 1.7e308, "b": 1.7e308})
        assert response.status_code in (200, 422)
        body = '{"a": 1.7e308, "b": -1.7e308}', '{"a": -1.7e308, "b": -1.7e308}'
        for one in body:
            assert client.post("/score", content=one, headers=JSON).status_code < 500


def test_limits_can_be_chosen(serve, gam):
    with serve(gam, limits=Limits(max_rows=2, max_bytes=100)) as client:
        assert client.post("/score", json=[{"age": 1}] * 2).status_code == 200
        assert client.post("/score", json=[{"age": 1}] * 3).status_code == 413
        assert client.post("/score", content=b" " * 101, headers=JSON).status_code == 413


def test_requests_are_counted(serve, gam):
    with serve(gam) as client:
        client.post("/score", json=ROWS)
        client.post("/score", json=ROW)
        client.post("/explain", json=ROW)
        client.post("/score", content=b"{", headers=JSON)
        client.get("/" + "x" * 50)
        response = client.get("/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        values = dict(line.rsplit(" ", 1) for line in response.text.splitlines() if not line.startswith("#"))
        assert values['opauc_requests_total{path="/score",status="200"}'] == "2"
        assert values['opauc_requests_total{path="/score",status="400"}'] == "1"
        assert values['opauc_requests_total{path="other",status="404"}'] == "1"
        assert values['opauc_request_seconds_count{path="/score"}'] == "3"
        assert values['opauc_request_seconds_bucket{path="/score",le="+Inf"}'] == "3"
        assert values["opauc_rows_scored_total"] == str(len(ROWS) + 1)
        assert values["opauc_rows_explained_total"] == "1"
        assert "opauc_progressive_auc" not in values


def test_the_page_has_no_scripts_and_escapes_names(serve):
    frame, labels = table(300)
    frame = frame.rename(columns={"city": "<script>alert('x')</script>"})
    model = OnePassGAM(random_state=0, trees=False).fit(frame, labels)
    with serve(model) as client:
        response = client.get("/")
        assert response.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'"
        assert "<script" not in response.text
        assert "&lt;script&gt;" in response.text
        assert "http-equiv" not in response.text
        assert "src=" not in response.text


def test_the_description_names_the_columns_and_only_the_paths_there_are(serve, gam, linear):
    with serve(gam) as client:
        document = client.get("/openapi.json").json()
        row = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"][0]
        assert list(row["properties"]) == ["age", "income", "city", "since"]
        assert "/learn" not in document["paths"]
        assert client.post("/learn", json={}).status_code == 404
        health = client.get("/health").json()
        assert health == {
            "status": "ok", "model": "model.opauc", "estimator": "OnePassGAM", "version": 1, "rows_learned": 0,
            "error": None,
        }  # fmt: skip
    with serve(linear, learn=True) as client:
        document = client.get("/openapi.json").json()
        row = document["paths"]["/learn"]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"][0]
        assert row["properties"]["row"]["minItems"] == 3
