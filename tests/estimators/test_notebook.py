"""A notebook shows scikit-learn's diagram and, of a fitted model, its largest parts."""

import re

import numpy as np
import pandas as pd
import pytest

from opauc import OPAUC, OPAUCCV, OnePassGAM, load, save
from opauc.baselines import BatchUniSqu
from opauc.errors import StatisticsOverflowError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
Y = X @ [1.0, -0.3, 0.0] + RNG.normal(size=300) > 0.0
DIAGRAM = "sk-top-container"


def html_of(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    summaries = []
    for html in (bundle["text/html"], model._repr_html_()):
        diagram, _, summary = html.partition("<div class='opauc-summary'")
        assert DIAGRAM in diagram
        summaries.append(summary)
    assert summaries[0] == summaries[1]
    return summaries[0]


def cells(summary):
    return re.findall(r"<td[^>]*>(.*?)</td>", summary)


@pytest.mark.parametrize("model", [OPAUC(), OPAUCCV(), OnePassGAM(), BatchUniSqu()])
def test_a_model_that_is_not_fitted_shows_the_diagram_alone(model):
    assert html_of(model) == ""


# The third keeps no deviations of its features.
@pytest.mark.parametrize(("model", "first"), [(OPAUC(), "x1"), (OPAUCCV(), "x1"), (BatchUniSqu(), "x0")])
def test_a_linear_model_shows_its_weights_by_size_and_sign(model, first):
    names, signs, sizes = np.reshape(cells(html_of(model.fit(X, Y))), (-1, 3)).T
    assert names[0] == first
    assert {("x0", "+"), ("x1", "−")} <= set(zip(names, signs, strict=True))
    assert sorted(map(float, sizes), reverse=True) == list(map(float, sizes))


def test_a_weight_counts_in_deviations_of_its_feature():
    model = OPAUC().fit(X, Y)
    within = np.sqrt(np.concatenate([(rows - rows.mean(axis=0)) ** 2 for rows in (X[Y], X[~Y])]).mean(axis=0))
    shown = dict(np.reshape(cells(html_of(model)), (-1, 3))[:, [0, 2]].tolist())
    expected = np.abs(model.coef_[0]) * within
    for j in range(2):
        assert float(shown[f"x{j}"]) == pytest.approx(expected[j], rel=0.005)


def test_the_auc_by_which_settings_were_chosen_is_shown():
    for model in (OPAUC(solver="progressive_selection"), OPAUCCV(solver="sgd"), OPAUCCV(criterion="auc")):
        [shown] = re.findall(r"AUC[^<]*(0\.\d+)", html_of(model.fit(X, Y)))
        if isinstance(model, OPAUC):
            expected = model.selection_.aucs[model.selection_.winner]
        else:
            expected = model.cv_results_["mean_test_score"].max()
        assert float(shown) == pytest.approx(expected, abs=1e-4)
    assert "AUC" not in html_of(OPAUCCV().fit(X, Y))  # chosen by its pair loss


def test_terms_are_shown_with_names_escaped_and_without_scripts():
    table = pd.DataFrame(X, columns=["<script>alert(1)</script>", "b&c", "d"])
    model = OnePassGAM(random_state=0).fit(table, Y)
    summary = html_of(model)
    rows = np.reshape(cells(summary), (-1, 3))
    assert rows[0].tolist() == ["b&amp;c", "−", f"{model.terms_[0].importance:.3g}"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in summary
    assert "<script" not in summary
    assert len(summary) < 2000


def test_no_more_than_eight_terms_are_shown():
    rows = np.random.default_rng(0).normal(size=(200, 11))
    model = OnePassGAM(random_state=0, interactions=0).fit(rows, rows[:, 0] > 0.1)
    assert len(cells(html_of(model))) == 3 * 8
    assert f"{len(model.terms_) - 8} more" in html_of(model)


def test_the_progressive_auc_is_that_of_the_selected_model_and_is_saved(tmp_path):
    model = OnePassGAM(init_size=100, random_state=0).partial_fit(X[:150], Y[:150]).partial_fit(X[150:], Y[150:])
    selection = model.selection_
    expected = f"Progressive AUC {selection.aucs[selection.model]:.4f} on the {sum(selection.rows):,.0f} rows"
    assert expected in html_of(model)
    save(model, tmp_path / "model.opauc")
    assert html_of(load(tmp_path / "model.opauc")) == html_of(model)


@pytest.mark.parametrize("model", [OPAUC(), OPAUC(solver="progressive_selection"), OPAUCCV(), OnePassGAM()])
def test_a_model_of_one_class_so_far_shows_the_diagram_alone(model):
    assert html_of(model.partial_fit(X[:9], np.zeros(9), classes=[0, 1])) == ""
    assert cells(html_of(model.partial_fit(X, Y.astype(float))))


def test_an_error_is_shown_in_place_of_the_table(monkeypatch):
    def overflow(_):
        raise StatisticsOverflowError("a < b")

    monkeypatch.setattr(OPAUC, "_summary", overflow)
    assert html_of(OPAUC().fit(X, Y)).startswith(">a &lt; b</div>")
