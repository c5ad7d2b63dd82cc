"""The charts of a chosen penalty: where the marks stand, and penalties that no axis has room for."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.report.page import render_report
from opauc.report.penalty_charts import _apart, criterion_chart, criterion_key, path_chart, path_names
from tests.report.browser import Tags, measured, svgs
from tests.report.penalties import penalty_choice
from tests.report.reports import full_report


def dots(chart, look):
    (svg,) = svgs(chart)
    return [(float(dot.get("cx")), float(dot.get("cy"))) for dot in svg.iter("circle") if dot.get("class") == look]


def test_the_chosen_and_the_careful_penalty_are_marked_where_they_stand():
    found = penalty_choice()
    chart = criterion_chart(found)
    places = dots(chart, "dot")
    assert len(places) == 13
    assert dots(chart, "chosen") == [places[7]]
    assert dots(chart, "careful") == [places[9]]
    # Equal steps of a logarithmic grid are equal steps of the axis, and a greater loss is higher up.
    assert np.ptp(np.diff([x for x, _ in places])) < 0.03
    heights = np.array([y for _, y in places])
    assert (np.argsort(-heights, kind="stable")[0]) == found.means.argmin()
    assert criterion_key(found).count("<span") == 3
    assert "chosen: 0.0121" in criterion_key(found)
    assert dots(criterion_chart(penalty_choice(careful=7)), "careful") == []


def test_penalties_in_any_order_give_the_same_charts():
    found, order = penalty_choice(), np.random.default_rng(0).permutation(13)
    mixed = penalty_choice(
        alphas=found.alphas[order], means=found.means[order], errors=found.errors[order], effects=found.effects[order],
        chosen=int(np.flatnonzero(order == 7)[0]), careful=int(np.flatnonzero(order == 9)[0]),
    )  # fmt: skip
    assert criterion_chart(mixed) == criterion_chart(found)
    assert path_chart(mixed) == path_chart(found)
    assert path_names(mixed) == path_names(found)


@pytest.mark.parametrize(
    "changes",
    [
        {"alphas": np.r_[0.0, 10.0 ** np.linspace(-3, 1, 12)]},
        {"means": 10.0 ** np.linspace(9, -1, 13), "errors": 10.0 ** np.linspace(9, -3, 13)},
        {"means": np.full(13, 0.5), "errors": np.zeros(13)},
        {"criterion": "auc", "means": np.linspace(0.7, 0.9, 13)},
        {"effects": np.zeros((13, 8))},
    ],
    ids=["a penalty of zero", "losses beyond measure", "all alike", "auc", "no effects"],
)
def test_charts_are_finite_whatever_was_found(changes):
    page = render_report(full_report(penalty=penalty_choice(**changes)))
    assert {"Choice of the penalty", "Terms by penalty"} <= set(Tags(page).headings)
    for svg in svgs(page):
        assert not re.search(r"nan|inf", " ".join(part.get("d", "") + part.get("cy", "") for part in svg.iter()))


def test_a_loss_beyond_that_of_zero_weights_does_not_flatten_the_rest():
    wild = penalty_choice(means=np.r_[1e6, np.linspace(0.3, 0.4, 12)], chosen=1, careful=1)
    heights = [y for _, y in dots(criterion_chart(wild), "dot")]
    assert heights[1] - heights[12] > 50


def test_what_could_not_be_judged_or_compared_is_left_out():
    unjudged = penalty_choice(n_folds=0, means=np.zeros(13), errors=np.zeros(13))
    assert "Choice of the penalty" not in Tags(render_report(full_report(penalty=unjudged))).headings
    one = penalty_choice(
        alphas=np.ones(1), means=np.ones(1), errors=np.ones(1), chosen=0, careful=0, effects=np.ones((1, 8))
    )
    assert not {"Choice of the penalty", "Terms by penalty"} & set(
        Tags(render_report(full_report(penalty=one))).headings
    )


@given(st.lists(st.floats(0.0, 200.0), min_size=1, max_size=9))
def test_labels_are_apart_and_in_the_order_of_what_they_name(wanted):
    places = np.array(_apart(wanted, 17.0, 0.0, 250.0))
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(places[order]) >= 17.0 - 1e-9).all()
    assert places.max() <= 250.0


@pytest.mark.parametrize("criterion", ["pair_loss", "auc"])
def test_nothing_overlaps_on_a_phone(tmp_path, criterion):
    found = penalty_choice(criterion=criterion, means=np.linspace(0.76543, 0.76549, 13), errors=np.full(13, 1e-5))
    seen = measured(tmp_path, render_report(full_report(penalty=found)), 360)
    assert seen["scroll"] <= seen["width"]
    for chart in seen["boxes"]:
        for at, (words, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (words, other)
