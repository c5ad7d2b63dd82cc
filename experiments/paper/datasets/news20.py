"""news20: published; rows scaled to length one; a random half of the 20 classes is positive."""

from experiments.paper.data_set import HIGH_DIMENSION, OTHER_PARTITION, DataSet, Shape, class_halves, unit_rows
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "news20",
    HIGH_DIMENSION,
    Shape(15_935, 62_061, 79.9),
    "published; rows scaled to length one; a random half of the 20 classes is positive",
    archive="news20.npz",
    sha256="05492ad7ed93979f9d6b2902e8c4fef12b3e4c7905a9aedb3c07cf1f5e4c1f39",
    labelling=class_halves,
    scaling=unit_rows,
    printed_as="news20",
    differs=f"{OTHER_PARTITION}; rows of length one, where the paper scales features to [−1, 1]",
    public=PublicSource(
        (f"{LIBSVM_SITE}/multiclass/news20.bz2",),
        "951755409617bd05b7c18b7c955e3702eb62c6cff25238ed438cf6b172f69052",
    ),
)
