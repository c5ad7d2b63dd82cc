"""digits: scikit-learn's own copy of the small digits; a random half of them is positive."""

from sklearn.datasets import load_digits

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_halves, to_unit_box
from opauc.types import Arrays


def arrays() -> Arrays:
    """The rows and labels, which come with scikit-learn."""
    X, y = load_digits(return_X_y=True)
    return {"X": X, "y_multiclass": y}


SET = DataSet(
    "digits",
    BENCHMARK,
    Shape(1_797, 64, 64),
    "scikit-learn's own copy of the small digits; a random half of them is positive",
    bundled=arrays,
    labelling=class_halves,
    scaling=to_unit_box,
)
