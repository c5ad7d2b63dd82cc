"""Laws of every estimator that takes more than two classes; scikit-learn's checks of them run in test_estimators."""

import copy
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM
from opauc.core.registry import ESTIMATORS
from opauc.errors import IncompatibleMomentsError, InputError, UnsupportedOperationError
from opauc.metrics import MulticlassAuc
from opauc.types import ClassCounts
from tests.problems import several_problem

MODELS = {
    "OPAUC": OPAUC(),
    "OPAUC two threads": OPAUC(alpha=0.01, standardize=False, n_jobs=2),
    "OPAUC forgetting_factor": OPAUC(forgetting_factor=0.999),
    "OPAUCCV": OPAUCCV(),
    "OPAUCCV auc": OPAUCCV(cv=3, criterion="auc", one_standard_error=True, standardize=False),
}
# Those whose score is linear, and all: of additive models the laws of sums are in tests/additive/multiclass.
ALL = MODELS | {"OnePassGAM": OnePassGAM(init_size=120, random_state=0)}
linear = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
everyone = pytest.mark.parametrize("model", ALL.values(), ids=list(ALL))
sums = pytest.mark.parametrize("name", [name for name in MODELS if name != "OPAUC forgetting_factor"])
ROWS, LABELS = several_problem(3, 400, 5, 4)
NAMES = np.array(["ant", "bee", "cat", "dog"])
CUTS = [7, 150, 151, 300]


def parts_of(at):
    return np.split(np.arange(len(LABELS)), at)


def trained(model, at=(), classes=NAMES, weight=None):
    """Return a model of the rows in batches."""
    fitted = clone(model)
    for part in parts_of(at):
        fitted.partial_fit(
            ROWS[part], NAMES[LABELS[part]], classes, sample_weight=None if weight is None else weight[part]
        )
    return fitted


def test_those_that_take_several_classes_are_all_here():
    here = {type(model).__name__ for model in MODELS.values()}
    take = {name for name, kind in ESTIMATORS.items() if get_tags(kind()).classifier_tags.multi_class}
    assert here | {"OnePassGAM"} == take  # which tests/additive/multiclass holds to the same laws
    assert not get_tags(OPAUC(solver="sgd")).classifier_tags.multi_class


@everyone
def test_scores_have_a_column_for_each_class_and_probabilities_add_up_to_one(model):
    fitted = clone(model).fit(ROWS, NAMES[LABELS])
    scores, probabilities = fitted.decision_function(ROWS), fitted.predict_proba(ROWS)
    assert scores.shape == probabilities.shape == (400, 4)
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert fitted.classes_.tolist() == NAMES.tolist()
    assert_array_equal(fitted.predict(ROWS), NAMES[scores.argmax(axis=1)])


@linear
def test_scores_are_linear_but_for_what_is_common_to_the_classes(model):
    fitted = clone(model).fit(ROWS, LABELS)
    assert fitted.coef_.shape == (4, 5)
    assert fitted.intercept_.shape == (4,)
    scores, weighted = fitted.decision_function(ROWS), ROWS @ fitted.coef_.T + fitted.intercept_
    assert_allclose(scores - scores[:, :1], weighted - weighted[:, :1], atol=1e-9)


@everyone
def test_score_is_the_mean_auc_over_pairs_of_classes(model):
    fitted = clone(model).fit(ROWS, LABELS)
    scores = fitted.decision_function(ROWS)
    aucs = [
        roc_auc_score(LABELS[among] == one, scores[among, one])
        for one, other in permutations(range(4), 2)
        for among in [(one == LABELS) | (other == LABELS)]
    ]
    assert_allclose(fitted.score(ROWS, LABELS), np.mean(aucs), rtol=1e-12)
    weight = np.random.default_rng(0).integers(1, 4, 400).astype(float)
    assert_allclose(fitted.score(ROWS, LABELS, weight), MulticlassAuc()(LABELS, scores, weight), rtol=1e-12)
    assert fitted.score(ROWS, LABELS) > 0.8
    with pytest.raises(ValueError, match="the AUC needs rows of every class, got none of class 2"):
        fitted.score(ROWS[LABELS != 2], LABELS[LABELS != 2])


