"""A model whose basis has landmarks, which nothing makes any more: it is read, scores, explains, learns and merges."""

import json
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc import IncompatibleMomentsError, OnePassGAM
from opauc.additive.basis.landmarks import Landmarks

FOLDER = Path(__file__).parents[1] / "fixtures" / "49ae503"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def frame(name):
    table = pd.DataFrame(EXPECTED[name], columns=EXPECTED["columns"])
    return table.astype(dict.fromkeys("abc", float))


ROWS, MORE, LABELS = frame("rows"), frame("more_rows"), np.array(EXPECTED["more_labels"])


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model").write_bytes(lzma.decompress((FOLDER / "landmarks.opauc.xz").read_bytes()))
    return opauc.load(tmp_path / "model")


def test_it_is_read_with_its_landmarks_and_scores_as_it_did(model):
    assert isinstance(model.basis_.together, Landmarks)
    assert model.basis_.together.size == EXPECTED["n_landmarks"]
    assert list(model.basis_.probe) == EXPECTED["probe"]
    assert model.basis_.column_names(EXPECTED["columns"])[-1] == "all features together: landmark 38"
    assert_allclose(model.decision_function(ROWS), EXPECTED["scores"], rtol=1e-12)


def test_it_explains_as_it_did(model):
    explained = model.explain(ROWS)
    assert list(explained.names) == EXPECTED["effects"]
    assert_allclose(explained.contributions, EXPECTED["parts"], rtol=1e-9, atol=1e-12)
    assert_allclose(explained.scores(), EXPECTED["scores"], rtol=1e-9)
    assert max(model.term_importances_, key=model.term_importances_.get) == "all features together"


def test_it_goes_on_learning_as_it_would_have(model):
    model.partial_fit(MORE, LABELS)
    assert list(model.selection_.aucs) == ["linear", "additive", "certain pairs", "pairs", "full"]
    # Sums of rows may be rounded otherwise by other processors.
    assert_allclose(model.decision_function(ROWS), EXPECTED["scores_after_more"], rtol=1e-9)
    model.forget(MORE, LABELS)
    assert_allclose(model.decision_function(ROWS), EXPECTED["scores"], atol=1e-8, rtol=0)


def test_shards_of_it_merge_into_what_one_stream_gives(model):
    for part in range(3):
        model.merge(model.empty_copy().partial_fit(MORE[part::3], LABELS[part::3]))
    assert_allclose(model.decision_function(ROWS), EXPECTED["scores_after_more"], atol=1e-8, rtol=0)


def test_it_merges_with_no_model_of_another_card(model, monkeypatch):
    monkeypatch.setattr("opauc.additive.initial_sample.ENOUGH_OF_BOTH", 100)
    order = MORE["word"].argsort()  # the words are numbered as in the file: x, y, z
    other = OnePassGAM(init_size=300, interactions=0).fit(MORE.iloc[order], LABELS[order])
    for one, two in ((model, other), (other, model)):
        with pytest.raises(IncompatibleMomentsError, match="different bases"):
            one.merge(two)


def test_written_again_it_is_the_same_model(model, tmp_path):
    opauc.save(model, tmp_path / "again")
    again = opauc.load(tmp_path / "again")
    assert_array_equal(again.decision_function(ROWS), model.decision_function(ROWS))
    for each in (model, again):
        each.partial_fit(MORE, LABELS)
    assert_array_equal(again.decision_function(ROWS), model.decision_function(ROWS))
