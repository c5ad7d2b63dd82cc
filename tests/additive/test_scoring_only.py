"""Models saved for scoring only: small, equal but for the rounding of leaf weights, and no more."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

from opauc import OPAUC, OnePassGAM, load, save
from opauc.errors import UnsupportedOperationError

REFUSED = "saved for scoring only"


def draw_table(seed, n_rows):
    """Numbers, three of which interact, booleans, missing values, and categories, many of them rare."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    table["member"] = rng.random(n_rows) < 0.5
    table["gaps"] = np.where(rng.random(n_rows) < 0.2, np.nan, rng.exponential(size=n_rows))
    table["city"] = rng.choice(["Bern", "Chur", None], n_rows)
    table["shop"] = [f"s{number}" for number in rng.geometric(0.01, n_rows)]
    score = 3.0 * np.sign(table["a"] * table["b"] * table["c"]) + table["d"] * table["member"]
    return table, (rng.random(n_rows) < expit(score)).astype(int)


TABLE, LABELS = draw_table(0, 9000)
NEW, _ = draw_table(1, 300)


@pytest.fixture(scope="module", params=["whole", "stream", "without trees"])
def model(request):
    if request.param == "whole":
        model = OnePassGAM(random_state=0).fit(TABLE, LABELS)
        assert model._fitted.current.model.blend.frozen
        return model
    more = {"max_columns": 400} if request.param == "stream" else {"interactions": [("a", "member"), ("city", "gaps")]}
    model = OnePassGAM(random_state=0, init_size=5000, **more)
    model.partial_fit(TABLE[:6000], LABELS[:6000]).partial_fit(TABLE[6000:], LABELS[6000:])
    assert (model.basis_.trees is None) == (request.param == "without trees")
    return model


@pytest.fixture
def small(model, tmp_path):
    save(model, tmp_path / "small.opauc", scoring_only=True)
    return load(tmp_path / "small.opauc")


def assert_equal_but_for_leaf_weights(model, mine, theirs):
    """Weights of leaves and of crossed codes are float32 in the file; without these every bit is equal."""
    tolerance = 0.0 if model.basis_.trees is None and not model.basis_.crossed.size else 1e-6
    np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=tolerance)


def test_scores_and_explanations_are_equal(model, small):
    assert_equal_but_for_leaf_weights(model, small.decision_function(NEW), model.decision_function(NEW))
    assert_equal_but_for_leaf_weights(model, small.predict_proba(NEW), model.predict_proba(NEW))
    mine, theirs = small.explain(NEW), model.explain(NEW)
    assert mine.names == theirs.names
    assert_equal_but_for_leaf_weights(model, mine.baseline, theirs.baseline)
    assert_equal_but_for_leaf_weights(model, mine.contributions, theirs.contributions)
    np.testing.assert_allclose(mine.scores(), small.decision_function(NEW), atol=1e-11)


def test_terms_importances_selection_and_drift_are_equal(model, small):
    assert small.term_importances_ == model.term_importances_
    assert_array_equal(small.feature_importances_, model.feature_importances_)
    for mine, theirs in zip(small.terms_, model.terms_, strict=True):
        assert (mine.name, mine.inputs, mine.at, mine.importance) == (
            theirs.name, theirs.inputs, theirs.at, theirs.importance,
        )  # fmt: skip
        assert_array_equal(mine.value, theirs.value)
        assert_array_equal(mine.error, theirs.error)
    assert small.selection_ == model.selection_
    assert [drift.name for drift in small.drift_] == [drift.name for drift in model.drift_]
    assert small._fitted.counts == model._fitted.counts


def test_training_merging_and_forgetting_are_refused_and_change_nothing(model, small):
    rows, labels = TABLE[:50], LABELS[:50]
    before = small.decision_function(NEW)
    for attempt in (
        lambda: small.partial_fit(rows, labels),
        lambda: small.forget(rows, labels),
        lambda: small.merge(model),
        lambda: model.merge(small),
        small.empty_copy,
    ):
        with pytest.raises(UnsupportedOperationError, match=REFUSED):
            attempt()
    assert_array_equal(small.decision_function(NEW), before)
    assert small.fit(rows, labels).decision_function(rows).shape == (50,)  # begins anew


def test_a_file_for_scoring_can_be_saved_again(small, tmp_path):
    save(small, tmp_path / "again.opauc")
    save(small, tmp_path / "again, small.opauc", scoring_only=True)
    for name in ("again.opauc", "again, small.opauc"):
        assert_array_equal(load(tmp_path / name).decision_function(NEW), small.decision_function(NEW))


def test_the_file_is_small(tmp_path):
    model = OnePassGAM(random_state=0, init_size=6000).partial_fit(TABLE, LABELS)
    assert model.basis_.trees is not None
    save(model, tmp_path / "full.opauc")
    save(model, tmp_path / "small.opauc", scoring_only=True)
    full, small = ((tmp_path / f"{name}.opauc").stat().st_size for name in ("full", "small"))
    assert full > 2**20
    assert small < 2**18


def test_linear_models_have_no_such_form(tmp_path):
    with pytest.raises(UnsupportedOperationError, match="only OnePassGAM"):
        save(OPAUC().fit([[0.0], [1.0]], [0, 1]), tmp_path / "model.opauc", scoring_only=True)
    assert not list(tmp_path.iterdir())


def test_arrays_that_do_not_belong_together_are_refused(small):
    header, arrays = small._fitted.to_parts()
    kind, width = type(small._fitted), small._fitted.n_features
    n_terms = arrays["terms.means"].size
    assert_array_equal(kind.from_parts(header, arrays, width).weights, small._fitted.weights)
    changes = {
        "weights": arrays["weights"][:-1],
        "categorical": arrays["categorical"][:-1],
        "terms.indices": np.full_like(arrays["terms.indices"], n_terms),
        "terms.indptr": arrays["terms.indptr"][::-1].copy(),
        "terms.values": arrays["terms.values"][:-1],
        "terms.means": np.full_like(arrays["terms.means"], np.nan),
        "bin_counts.first": np.append(arrays["bin_counts.first"], 0.0),
        "class_counts": -arrays["class_counts"],
    }
    if "trees.main" in arrays:
        changes |= {
            "trees.main": arrays["trees.main"][:-1],
            "trees.counts": arrays["trees.counts"][:-1],
            "trees.weights": arrays["trees.weights"][1:],
            "trees.bits": arrays["trees.bits"][::-1].copy(),
            "trees.columns": arrays["trees.columns"] + np.uint16(arrays["trees.coded.sources"].size),
        }
    if not arrays["terms.indices"].size:  # all weight is that of the trees
        del changes["terms.indices"], changes["terms.indptr"]
    for name, array in changes.items():
        with pytest.raises(ValueError, match=r"expected"):
            kind.from_parts(header, arrays | {name: array}, width)
    fewer = arrays | {"terms.values": arrays["terms.values"][:-1], "terms.errors": arrays["terms.errors"][:-1]}
    with pytest.raises(ValueError, match="terms: expected"):
        kind.from_parts(header, fewer, width)
    for selection in ({"model": "none", "aucs": {}, "rows": [1.0, 2.0]}, {"model": "full", "aucs": {}, "rows": [1.0]}):
        with pytest.raises(ValueError, match="selection"):
            kind.from_parts({**header, "selection": selection}, arrays, width)