@linear
def test_batches_give_what_one_call_gives_weighted_or_not(model):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 400)
    for given in (None, weight):
        whole, cut = trained(model, weight=given), trained(model, CUTS, weight=given)
        assert_allclose(cut.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
        assert_allclose(cut.decision_function(ROWS), whole.decision_function(ROWS), atol=1e-6)
        fitted = clone(model).fit(ROWS, NAMES[LABELS], sample_weight=given)
        assert_allclose(fitted.decision_function(ROWS), whole.decision_function(ROWS), atol=1e-9)


@everyone
def test_the_first_batch_needs_no_classes_where_it_has_rows_of_all(model):
    fitted = clone(model).partial_fit(ROWS[:200], NAMES[LABELS[:200]]).partial_fit(ROWS[200:], NAMES[LABELS[200:]])
    assert_allclose(fitted.decision_function(ROWS), trained(model, [200]).decision_function(ROWS), atol=1e-9)


@linear
def test_before_rows_of_every_class_the_others_have_probability_zero(model):
    few = LABELS < 2
    fitted = clone(model).partial_fit(ROWS[few], NAMES[LABELS[few]], NAMES)
    assert not fitted.predict_proba(ROWS)[:, 2:].any()
    assert set(fitted.predict(ROWS)) == {"ant", "bee"}
    one = clone(model).partial_fit(ROWS[LABELS == 3], NAMES[LABELS[LABELS == 3]], NAMES)
    assert set(one.predict(ROWS)) == {"dog"}


@everyone
def test_sparse_rows_and_frames_give_the_scores_of_dense_rows(model):
    rows = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.6, 0.0, ROWS)
    dense = clone(model).fit(rows, LABELS)
    csr = clone(model).fit(sparse.csr_array(rows), LABELS)
    assert_allclose(csr.decision_function(sparse.csr_array(rows)), dense.decision_function(rows), atol=1e-6)
    frame = pd.DataFrame(rows, columns=list("abcde"))
    named = clone(model).fit(frame, LABELS)
    assert_array_equal(named.decision_function(frame), dense.decision_function(rows))
    assert list(named.feature_names_in_) == list("abcde")


@everyone
def test_a_saved_model_scores_and_goes_on_to_the_same_bits(model, tmp_path):
    fitted = trained(model, classes=NAMES)
    opauc.save(fitted, tmp_path / "model")
    loaded = opauc.load(tmp_path / "model")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    assert_array_equal(loaded.classes_, fitted.classes_)
    assert_array_equal(loaded.decision_function(ROWS), fitted.decision_function(ROWS))
    assert_array_equal(loaded.predict_proba(ROWS), fitted.predict_proba(ROWS))
    for each in (loaded, fitted):
        each.partial_fit(ROWS[:50], NAMES[LABELS[:50]])
    assert_array_equal(loaded.decision_function(ROWS), fitted.decision_function(ROWS))


@linear
def test_saved_moments_are_those_of_each_class(model, tmp_path):
    fitted = trained(model)
    opauc.save(fitted.moments_, tmp_path / "moments")
    assert_array_equal(opauc.load(tmp_path / "moments").counts, fitted.moments_.counts)


@sums
def test_merged_shards_have_the_sums_of_all_rows(name):
    model, whole = MODELS[name], trained(MODELS[name])
    one, other = (clone(model).partial_fit(ROWS[i::2], NAMES[LABELS[i::2]], NAMES) for i in (0, 1))
    merged = copy.deepcopy(one).merge(other)
    assert_allclose(merged.moments_.counts, whole.moments_.counts, rtol=1e-12)
    assert_allclose((one + other).decision_function(ROWS), merged.decision_function(ROWS), atol=1e-9)
    assert_allclose((merged - other).decision_function(ROWS), one.decision_function(ROWS), atol=1e-5)
    if name.startswith("OPAUCCV"):
        return  # folds are numbered within each shard
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-6)
    assert_allclose(merged.decision_function(ROWS), whole.decision_function(ROWS), atol=1e-6)


@sums
def test_rows_that_are_forgotten_were_never_seen(name):
    model = MODELS[name]
    numbers = {"row_numbers": np.arange(350, 400)} if name.startswith("OPAUCCV") else {}
    left = trained(model).forget(ROWS[350:], NAMES[LABELS[350:]], **numbers)
    never = clone(model).partial_fit(ROWS[:350], NAMES[LABELS[:350]], NAMES)
    assert_allclose(left.decision_function(ROWS), never.decision_function(ROWS), atol=1e-5)


@sums
def test_an_empty_copy_merges_as_nothing(name):
    fitted = trained(MODELS[name])
    empty = fitted.empty_copy()
    assert sum(empty.moments_.counts) == 0
    assert_allclose(empty.merge(fitted).decision_function(ROWS), fitted.decision_function(ROWS), atol=1e-9)


