"""breast_cancer: scikit-learn's own copy of the Wisconsin breast cancer rows."""

from sklearn.datasets import load_breast_cancer

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from opauc.types import Arrays


def arrays() -> Arrays:
    """The rows and labels, which come with scikit-learn."""
    X, y = load_breast_cancer(return_X_y=True)
    return {"X": X, "y": y}


SET = DataSet(
    "breast_cancer",
    BENCHMARK,
    Shape(569, 30, 30),
    "scikit-learn's own copy of the Wisconsin breast cancer rows",
    bundled=arrays,
    scaling=to_unit_box,
)
