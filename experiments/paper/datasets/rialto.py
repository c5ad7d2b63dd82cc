"""rialto: substitute for acoustic."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_halves, to_unit_box

SET = DataSet(
    "rialto",
    BENCHMARK,
    Shape(82_250, 27, 27),
    "substitute for acoustic",
    archive="rialto.npz",
    sha256="1979288e6a90213aae25ce85fa63635de6dade5c1ceb0315ff45d62dea741dfb",
    labelling=class_halves,
    scaling=to_unit_box,
)
