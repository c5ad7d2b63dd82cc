"""diabetes: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "diabetes",
    BENCHMARK,
    Shape(768, 8, 8),
    "published",
    archive="diabetes.npz",
    sha256="505f45a752b2529cba684d1f6b34a5f31e6b48874cfa0946b998ffb6a4e4544d",
    scaling=to_unit_box,
    printed_as="diabetes",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/diabetes",),
        "58a2fec35a88a0b72a115a1b85d2f5193df3213dda998521efd5b445b6249f8d",
    ),
)
