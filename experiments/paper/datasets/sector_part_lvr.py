"""sector_part.lvr: a fifth of the published sector; the largest class, 32 rows, is positive."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape, largest_class

SET = DataSet(
    "sector_part.lvr",
    HIGH_DIMENSION,
    Shape(1_826, 55_197, 160.3),
    "a fifth of the published sector; the largest class, 32 rows, is positive",
    archive="sector_part.npz",
    sha256="235826ebebc84e0befb2eb1dc7ee54585d38c252aa13b098c82a7c73cbe341db",
    labelling=largest_class,
)
