"""magic04: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from experiments.paper.public_source import UCI_SITE, PublicSource, table_rows

SET = DataSet(
    "magic04",
    BENCHMARK,
    Shape(19_020, 10, 10),
    "published",
    archive="magic04.npz",
    sha256="ffc0036f4d5e2f7c0114c408ff8bdf5a7d2718db2a48f42274a26e3f6e1299bc",
    scaling=to_unit_box,
    printed_as="magic04",
    public=PublicSource(
        (f"{UCI_SITE}/magic/magic04.data",),
        "b6c30798898eb5eab1353739182459d8e6102f8867c40a8ec92b68cb8d9d81e3",
        table_rows(-1, ",", {"g": 1, "h": -1}),
    ),
)
