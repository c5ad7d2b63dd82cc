"""sector_part: a fifth of the published sector; a random half of the 105 classes is positive."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape, class_halves

SET = DataSet(
    "sector_part",
    HIGH_DIMENSION,
    Shape(1_826, 55_197, 160.3),
    "a fifth of the published sector; a random half of the 105 classes is positive",
    archive="sector_part.npz",
    sha256="235826ebebc84e0befb2eb1dc7ee54585d38c252aa13b098c82a7c73cbe341db",
    labelling=class_halves,
)
