"""news20_binary_rebuilt: news20.binary rebuilt from the same corpus with another tokeniser."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape

SET = DataSet(
    "news20_binary_rebuilt",
    HIGH_DIMENSION,
    Shape(19_997, 1_409_654, 382.3),
    "news20.binary rebuilt from the same corpus with another tokeniser",
    archive="news20_binary_rebuilt.npz",
    sha256="c5ed529f4a0a9da1ca48e68a3bce63b674292b1f03747d33cbca05e28b70bda7",
)
