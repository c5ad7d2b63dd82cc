"""a9a: published; 0/1 features as distributed."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape

SET = DataSet(
    "a9a",
    BENCHMARK,
    Shape(32_561, 123, 13.9),
    "published; 0/1 features as distributed",
    archive="a9a.npz",
    sha256="ef9197d5c7992ea21ad88bf839f0d154e20e7f034583ca81c39e4259918e09a0",
    printed_as="a9a",
)
