"""Logistic losses: batch Uni-Log as printed, and scikit-learn's LogisticRegression as most people use it."""

from experiments.methods import weights_method
from experiments.paper.column import BATCH, BATCH_RIDGES, BOTH, OURS, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, Shape
from experiments.paper.families import logistic_family
from experiments.paper.methods.square_loss import MOST_ROWS
from opauc.api.methods import find_feature_method
from opauc.metrics import FittedMethod
from opauc.types import Floats, Labels, Rows


def row_cost(shape: Shape) -> float:
    """Microseconds a row: some five Newton steps, or a hundred of a quasi-Newton method."""
    return 2.0 + 0.05 * shape.n_features + min(0.0005 * shape.n_features**2, 0.1 * shape.n_features)


def fit_cost(shape: Shape) -> float:
    """Microseconds a fit."""
    return 2500.0 + 0.01 * shape.n_features**2


def competitor_cost(shape: Shape) -> float:
    """Microseconds a row: tens of steps of a quasi-Newton method."""
    return 2.0 + 0.15 * shape.entries


def uni_log(setting: Setting, context: Context) -> FittedMethod:
    """Class-balanced logistic regression with one penalty."""

    def fit(rows: Rows, labels: Labels) -> Floats:
        (weights,) = logistic_family()([setting], rows, labels, context)
        assert weights is not None, "it always ends somewhere"
        return weights

    return weights_method("Uni-Log", fit)


def competitor(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
    """LogisticRegression with its own settings on scaled features."""
    found = find_feature_method("logistic_regression")
    assert found is not None, "scikit-learn is always here"
    return found


UNI_LOG = Column(
    "batch Uni-Log", BATCH, (BENCHMARK,), uni_log, Cost(row_cost, fit_cost, share=0.6), {"alpha": BATCH_RIDGES},
    logistic_family(), most_rows=MOST_ROWS,
    about="the logistic loss of single rows, both classes of the same weight, minimized",
)  # fmt: skip
METHOD = Column(
    "LogisticRegression",
    OURS,
    BOTH,
    competitor,
    Cost(competitor_cost),
    about="scikit-learn, features scaled, nothing tuned",
)
