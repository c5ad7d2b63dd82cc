"""Labeled rows train the model of a service; its file is loaded again when it changes."""

import json
import os
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.errors import ParameterError, UnreadableFileError, UnsupportedOperationError
from opauc.metrics import exact_auc
from opauc.serving.app import create_app
from opauc.serving.learner import Learner
from opauc.serving.live_model import LiveModel
from opauc.serving.metrics import Metrics
from opauc.serving.requests import LabeledRows, RequestError
from opauc.serving.settings import Limits, ServeSettings
from tests.serving.conftest import INIT_SIZE, ROW, table

FRAME, LABELS = table(60, seed=2)
ROWS = json.loads(FRAME.to_json(orient="records"))
SENT = [{"row": row, "label": label} for row, label in zip(ROWS, LABELS.tolist(), strict=True)]
QUICK = Limits(reload_seconds=0.02)


def wait_until(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen within ten seconds")


def test_rows_train_the_model_as_partial_fit_does_and_are_saved(serve, gam, tmp_path):
    with serve(gam, learn=True) as client:
        before = client.post("/score", json=ROW).json()["score"]
        answer = client.post("/learn", json=SENT).json()
        assert answer == {"rows": 60, "rows_learned": 60, "version": 2}
        opauc.save(gam, tmp_path / "other")
        expected = opauc.load(tmp_path / "other").partial_fit(FRAME, LABELS)
        after = client.post("/score", json=ROW).json()["score"]
        assert_allclose(after, expected.decision_function([ROW])[0], rtol=1e-9)
        assert after != before
        values = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[0] != "#")
        auc = exact_auc(LABELS == "yes", gam.decision_function(FRAME))
        assert_allclose(float(values["opauc_progressive_auc"]), auc, atol=1e-3)
        assert client.post("/learn", json=SENT[0]).json() == {"rows": 1, "rows_learned": 61, "version": 3}
        last = client.post("/score", json=ROW).json()["score"]
    assert opauc.load(client.path).decision_function([ROW])[0] == pytest.approx(last, rel=1e-9)


def test_a_model_that_has_not_fixed_its_basis_yet_gets_new_categories(serve):
    frame, labels = table(600)
    model = OnePassGAM(init_size=INIT_SIZE, trees=False, random_state=0).partial_fit(frame, labels)
    sent = [{"row": {**row, "city": "Zug"}, "label": "yes"} for row in ROWS]
    with serve(model, learn=True) as client:
        assert client.post("/learn", json=sent).json()["rows_learned"] == 60
        expected = opauc.load(client.path).partial_fit(FRAME.assign(city="Zug"), ["yes"] * 60)
        row = {**ROW, "city": "Zug"}
        score = client.post("/score", json=row).json()["score"]
        assert_allclose(score, expected.decision_function([row])[0], rtol=1e-9)
        assert score > client.post("/score", json={**ROW, "city": "Basel"}).json()["score"]


def test_the_model_is_saved_every_so_many_rows_and_not_loaded_again(serve, gam):
    with serve(gam, learn=True, save_every=2, limits=QUICK) as client:
        before = client.path.read_bytes()
        client.post("/learn", json=SENT[0])
        assert client.path.read_bytes() == before
        client.post("/learn", json=SENT[1])
        assert client.path.read_bytes() != before
        score = client.post("/score", json=ROW).json()["score"]
        assert opauc.load(client.path).decision_function([ROW])[0] == pytest.approx(score, rel=1e-9)
        time.sleep(0.2)
        assert client.get("/health").json()["version"] == 3


def test_a_column_of_values_of_several_kinds_is_trained_on(serve, gam):
    sent = [{**SENT[0], "row": {**ROW, "age": value, "city": value}} for value in (1, "2", True, None, 2.5)]
    with serve(gam, learn=True) as client:
        assert client.post("/learn", json=sent).json()["rows_learned"] == 5


def test_a_changed_file_is_loaded_at_once_and_a_broken_one_never(serve, gam, linear, tmp_path):
    with serve(gam, limits=QUICK) as client:
        opauc.save(gam.__class__(trees=False, interactions=0, random_state=1).fit(*table(500)), tmp_path / "next")
        expected = opauc.load(tmp_path / "next").decision_function([ROW])[0]
        os.replace(tmp_path / "next", client.path)
        wait_until(lambda: client.get("/health").json()["version"] == 2)
        assert client.post("/score", json=ROW).json()["score"] == expected
        (tmp_path / "broken").write_bytes(client.path.read_bytes()[:-100])
        os.replace(tmp_path / "broken", client.path)
        wait_until(lambda: client.get("/health").json()["error"])
        assert client.get("/health").json()["version"] == 2
        assert client.post("/score", json=ROW).json()["score"] == expected
        assert "opauc_reload_failures_total 1" in client.get("/metrics").text
        client.path.unlink()
        time.sleep(0.1)
        assert client.post("/score", json=ROW).json()["score"] == expected
        opauc.save(linear, client.path)  # another kind of model, with other columns
        wait_until(lambda: client.get("/health").json()["version"] == 3)
        assert client.get("/health").json()["error"] is None
        assert client.post("/score", json=[1.0, 2.0, 3.0]).status_code == 200


