"""webkb.lvr: substitute for sector.lvr; the largest class is positive."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape, largest_class

SET = DataSet(
    "webkb.lvr",
    HIGH_DIMENSION,
    Shape(8_280, 73_705, 111.9),
    "substitute for sector.lvr; the largest class is positive",
    archive="webkb.npz",
    sha256="7936ae3396ba91ec5858f4de51f069aba769269699bc24642a1923c56cfbee72",
    labelling=largest_class,
)
