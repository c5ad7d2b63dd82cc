"""The charts of the penalty: positions of the marks, and extreme penalties."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.metrics import ProgressPoint
from opauc.report.charts import (
    criterion_chart,
    criterion_legend,
    cumulative_progress,
    learning_chart,
    path_chart,
    path_names,
    spread_apart,
)
from opauc.report.page import render_report
from tests.report.browser import Tags, measure, svgs
from tests.report.penalties import penalty_choice
from tests.report.reports import full_report


def dots(chart, css_class):
    (svg,) = svgs(chart)
    return [(float(dot.get("cx")), float(dot.get("cy"))) for dot in svg.iter("circle") if dot.get("class") == css_class]


def test_the_chosen_and_the_one_standard_error_penalty_are_marked():
    choice = penalty_choice()
    chart = criterion_chart(choice)
    places = dots(chart, "dot")
    assert len(places) == 13
    assert dots(chart, "chosen") == [places[7]]
    assert dots(chart, "one-se") == [places[9]]
    # Equal steps of a logarithmic grid are equal steps on the axis, and a larger loss is higher up.
    assert np.ptp(np.diff([x for x, _ in places])) < 0.03
    heights = np.array([y for _, y in places])
    assert (np.argsort(-heights, kind="stable")[0]) == choice.means.argmin()
    assert criterion_legend(choice).count("<span") == 3
    assert "chosen: 0.0121" in criterion_legend(choice)
    assert dots(criterion_chart(penalty_choice(one_standard_error=7)), "one-se") == []


def test_penalties_in_any_order_give_the_same_charts():
    choice, order = penalty_choice(), np.random.default_rng(0).permutation(13)
    mixed = penalty_choice(
        alphas=choice.alphas[order], means=choice.means[order], errors=choice.errors[order],
        standardized_weights=choice.standardized_weights[order],
        chosen=int(np.flatnonzero(order == 7)[0]), one_standard_error=int(np.flatnonzero(order == 9)[0]),
    )  # fmt: skip
    assert criterion_chart(mixed) == criterion_chart(choice)
    assert path_chart(mixed) == path_chart(choice)
    assert path_names(mixed) == path_names(choice)


@pytest.mark.parametrize(
    "changes",
    [
        {"alphas": np.r_[0.0, 10.0 ** np.linspace(-3, 1, 12)]},
        {"means": 10.0 ** np.linspace(9, -1, 13), "errors": 10.0 ** np.linspace(9, -3, 13)},
        {"means": np.full(13, 0.5), "errors": np.zeros(13)},
        {"criterion": "auc", "means": np.linspace(0.7, 0.9, 13)},
        {"standardized_weights": np.zeros((13, 8))},
    ],
    ids=["a penalty of zero", "huge losses", "all equal", "auc", "zero weights"],
)
def test_charts_are_finite_for_extreme_values(changes):
    page = render_report(full_report(penalty=penalty_choice(**changes)))
    assert {"Penalty selection", "Regularization path"} <= set(Tags(page).headings)
    for svg in svgs(page):
        assert not re.search(r"nan|inf", " ".join(part.get("d", "") + part.get("cy", "") for part in svg.iter()))


def test_a_huge_loss_does_not_flatten_the_other_losses():
    extreme = penalty_choice(means=np.r_[1e6, np.linspace(0.3, 0.4, 12)], chosen=1, one_standard_error=1)
    heights = [y for _, y in dots(criterion_chart(extreme), "dot")]
    assert heights[1] - heights[12] > 50


def test_charts_without_folds_or_with_one_penalty_are_left_out():
    without_folds = penalty_choice(n_folds=0, means=np.zeros(13), errors=np.zeros(13))
    assert "Penalty selection" not in Tags(render_report(full_report(penalty=without_folds))).headings
    one = penalty_choice(
        alphas=np.ones(1),
        means=np.ones(1),
        errors=np.ones(1),
        chosen=0,
        one_standard_error=0,
        standardized_weights=np.ones((1, 8)),
    )
    assert not {"Penalty selection", "Regularization path"} & set(
        Tags(render_report(full_report(penalty=one))).headings
    )


@given(st.lists(st.floats(0.0, 200.0), min_size=1, max_size=9))
def test_labels_do_not_overlap_and_keep_their_order(targets):
    positions = np.array(spread_apart(targets, 17.0, 0.0, 250.0))
    order = np.argsort(targets, kind="stable")
    assert (np.diff(positions[order]) >= 17.0 - 1e-9).all()
    assert positions.max() <= 250.0


@pytest.mark.parametrize("criterion", ["pair_loss", "auc"])
def test_nothing_overlaps_on_a_phone(tmp_path, criterion):
    choice = penalty_choice(criterion=criterion, means=np.linspace(0.76543, 0.76549, 13), errors=np.full(13, 1e-5))
    seen = measure(tmp_path, render_report(full_report(penalty=choice)), 360)
    assert seen["scroll"] <= seen["width"]
    for chart in seen["boxes"]:
        for at, (label, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (label, other)


def test_the_learning_curve_is_the_weighted_mean_of_the_windows_with_its_standard_error():
    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.integers(50, 400, 40))
    sizes = np.diff(ends, prepend=0)
    covered = []
    for _ in range(200):
        aucs = 0.8 + rng.normal(size=40) / np.sqrt(sizes) / 3
        points = [ProgressPoint(int(end), auc, auc - 0.001, auc + 0.001) for end, auc in zip(ends, aucs, strict=True)]
        line = cumulative_progress(points)
        for at in (0, 17, 39):
            assert line.auc[at] == pytest.approx(np.average(aucs[: at + 1], weights=sizes[: at + 1]))
        covered.append((line.low < 0.8) & (line.high > 0.8))
    # Two standard errors contain the truth 95 times of 100.
    assert 0.92 < np.mean(covered) < 0.99
    assert (np.diff(line.high - line.low) < 0).all()
    alone = cumulative_progress([ProgressPoint(100, 0.7, 0.6, 0.75)])
    assert (alone.low[0], alone.auc[0], alone.high[0]) == pytest.approx((0.6, 0.7, 0.75))


def test_the_learning_chart_is_finite_for_extreme_windows():
    for aucs in ([0.0, 1.0], [1.0], [0.5] * 5, [1.0, 0.0, 1.0]):
        points = [ProgressPoint(10**k, auc, 0.0, 1.0) for k, auc in enumerate(aucs, 1)]
        for same in (points, [point._replace(rows=5) for point in points]):
            chart = learning_chart(same)
            assert ">Training rows" in chart
            (svg,) = svgs(chart)
            assert not re.search(r"nan|inf", " ".join(part.get("d", "") + part.get("cy", "") for part in svg.iter()))
