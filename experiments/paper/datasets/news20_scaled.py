"""news20_scaled: news20 with features divided by their largest value, into [−1, 1], in place of unit rows."""

from experiments.paper.data_set import (
    HIGH_DIMENSION,
    OTHER_PARTITION,
    DataSet,
    Shape,
    class_halves,
    columns_to_unit_box,
)
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "news20_scaled",
    HIGH_DIMENSION,
    Shape(15_935, 62_061, 79.9),
    "published; features divided by their largest value, into [−1, 1]; a random half of the 20 classes is positive",
    archive="news20.npz",
    sha256="05492ad7ed93979f9d6b2902e8c4fef12b3e4c7905a9aedb3c07cf1f5e4c1f39",
    labelling=class_halves,
    scaling=columns_to_unit_box,
    printed_as="news20",
    differs=OTHER_PARTITION,
    columns=("OPAUCr", "OPAUCr, smaller λ", "OAM_seq", "OAM_gra", "online Uni-Exp", "online Uni-Squ"),
    variant_of="news20",
    public=PublicSource(
        (f"{LIBSVM_SITE}/multiclass/news20.bz2",),
        "951755409617bd05b7c18b7c955e3702eb62c6cff25238ed438cf6b172f69052",
    ),
)
