"""fourclass: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "fourclass",
    BENCHMARK,
    Shape(862, 2, 2),
    "published",
    archive="fourclass.npz",
    sha256="c4484c915563c1e07b798122e673c646136ca175fedf325867d091b2835f7ef2",
    scaling=to_unit_box,
    printed_as="fourclass",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/fourclass",),
        "5b873b5ab994afd9119535d44a7145e71a8373627d8e5df03af915f9c550a547",
    ),
)