def test_models_of_other_classes_do_not_merge():
    one = OPAUC().fit(ROWS, LABELS)
    with pytest.raises(IncompatibleMomentsError, match=r"classes \[0, 1, 2, 3\] and \[0, 1, 2\]"):
        one.merge(OPAUC().fit(ROWS, np.minimum(LABELS, 2)))
    with pytest.raises(IncompatibleMomentsError, match="classes"):
        one.merge(OPAUC().fit(ROWS, np.minimum(LABELS, 1)))


@linear
def test_two_classes_are_what_they_were(model):
    """A model of two classes has one column of scores, thresholds and the sums of two classes."""
    fitted = clone(model).fit(ROWS, LABELS > 1)
    assert fitted.decision_function(ROWS).shape == (400,)
    assert fitted.coef_.shape == (1, 5)
    assert type(fitted.moments_.counts) is ClassCounts


@everyone
def test_cross_validation_of_scikit_learn_scores_by_both_means_of_aucs(model):
    for scoring in (None, "roc_auc_ovo", "roc_auc_ovr"):
        assert (cross_val_score(model, ROWS, LABELS, cv=3, scoring=scoring) > 0.75).all()


@linear
def test_a_path_has_weights_of_each_class(model):
    fitted = clone(model).fit(ROWS, LABELS)
    path = fitted.path([0.01, 1.0])
    assert path.shape == (2, 4, 5)
    alpha = fitted.alpha_ if isinstance(fitted, OPAUCCV) else fitted.alpha
    ratios = fitted.coef_ / fitted.path([alpha])[0]
    assert_allclose(ratios, np.broadcast_to(ratios[:, :1], ratios.shape), rtol=1e-6)
    assert (ratios > 0.0).all()


def test_the_penalty_of_several_classes_is_chosen():
    fitted = OPAUCCV(alphas=[0.1, 1.0]).fit(ROWS, LABELS)
    assert fitted.alpha_ in (0.1, 1.0)
    assert fitted.cv_results_["mean_test_score"].shape == (2,)
    assert fitted.coef_path_.shape == (2, 4, 5)
    with pytest.warns(UserWarning, match="cv=60: no fold has rows of two classes in it and outside it"):
        OPAUCCV(cv=60).fit(ROWS[:8], [0, 1, 2, 3] * 2)


@everyone
def test_a_threshold_is_for_two_classes(model):
    fitted = clone(model).fit(ROWS, LABELS)
    two = OPAUC().fit(ROWS, LABELS > 1)
    threshold = two.threshold_for(ROWS, LABELS > 1, at_fpr=0.1)
    for call in (lambda: fitted.threshold_for(ROWS, LABELS, at_fpr=0.1), lambda: fitted.use_threshold(threshold)):
        with pytest.raises(
            UnsupportedOperationError, match="supported by a threshold, here there are 4 classes; predict"
        ):
            call()
    assert fitted.use_threshold(None) is fitted


@everyone
def test_a_scorer_of_single_rows_gives_those_of_the_model_to_the_bit(model):
    fitted = clone(model).fit(ROWS, LABELS)
    scorer = fitted.class_scorer()
    assert_array_equal(scorer.score_rows(ROWS[:40]), fitted.decision_function(ROWS[:40]))
    for row in ROWS[:10]:
        assert_array_equal(scorer.scores(row), fitted.decision_function(row[None])[0])
        assert_array_equal(scorer.probabilities(row.tolist()), fitted.predict_proba(row[None])[0])
        assert scorer.label(row) == fitted.predict(row[None])[0]
    assert scorer.classes == tuple(fitted.classes_.tolist())
    with pytest.raises(InputError, match="expected one row"):
        scorer.scores(ROWS[:2])
    with pytest.raises(UnsupportedOperationError, match="supported by scorer, here there are 4 classes; class_scorer"):
        fitted.scorer()
    with pytest.raises(UnsupportedOperationError, match="class_scorer is for more than two classes; scorer is"):
        clone(model).fit(ROWS, LABELS > 1).class_scorer()


