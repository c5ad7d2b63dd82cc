"""w8a: published; 0/1 features as distributed."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "w8a",
    BENCHMARK,
    Shape(49_749, 300, 11.7),
    "published; 0/1 features as distributed",
    archive="w8a.npz",
    sha256="1e657de36a15e7554021d194a0f77d7a0f025a5fde7c31d823216e55f9beb247",
    printed_as="w8a",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/w8a",),
        "980bfb708546dc42d4b9a15c28f8cabfd3ef78535fd360a8b95bd9e834a59ea5",
    ),
)
