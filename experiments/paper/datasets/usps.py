"""usps: published; a random half of the ten digits is positive."""

from experiments.paper.data_set import BENCHMARK, OTHER_PARTITION, DataSet, Shape, class_halves, to_unit_box
from experiments.paper.public_source import PublicSource, table_rows

SITE = "https://hastie.su.domains/ElemStatLearn/datasets"

SET = DataSet(
    "usps",
    BENCHMARK,
    Shape(9_298, 256, 256),
    "published; a random half of the ten digits is positive",
    archive="usps.npz",
    sha256="31cdc88b4409ec8ffe49c169a12aa11d7939482e63300bf28387b67bf7dacc8a",
    labelling=class_halves,
    scaling=to_unit_box,
    printed_as="usps",
    differs=OTHER_PARTITION,
    public=PublicSource(
        (f"{SITE}/zip.train.gz", f"{SITE}/zip.test.gz"),
        "9296b14442dc9de256a96fc0bebe78162165f3a5f2a73901a01801cb0d75a64f",
        table_rows(0),
    ),
)
