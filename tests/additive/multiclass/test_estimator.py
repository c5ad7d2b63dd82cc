"""`OnePassGAM` on more than two classes."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import opauc
from opauc import OnePassGAM
from opauc.additive.multiclass.scorer import log_odds
from opauc.errors import UnsupportedOperationError

NAMES = np.array(["high", "low", "middle"])


def frame(seed=0, n_rows=900):
    """Return a table with numbers, categories and missing values, all rows different, and labels of three classes."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": random.normal(40.0, 12.0, n_rows),
            "city": random.choice(["Bern", "Chur", "Genf", "Thun"], n_rows),
            "rooms": random.integers(1, 6, n_rows) + random.uniform(0.0, 0.01, n_rows),
        }
    )
    score = (table["age"] - 40.0) / 12.0 * (table["rooms"] - 3.0) / 2.0 + 1.2 * (table["city"] > "Chur")
    score += 0.3 * random.normal(size=n_rows)
    table.loc[random.random(n_rows) < 0.1, "age"] = np.nan
    return table, NAMES[np.searchsorted([0.0, 1.0], score)]


TABLE, LABELS = frame()
TEST, TEST_LABELS = frame(seed=1, n_rows=400)


@pytest.fixture(scope="module")
def model():
    return OnePassGAM(random_state=0).fit(TABLE, LABELS)


def test_a_frame_with_categories_and_missing_values_is_fitted(model):
    assert_array_equal(model.classes_, NAMES)
    scores, probabilities = model.decision_function(TEST), model.predict_proba(TEST)
    assert scores.shape == probabilities.shape == (400, 3)
    assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(probabilities, expit(scores), atol=1e-9)
    assert_array_equal(model.predict(TEST), NAMES[scores.argmax(axis=1)])
    assert (model.predict(TEST) == TEST_LABELS).mean() > 0.7


def test_the_score_is_that_of_scikit_learn(model):
    table, labels = frame(seed=2, n_rows=8000)
    theirs = roc_auc_score(labels, model.predict_proba(table), multi_class="ovo", average="macro")
    assert_allclose(model.score(table, labels), theirs, atol=1e-6)
    assert theirs > 0.9


def test_probabilities_are_calibrated(model):
    # Of the rows to which a class is given a probability near p, a share of p is of it.
    probabilities = model.predict_proba(TEST).ravel()
    is_of = (TEST_LABELS[:, None] == NAMES).ravel()
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        within = (probabilities >= low) & (probabilities <= high)
        assert abs(probabilities[within].mean() - is_of[within].mean()) < 0.1


def test_each_class_is_explained_by_a_sum_that_gives_the_scores(model):
    explained = [model.explain(TEST[:50], class_=name) for name in NAMES]
    additive = np.stack([one.scores() for one in explained], axis=1)
    assert_allclose(log_odds(additive), model.decision_function(TEST[:50]), atol=1e-9)
    assert explained[0].names == tuple(model.term_importances_[0])
    assert list(explained[1].to_frame().index) == list(range(50))
    first = model.reasons(TEST[:1], class_="low")[0]
    contribution = dict(zip(explained[1].names, explained[1].contributions[0], strict=True))
    assert all(contribution[reason.name] < 0.0 for reason in first)


def test_attributes_have_a_part_for_each_class_and_importances_of_columns_are_means(model):
    assert [len(part) for part in (model.terms_, model.term_importances_, model.selection_)] == [3, 3, 3]
    for terms, importances in zip(model.terms_, model.term_importances_, strict=True):
        assert {term.name: term.importance for term in terms} == importances
    totals = [sum(importances.values()) for importances in model.term_importances_]
    assert_allclose(model.feature_importances_.sum(), np.mean(totals))
    assert model.feature_importances_.shape == (3,)
    assert (model.edits_, model.constraints_, model.drift_, model.leaks_) == ([], [], [], [])
    assert model.plot_term("age", class_="low").get_title() == "age"
    assert "mean importance for 3 classes" in model._repr_html_()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: model.explain(TEST), "each of the 3 classes has its own score: give one of classes_, such as "),
        (lambda model: model.reasons(TEST, class_="lo"), "class_: unknown class 'lo'; expected one of low, "),
        (lambda model: model.plot_term("age"), "each of the 3 classes"),
        (lambda model: model.plot_importances(class_=3), "class_: unknown class 3"),
        (lambda model: model.edit("age", {40.0: 0.0}), "supported by edit, here there are 3 classes; explain, "),
        (lambda model: model.remove("age"), "supported by remove, here there are 3 classes; explain, "),
        (
            lambda model: model.constrain(increasing="age"),
            "supported by constrain, here there are 3 classes; explain, ",
        ),
        (lambda model: model.price_of(increasing="age"), "supported by constrain, here there are 3 classes; explain, "),
        (lambda model: model.threshold_for(TEST, TEST_LABELS, at_fpr=0.1), "here there are 3 classes"),
        (lambda model: model.score(TEST, np.full(400, "low")), "rows of every class, got none of class high"),
        (lambda model: model.partial_fit(TEST, np.full(400, "none")), "label none"),
    ],
)
def test_what_cannot_be_asked_says_what_can(model, ask, message):
    before = model.decision_function(TEST)
    with pytest.raises((ValueError, UnsupportedOperationError), match="^[^\n]*" + re.escape(message)):
        ask(model)
    assert_array_equal(model.decision_function(TEST), before)


