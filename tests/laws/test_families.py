"""Families of models answer for themselves: nobody above them asks which family a model is of."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM, UnsupportedOperationError
from opauc.api.describe import DESCRIBERS, terms_of
from opauc.core.registry import ESTIMATORS, FACTORIES, FITS, READINGS, TERMS
from opauc.exports.make_portable import PORTABLE_FORMS
from tests.problems import problem

SOURCE = Path(opauc.__file__).parent
ABOVE = [path for package in ("api", "cli", "exports", "serving") for path in (SOURCE / package).rglob("*.py")]
FAMILY_TYPES = {
    kind.__name__ for registry in (FITS, READINGS, ESTIMATORS) for kind in registry.values()
} | {"AdditiveFactory", "LinearFactory", "OneClassFit"}  # fmt: skip


def types_asked_for(tree):
    """Yield the names of the types that a module tests objects for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "cast"):
            yield from (one.id for part in node.args for one in ast.walk(part) if isinstance(one, ast.Name))


@pytest.mark.parametrize("path", ABOVE, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_caller_asks_which_family_a_model_is_of(path):
    assert not FAMILY_TYPES & set(types_asked_for(ast.parse(path.read_text(encoding="utf-8"))))


def test_a_question_for_the_family_would_be_found():
    assert "AdditiveFit" in FAMILY_TYPES & set(types_asked_for(ast.parse("isinstance(model.fit, (int, AdditiveFit))")))


def test_the_families_with_terms_are_those_with_a_basis():
    assert set(TERMS) == {name for name, kind in FITS.items() if kind.has_basis}


def test_every_family_can_be_described_and_those_of_two_classes_have_a_portable_form():
    assert set(DESCRIBERS) == set(FITS)
    assert set(PORTABLE_FORMS) == set(FITS) - {"additive_multiclass"}


def test_a_model_without_terms_says_so():
    model = OPAUC().fit(*problem(0, 40, 2))._to_model()
    with pytest.raises(UnsupportedOperationError, match=r"^only OnePassGAM has terms, and this is a model of OPAUC$"):
        terms_of(model)
    with pytest.raises(UnsupportedOperationError, match=r"^no terms here$"):
        terms_of(model, "no terms here")


@pytest.mark.parametrize("estimator", [OPAUC(solver="exact"), OPAUCCV(), OPAUC(solver="sgd", rank=None)])
def test_the_means_of_features_are_those_of_all_rows(estimator):
    rows, labels = problem(1, 200, 3, offset=2.0)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 200)
    means = estimator.fit(rows, labels, sample_weight=weight)._fitted.feature_means
    assert_allclose(means, np.average(rows, axis=0, weights=weight), rtol=1e-12)


@pytest.mark.parametrize("estimator", [OPAUC(rank=3), OnePassGAM(), opauc.baselines.UniLog()])
def test_fits_without_moments_of_rows_give_no_means_of_features(estimator):
    assert estimator.fit(*problem(3, 200, 3))._fitted.feature_means is None


def test_the_auc_by_moments_is_that_of_normal_scores_on_the_rows_of_the_other_fit():
    rows, labels = problem(4, 400, 3)
    one, other = (OPAUC(solver="exact").fit(rows[part::2], labels[part::2]) for part in (0, 1))
    negative, positive = (rows[1::2][labels[1::2] == k] @ one.coef_[0] for k in (0, 1))
    expected = norm.cdf((positive.mean() - negative.mean()) / np.sqrt(positive.var() + negative.var()))
    assert one._fitted.auc_by_moments(other._fitted) == pytest.approx(expected, rel=1e-12)


def test_there_is_no_auc_by_moments_of_rows_of_one_class_or_of_terms():
    rows, labels = problem(5, 200, 2)
    linear = OPAUC(solver="exact").fit(rows, labels)._fitted
    assert linear.auc_by_moments(linear.empty_copy()) is None
    additive = OnePassGAM().fit(rows, labels)._fitted
    assert additive.auc_by_moments(additive) is None


def test_a_factory_begins_fixed_where_rows_fix_nothing_or_have_done_so():
    rows, labels = problem(6, 200, 2)
    assert FACTORIES["OPAUC"]({}).for_segments().begins_fixed
    additive = FACTORIES["OnePassGAM"]({}).for_segments()
    assert not additive.begins_fixed
    waiting = OnePassGAM(init_size=1000).partial_fit(rows, labels)._fitted
    assert not replace(additive, initial=waiting).begins_fixed
    assert additive.with_basis_of(waiting).begins_fixed


@pytest.mark.parametrize("solver", ["gam", "exact"])
def test_a_reading_names_the_kinds_of_its_columns(solver):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": np.arange(120) % 7, "color": ["red", "blue"] * 60, "label": [0, 1, 1, 0] * 30})
    reading = opauc.train(table, label="label", solver=solver, categorical=["color"])._reading
    assert reading.column_kinds() == {"size": "number", "color": "category"}
    assert (reading.schema is None) == (reading.encoding is not None) == (solver == "exact")
