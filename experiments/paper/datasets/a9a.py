"""a9a: published; 0/1 features as distributed."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "a9a",
    BENCHMARK,
    Shape(32_561, 123, 13.9),
    "published; 0/1 features as distributed",
    archive="a9a.npz",
    sha256="ef9197d5c7992ea21ad88bf839f0d154e20e7f034583ca81c39e4259918e09a0",
    printed_as="a9a",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/a9a",),
        "255925a08f6a181b13c65407debf93dd4576d2ff90ea382508db5cb5051d9842",
    ),
)
