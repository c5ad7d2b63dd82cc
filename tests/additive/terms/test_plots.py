"""Plots show the values of a term, two standard errors, and where the rows are."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from opauc import OnePassGAM
from opauc.additive.terms.plots import PlotPolicy, plot_term, row_quantiles
from opauc.additive.terms.terms import Term
from opauc.errors import MissingEngineError, ParameterError, UnknownNameError

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    rng, n = np.random.default_rng(0), 1200
    table = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n),
            "income in $x$": np.where(rng.random(n) < 0.2, np.nan, rng.exponential(1.0, n)),
            "member": rng.random(n) < 0.5,
            "city": rng.choice(["Bern", "Chur", None], n),
        }
    )
    score = 0.08 * (table["age"] - 50) * np.where(table["member"], 1, -1) + (table["city"] == "Bern")
    return OnePassGAM(interactions=[("age", "member")], random_state=0).fit(table, rng.random(n) < expit(score))


def term_of(model, name):
    return next(term for term in model.terms_ if term.name == name)


def test_a_curve_has_a_band_of_two_standard_errors(model):
    term, ax = term_of(model, "age"), model.plot_term("age")
    curve = next(line for line in ax.lines if len(line.get_xdata()) == len(term.at[0]))
    assert_array_equal(curve.get_xdata(), term.at[0])
    assert_array_equal(curve.get_ydata(), term.value)
    corners = ax.collections[0].get_paths()[0].vertices
    for at, value, error in zip(term.at[0], term.value, term.error, strict=True):
        heights = corners[corners[:, 0] == at, 1]
        assert_allclose([heights.min(), heights.max()], [value - 2 * error, value + 2 * error])


def test_missing_values_are_a_point_right_of_the_numbers(model):
    term, ax = term_of(model, "income in $x$"), model.plot_term("income in $x$")
    assert term.at[0][-1] == "missing"
    [point] = [line for line in ax.lines if line.get_marker() == "o"]
    assert point.get_xdata()[0] > term.at[0][-2]
    assert point.get_ydata()[0] == term.value[-1]
    ax.figure.canvas.draw()  # "$" in a name is no mathematics
    assert not ax.title.get_parse_math()


def test_the_strip_has_a_tick_per_percent_of_the_rows(model):
    ax = model.plot_term("age")
    ticks = np.sort([segment[0, 0] for segment in ax.collections[1].get_segments()])
    assert ticks.size == 100
    assert_allclose(ticks, np.linspace(20.3, 79.7, 100), atol=2.5)  # ages are uniform


def test_quantiles_have_the_rows_between_them_that_points_give():
    rng = np.random.default_rng(0)
    points, shares = np.sort(rng.normal(size=9)), rng.dirichlet(np.ones(9))
    edges = np.concatenate([points[:1], (points[1:] + points[:-1]) / 2, points[-1:]])
    found = row_quantiles(points, shares, 50)
    for number, value in enumerate(found):
        cells = np.clip((value - edges[:-1]) / np.diff(edges), 0.0, 1.0)
        assert cells @ shares == pytest.approx((number + 0.5) / 50)


def test_levels_are_points_with_errors_by_their_names(model):
    term, ax = term_of(model, "city"), model.plot_term("city")
    names = [label.get_text() for label in ax.get_yticklabels()]
    values = ax.lines[1].get_xdata()
    assert sorted(names) == sorted(term.at[0])
    assert_array_equal(values, [term.value[term.at[0].index(name)] for name in names])
    assert_array_equal(values, np.sort(values))
    for segment, name in zip(ax.collections[0].get_segments(), names, strict=True):
        assert np.ptp(segment[:, 0]) == pytest.approx(4 * term.error[term.at[0].index(name)])


def test_a_column_of_two_numbers_is_drawn_as_levels(model):
    assert [label.get_text() for label in model.plot_term("member").get_yticklabels()] in (["0", "1"], ["1", "0"])


def test_of_many_levels_those_with_the_most_rows_are_drawn():
    names = tuple(f"s{j}" for j in range(50))
    term = Term("shop", ("shop",), (names,), np.arange(50.0), np.ones(50), 1.0)
    ax = plot_term(term, np.r_[np.zeros(45), np.full(5, 0.2)], None, PlotPolicy(max_levels=5))
    assert [label.get_text() for label in ax.get_yticklabels()] == list(names[45:])
    assert ax.get_ylabel() == "shop (5 of 50)"


def test_a_pair_has_a_scale_around_zero_and_pale_cells_within_two_errors(model):
    [fitted] = [term for term in model.terms_ if len(term.at) == 2]
    pair = replace(fitted, error=0.5 * np.abs(fitted.value) * np.array([[0.9], [1.0], [1.1], [2.0]]))
    ax = plot_term(pair, None, None)
    image = ax.images[0]
    assert_array_equal(np.asarray(image.get_array()), pair.value)
    low, high = image.get_clim()
    assert low == -high == -np.abs(pair.value).max()
    assert_array_equal(image.get_alpha() < 1.0, [[False] * 2, [True] * 2, [True] * 2, [True] * 2])
    assert (ax.get_ylabel(), ax.get_xlabel()) == pair.inputs
    assert model.plot_term(fitted.name).images[0].get_alpha().shape == fitted.value.shape


def test_a_pair_that_is_zero_everywhere_can_be_drawn():
    term = Term("a × b", ("a", "b"), ((0.0, 1.0), ("u", "v", "missing")), np.zeros((2, 3)), np.zeros((2, 3)), 0.0)
    ax = plot_term(term, None, None)
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["u", "v", "missing"]


def test_importances_are_bars_with_the_largest_on_top(model):
    ax = model.plot_importances(n=2)
    expected = model.terms_[:2]
    assert [bar.get_width() for bar in ax.patches] == [term.importance for term in expected]
    assert [label.get_text() for label in ax.get_yticklabels()] == [term.name for term in expected]
    assert ax.yaxis_inverted()
    with pytest.raises(ValueError, match="n"):
        model.plot_importances(n=0)


def test_axes_that_are_given_are_drawn_in(model):
    _, axes = pyplot.subplots(1, 2)
    assert model.plot_term("age", axes[0]) is axes[0]
    assert model.plot_importances(ax=axes[1]) is axes[1]
    assert pyplot.get_fignums() == [axes[0].figure.number]


def test_an_unknown_term_is_an_error_with_the_nearest_names(model):
    with pytest.raises(UnknownNameError, match="unknown term 'Age'; expected one of age, "):
        model.plot_term("Age")


def test_trees_have_no_curve():
    term = Term("age (trees)", ("age",), (), np.empty(0), np.empty(0), 1.0)
    with pytest.raises(ParameterError, match=r"term 'age \(trees\)' has no values to draw"):
        plot_term(term, None, None)


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (lambda: model.plot_term("age"), model.plot_importances):
        with pytest.raises(MissingEngineError, match=r"matplotlib is not installed; .*opauc\[plots\]"):
            plot()


def test_matplotlib_is_not_imported_before_a_plot():
    code = "import sys, opauc.additive.gam, opauc.additive.terms.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
