"""splice: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "splice",
    BENCHMARK,
    Shape(3_175, 60, 60),
    "published",
    archive="splice.npz",
    sha256="00ad7bf8c866f0e73265438ff75454ab6e55ff283dcb84621a07358a32f82f5b",
    scaling=to_unit_box,
    printed_as="splice",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/splice", f"{LIBSVM_SITE}/binary/splice.t"),
        "eeb06c518cbc5edd1251009886ede22b04e2cf1ed35c7660098c41dd8c78d99e",
    ),
)
