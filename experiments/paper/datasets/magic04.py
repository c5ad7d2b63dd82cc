"""magic04: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box

SET = DataSet(
    "magic04",
    BENCHMARK,
    Shape(19_020, 10, 10),
    "published",
    archive="magic04.npz",
    sha256="ffc0036f4d5e2f7c0114c408ff8bdf5a7d2718db2a48f42274a26e3f6e1299bc",
    scaling=to_unit_box,
    printed_as="magic04",
)
