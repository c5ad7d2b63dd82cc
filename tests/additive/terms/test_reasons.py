"""The reasons for a score are the terms that lower or raise it most against a reference."""

import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OnePassGAM
from tests.additive.editing.test_edits import FRAME, LABELS, TEST, contributions, fitted


@pytest.fixture(scope="module")
def model():
    model = fitted(trees=True)
    assert model.basis_.trees is not None
    return model


def literal(differences, names, k, sign):
    """The reasons of each row by sorting all terms."""
    rows = []
    for row in differences:
        order = np.argsort(sign * row, kind="stable")
        rows.append([(names[t], row[t]) for t in order[:k] if sign * row[t] < 0])
    return rows


@pytest.mark.parametrize(("direction", "sign"), [("lower", 1.0), ("raise", -1.0)])
@pytest.mark.parametrize("k", [1, 4, 1000])
def test_reasons_are_the_terms_that_differ_most_from_the_mean(model, direction, sign, k):
    explained = model.explain(TEST)
    expected = literal(explained.contributions, explained.names, k, sign)
    found = model.reasons(TEST, k=k, direction=direction)
    assert len(found) == len(TEST)
    for row, reasons in enumerate(expected):
        assert [reason.name for reason in found[row]] == [name for name, _ in reasons]
        assert_allclose([reason.difference for reason in found[row]], [value for _, value in reasons], atol=1e-12)
    names = found.names_of_rows()
    assert [[name for name in row if name is not None] for row in names] == [
        [name for name, _ in row] for row in expected
    ]


def test_the_reference_may_be_a_row(model):
    explained = model.explain(TEST).contributions
    found = model.reasons(TEST[1:], k=2, reference=TEST[:1])
    expected = literal(explained[1:] - explained[0], found.names, 2, 1.0)
    assert [found[row] for row in range(5)] == [
        [(name, pytest.approx(value)) for name, value in reasons] for reasons in expected[:5]
    ]
    assert not any(model.reasons(TEST[:1], reference=TEST[:1])[0])


@pytest.mark.parametrize(("direction", "best"), [("lower", np.max), ("raise", np.min)])
def test_the_best_reference_is_the_best_value_of_each_term(model, direction, best):
    reference = model.reasons(TEST[:1], reference="best", direction=direction).reference
    for term in model.terms_:
        found = reference[model.explain(TEST[:1]).names.index(term.name)]
        if term.value.size:
            assert found == best(term.value)
        else:
            kept = model._fitted.current.model.blend
            rows = kept.ensemble.codes.decode(kept.kept, model.basis_.n_inputs)
            terms = model._terms()
            expected = terms.explain(rows).contributions[:, terms.names.index(term.name)]
            assert found == pytest.approx(best(expected), abs=0.02 * np.abs(expected).max())


def test_reasons_by_feature_are_sums_over_its_terms(model):
    explained, columns = model.explain(TEST), list(FRAME.columns)
    expected = np.zeros((len(TEST), len(columns)))
    for name, values in zip(explained.names, explained.contributions.T, strict=True):
        inputs = name.removesuffix(" (trees)").removesuffix(" (codes)").split(" × ")
        for part in inputs:
            expected[:, columns.index(part)] += values / len(inputs)
    found = model.reasons(TEST, k=3, by="feature")
    for row, reasons in enumerate(literal(expected, columns, 3, 1.0)):
        assert [reason.name for reason in found[row]] == [name for name, _ in reasons]
    assert_allclose(expected.sum(axis=1), explained.contributions.sum(axis=1), atol=1e-9)


def test_an_edited_term_is_compared_with_its_mean_though_it_is_not_centered(model):
    edited = model.edit("age", [(20.0, 5.0), (80.0, 7.0)])
    reference = edited.reasons(TEST[:1]).reference
    at = edited.explain(TEST[:1]).names.index("age")
    assert 5.0 < reference[at] < 7.0
    assert not np.delete(reference, at).any()
    assert reference[at] == pytest.approx(contributions(edited, "age", FRAME).mean(), abs=0.1)


def test_a_model_that_only_scores_gives_the_same_reasons(model, tmp_path):
    edited = model.edit("age", [(20.0, 5.0), (80.0, 7.0)])
    opauc.save(edited, tmp_path / "small", scoring_only=True)
    for reference in ("mean", "best"):
        found, expected = (one.reasons(TEST, reference=reference) for one in (opauc.load(tmp_path / "small"), edited))
        assert np.mean(found.order == expected.order) > 0.999  # leaf weights are float32 in the file
        assert_allclose(found.differences, expected.differences, atol=1e-6)


def test_rows_without_terms_have_no_reasons():
    constant = OnePassGAM().fit(np.ones((40, 2)), [0, 1] * 20)
    found = constant.reasons(np.ones((3, 2)))
    assert len(found) == 3
    assert found[0] == []
    assert found.names_of_rows() == [[], [], []]


def test_a_date_is_one_feature():
    days = pd.date_range("2025-01-01", periods=400, freq="17h")
    frame = pd.DataFrame({"day": days, "x": np.random.default_rng(0).normal(size=400)})
    labels = ((days.day_of_week.to_numpy() > 3) ^ (np.arange(400) % 5 == 0)).astype(int)
    model = OnePassGAM(trees=False).fit(frame, labels)
    assert set(model.reasons(frame[:5], by="feature").names) == {"day", "x"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "'k' parameter of reasons must be an int"),
        ({"direction": "down"}, "'direction' parameter of reasons must be one of {'lower', 'raise'}"),
        ({"by": "column"}, "'by' parameter of reasons must be one of {'term', 'feature'}"),
        ({"reference": "median"}, "'reference' parameter of reasons must be one of {'mean', 'best'}"),
        ({"reference": TEST[:2]}, "'reference' parameter of reasons must be one row. Got 2 rows."),
    ],
)
def test_a_mistake_is_one_line(model, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        model.reasons(TEST, **arguments)
    assert "\n" not in str(caught.value)


def test_reasons_cost_at_most_twice_an_explanation(model):
    rows, costs = pd.concat([FRAME] * 2), {}
    model.reasons(rows[:100], reference="best")
    for _ in range(3):
        for name, work in (("explain", model.explain), ("reasons", model.reasons)):
            start = time.process_time()
            work(rows)
            costs[name] = min(costs.get(name, np.inf), time.process_time() - start)
    assert costs["reasons"] <= 2.0 * costs["explain"]
    assert len(LABELS) == len(FRAME)