@everyone
def test_a_scorer_of_named_rows_stays_as_it_is(model):
    frame = pd.DataFrame(ROWS, columns=[f"feature {j}" for j in range(ROWS.shape[1])])
    fitted = clone(model).fit(frame, LABELS)
    scorer, records = fitted.class_scorer(), frame[:20].to_dict("records")
    before = fitted.decision_function(frame[:20])
    assert_array_equal(scorer.score_rows(records), before)
    fitted.partial_fit(frame[:100] + 1.0, LABELS[:100])
    assert_allclose([scorer.scores(record) for record in records], before, rtol=1e-12)
    assert (fitted.class_scorer().score_rows(records) != before).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "sgd"}, "by solver='sgd', here there are 4 classes; set solver='exact'"),
        ({"solver": "progressive_selection"}, "by solver='progressive_selection', .*; set solver='exact'"),
        ({"rank": 2}, "by rank=2, .*; set solver='exact' with full covariance, rank=None"),
        ({"solver": "exact", "rank": 2}, "by rank=2, .*; set solver='exact' with full covariance, rank=None"),
        ({"loss": "logistic"}, "by loss='logistic', .*; set loss='square'"),
        ({"objective": "pauc"}, "by objective='pauc', .*; set objective='auc'"),
        ({"forgetting_factor": "auto"}, "by forgetting_factor='auto', .*; give a number"),
        ({"device": "cpu"}, "by device='cpu', .*; leave it out"),
    ],
)
def test_what_takes_two_classes_says_what_takes_more(settings, message):
    with pytest.raises(UnsupportedOperationError, match=f"Only binary classification is supported {message}"):
        OPAUC(**settings).fit(ROWS, LABELS)
    fitted = OPAUC(**settings).partial_fit(ROWS, LABELS > 1) if "device" not in settings else OPAUC().fit(ROWS, LABELS)
    before = vars(fitted).copy()
    with pytest.raises(ValueError, match=r"y contains label|classes"):
        fitted.partial_fit(ROWS, LABELS, classes=[0, 1, 2, 9])
    assert vars(fitted) == before


def test_features_that_are_too_many_for_covariances_say_how_many_may_be():
    wide = sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 19_999])), shape=(3, 20_000))
    with pytest.raises(
        UnsupportedOperationError, match=r"the solver of so many features, .* 3 classes; .* 9,459 features"
    ):
        OPAUC().fit(wide, [0, 1, 2])


def test_pairs_within_groups_take_two_classes():
    with pytest.raises(UnsupportedOperationError, match=r"by pairs='within_groups', .*; set pairs='all'"):
        OPAUC(pairs="within_groups").fit(ROWS, LABELS, groups=LABELS)


BAD = [
    (np.arange(400) % 101, "y must have at most 100 classes, got 101 labels"),
    (np.linspace(0, 1, 400), "Unknown label type: continuous"),
    (np.where(np.arange(400) == 3, np.nan, LABELS), "contains NaN"),
]


@everyone
@pytest.mark.parametrize(("labels", "message"), BAD, ids=[case[1][:20] for case in BAD])
def test_bad_labels_leave_a_model_of_several_classes_as_it_was(model, labels, message):
    fitted = clone(model).fit(ROWS, LABELS)
    scores = fitted.decision_function(ROWS)
    with pytest.raises(ValueError, match=message):
        fitted.fit(ROWS, labels)
    with pytest.raises(ValueError, match=r"y contains label 9, which is none of the classes \[0, 1, 2, 3\]"):
        fitted.partial_fit(ROWS, np.where(np.arange(400) == 3, 9, LABELS))
    assert_array_equal(fitted.decision_function(ROWS), scores)


def test_a_new_class_in_a_later_batch_is_refused_where_there_were_two():
    fitted = OPAUC().partial_fit(ROWS, LABELS > 1)
    with pytest.raises(ValueError, match=r"y contains label 3, besides the classes False and True; where there"):
        fitted.partial_fit(ROWS, np.where(LABELS == 0, 3, LABELS > 1))


def test_rows_of_weight_zero_are_no_rows_of_a_class():
    with pytest.raises(ValueError, match="OPAUC needs rows of every class, got none of positive weight of class 2"):
        OPAUC().fit(ROWS, LABELS, sample_weight=(LABELS != 2).astype(float))


def test_too_many_covariances_are_refused():
    with pytest.raises(
        ValueError, match=r"100 covariance matrices of 2000 features take 3\.0 GiB; OPAUC of 100 classes"
    ):
        OPAUC().partial_fit(np.ones((1, 2000)), [0], classes=range(100))


@linear
def test_a_notebook_shows_the_features_by_the_range_of_their_weights(model):
    shown = clone(model).fit(ROWS, LABELS)._repr_html_()
    assert "range of weights over the classes × deviation" in shown


@pytest.mark.parametrize(
    "classes", [["no", "so", "yes"], [-1, 0, 1], [1.0, 2.0, 3.0], np.array(["a", "b", "c"], object)]
)
def test_labels_of_several_classes_come_back_from_a_file(tmp_path, classes):
    model = OPAUC().fit(ROWS, np.asarray(classes)[np.minimum(LABELS, 2)])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.classes_.dtype == model.classes_.dtype
    assert_array_equal(again.predict(ROWS), model.predict(ROWS))
