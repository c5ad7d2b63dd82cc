"""webkb: substitute for sector; a random three of the seven classes are positive."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape, class_halves

SET = DataSet(
    "webkb",
    HIGH_DIMENSION,
    Shape(8_280, 73_705, 111.9),
    "substitute for sector; a random three of the seven classes are positive",
    archive="webkb.npz",
    sha256="7936ae3396ba91ec5858f4de51f069aba769269699bc24642a1923c56cfbee72",
    labelling=class_halves,
)