def test_requests_see_the_model_before_or_after_a_change_and_never_a_mixture(serve, gam, tmp_path):
    other = OnePassGAM(trees=False, random_state=1).fit(*table(500, seed=5))
    known = []
    for model in (gam, other):
        opauc.save(model, tmp_path / "one")
        known.append(opauc.load(tmp_path / "one").decision_function(FRAME).tolist())
    with serve(gam, limits=QUICK) as client:
        for turn in range(6):
            opauc.save((other, gam)[turn % 2], client.path)
            for _ in range(10):
                assert [answer["score"] for answer in client.post("/score", json=ROWS).json()] in known


def test_rows_that_overflow_change_nothing(serve):
    rows = np.array([[0.0], [1.0], [2.0], [4.0]])
    with serve(OPAUC(standardize=False).fit(rows, [0, 0, 1, 1]), learn=True) as client:
        before = client.post("/score", json=[2.0]).json()
        refused = client.post("/learn", json={"row": [1e300], "label": 1})
        assert refused.status_code == 422
        assert client.post("/score", json=[2.0]).json() == before
        assert client.post("/learn", json={"row": [3.0], "label": 1}).json()["rows_learned"] == 1


def live(model, path, **options):
    opauc.save(model, path)
    return LiveModel(ServeSettings(str(path), learn=True, **options), Metrics())


def test_rows_of_many_requests_are_one_batch_and_a_wrong_one_hurts_no_other(gam, tmp_path, monkeypatch):
    model, batches, entered, go = live(gam, tmp_path / "model"), [], threading.Event(), threading.Event()

    def train(rows, labels):
        entered.set()
        assert go.wait(10)
        batches.append(len(rows))
        if "wrong" in labels:
            raise RequestError(422, "wrong")

    monkeypatch.setattr(model, "train", train)
    learner = Learner(model, max_waiting_rows=6)
    first = learner.submit(LabeledRows([ROW], ["yes"]))
    assert entered.wait(10)
    others = [learner.submit(LabeledRows([ROW] * 2, ["yes", label])) for label in ("no", "wrong")]
    with pytest.raises(RequestError, match="5 rows wait") as busy:
        learner.submit(LabeledRows([ROW] * 2, ["yes", "no"]))
    assert busy.value.status == 503
    go.set()
    learner.close()
    assert batches == [1, 4, 2, 2]
    assert first.result(0) is None
    assert others[0].result(0) is None
    with pytest.raises(RequestError, match="wrong"):
        others[1].result(0)
    assert learner.rows_waiting == 0


def test_a_model_that_cannot_be_saved_goes_on(gam, tmp_path, monkeypatch):
    model = live(gam, tmp_path / "model", save_every=1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("opauc.serving.live_model.save", full)
    model.train(ROWS[:1], ["yes"])
    assert model.file_error == f"{tmp_path / 'model'}: not saved: No space left on device"
    assert model.current.version == 2
    monkeypatch.undo()
    model.save()
    assert model.file_error is None
    assert opauc.load(tmp_path / "model").decision_function([ROW])[0] == pytest.approx(
        model.current.score(ROW), rel=1e-9
    )


def test_settings_that_do_not_go_together_are_refused(gam, tmp_path):
    path = tmp_path / "model"
    with pytest.raises(ParameterError, match="save_every=5 needs learn=True"):
        ServeSettings("x", save_every=5).check()
    with pytest.raises(ParameterError, match="learn=True needs one process"):
        ServeSettings("x", learn=True).check(workers=2)
    with pytest.raises(UnreadableFileError, match="no such file"):
        create_app(ServeSettings(str(tmp_path / "nothing")))
    opauc.save(gam, path, scoring_only=True)
    create_app(ServeSettings(str(path)))
    with pytest.raises(UnsupportedOperationError, match="the model cannot be trained further; it only scores"):
        create_app(ServeSettings(str(path), learn=True))
    opauc.save(OPAUC().fit([[0.0], [1.0]], [0, 1]).moments_, path)
    with pytest.raises(UnreadableFileError, match="holds statistics, expected a model"):
        create_app(ServeSettings(str(path)))
