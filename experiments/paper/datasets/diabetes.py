"""diabetes: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box

SET = DataSet(
    "diabetes",
    BENCHMARK,
    Shape(768, 8, 8),
    "published",
    archive="diabetes.npz",
    sha256="505f45a752b2529cba684d1f6b34a5f31e6b48874cfa0946b998ffb6a4e4544d",
    scaling=to_unit_box,
    printed_as="diabetes",
)
