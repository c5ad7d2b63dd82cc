"""nsmc: substitute for ecml2012, of its shape."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape

SET = DataSet(
    "nsmc",
    HIGH_DIMENSION,
    Shape(456_886, 98_519, 32.5),
    "substitute for ecml2012, of its shape",
    archive="nsmc.npz",
    sha256="7b97282be57c231c35632d2d9b70836ed84cc7a53c6060470659ffc0ff342a77",
)
