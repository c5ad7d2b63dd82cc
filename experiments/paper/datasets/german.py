"""german: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "german",
    BENCHMARK,
    Shape(1_000, 24, 24),
    "published",
    archive="german.npz",
    sha256="bc4946d0e4e5d9b6780b73156490f5ecac8151720adf879b746b5956a7ddf0f6",
    scaling=to_unit_box,
    printed_as="german",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/german.numer",),
        "dec8c281a6315189022c6fc2fbc4673ed3a8ba7a07b48079ec47aa00f1e6a34e",
    ),
)
