"""fourclass: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box

SET = DataSet(
    "fourclass",
    BENCHMARK,
    Shape(862, 2, 2),
    "published",
    archive="fourclass.npz",
    sha256="c4484c915563c1e07b798122e673c646136ca175fedf325867d091b2835f7ef2",
    scaling=to_unit_box,
    printed_as="fourclass",
)
