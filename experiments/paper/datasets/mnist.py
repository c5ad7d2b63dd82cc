"""mnist: published; a random half of the ten digits is positive."""

from experiments.paper.data_set import BENCHMARK, OTHER_PARTITION, DataSet, Shape, class_halves, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "mnist",
    BENCHMARK,
    Shape(60_000, 780, 780),
    "published; a random half of the ten digits is positive",
    archive="mnist.npz",
    sha256="6b14aedb4326809d1076e25cba25e1589019097ea19d021f67646c0a91eb42a6",
    labelling=class_halves,
    scaling=to_unit_box,
    printed_as="mnist",
    differs=OTHER_PARTITION,
    public=PublicSource(
        (f"{LIBSVM_SITE}/multiclass/mnist.bz2",),
        "c2530404b60e4aca778dcc66bcba34526282264a970985e3ce6a2529a68ab897",
    ),
)