def test_a_binary_model_may_be_asked_for_its_second_class():
    rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, ["no", "no", "yes", "yes"] * 30
    model = OnePassGAM().fit(rows, labels)
    assert_array_equal(model.explain(rows, class_="yes").contributions, model.explain(rows).contributions)
    with pytest.raises(ValueError, match=r"class_: unknown class 'no'; expected one of yes"):
        model.explain(rows, class_="no")


def test_batches_give_the_model_of_the_first_rows():
    whole = OnePassGAM(init_size=300, random_state=0).partial_fit(TABLE, LABELS)
    cut = OnePassGAM(init_size=300, random_state=0)
    for start in range(0, 900, 150):
        rows = slice(start, start + 150)
        cut.partial_fit(TABLE[rows], LABELS[rows], classes=NAMES)
    assert_allclose(cut.decision_function(TEST), whole.decision_function(TEST), atol=1e-9)
    with pytest.raises(ValueError, match="not the same as on last call"):
        cut.partial_fit(TABLE, LABELS, classes=[*NAMES, "other"])


def test_shards_merge_and_rows_are_forgotten():
    start = OnePassGAM(random_state=0, init_size=300).fit(TABLE[:300], LABELS[:300]).empty_copy()
    shards = [start.empty_copy().partial_fit(TABLE[k::3], LABELS[k::3]) for k in range(3)]
    merged = shards[0] + shards[1] + shards[2]
    whole = start.empty_copy().partial_fit(TABLE, LABELS)
    assert_allclose(merged.decision_function(TEST), whole.decision_function(TEST), atol=1e-9)
    less = whole.forget(TABLE[600:], LABELS[600:])
    never = start.empty_copy().partial_fit(TABLE[:600], LABELS[:600])
    assert_allclose(less.decision_function(TEST), never.decision_function(TEST), atol=1e-8)
    assert less.forget_report_.rows == 300
    other = OnePassGAM().fit(TABLE, LABELS == "low")
    with pytest.raises(ValueError, match="classes"):
        whole.merge(other)


def test_a_saved_model_has_the_same_scores_and_terms(model, tmp_path):
    opauc.save(model, tmp_path / "model.opauc")
    again = opauc.load(tmp_path / "model.opauc")
    assert_array_equal(again.decision_function(TEST), model.decision_function(TEST))
    assert again.term_importances_ == model.term_importances_
    assert_array_equal(again.partial_fit(TEST, TEST_LABELS).classes_, NAMES)


def test_weights_and_threads_and_arrays():
    rows = TABLE[["age", "rooms"]].to_numpy()
    weight = np.where(LABELS == "low", 0.0, 1.0)
    with pytest.raises(ValueError, match="rows of every class, got none of class 'low'"):
        OnePassGAM().fit(rows, LABELS, weight)
    one, two = (OnePassGAM(n_jobs=n).fit(rows, LABELS, 1.0 + weight) for n in (1, 2))
    assert_array_equal(one.decision_function(rows), two.decision_function(rows))


def test_a_class_of_one_row_is_a_class():
    labels = LABELS.astype("U9")
    labels[17] = "one only"
    model = OnePassGAM().fit(TABLE, labels)
    assert np.isfinite(model.decision_function(TABLE)).all()
    assert_allclose(model.predict_proba(TABLE)[:, 3].mean(), 1 / 900, rtol=3.0)


def test_more_than_a_hundred_classes_are_refused():
    with pytest.raises(ValueError, match="100"):
        OnePassGAM().fit(np.arange(300.0)[:, None], np.arange(300) % 101)


@pytest.mark.parametrize("init_size", ["auto", 300])
def test_any_entry_point_gives_the_same_model(init_size):
    def start():
        return OnePassGAM(init_size=init_size, random_state=0)

    labeled = TABLE.assign(level=LABELS)
    model = start().fit(TABLE, LABELS)
    others = [start().fit(labeled, label="level"), start().fit(pa.Table.from_pandas(labeled), label="level")]
    for other in others:
        assert_array_equal(other.classes_, NAMES)
        assert_allclose(other.decision_function(TEST), model.decision_function(TEST), atol=1e-9)


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(TABLE))
    one, other = OnePassGAM().fit(TABLE, LABELS), OnePassGAM().fit(TABLE.iloc[order], LABELS[order])
    assert_allclose(one.decision_function(TEST), other.decision_function(TEST), atol=1e-8)
