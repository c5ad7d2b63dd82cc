"""nomao: substitute for acoustic."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box

SET = DataSet(
    "nomao",
    BENCHMARK,
    Shape(34_465, 118, 118),
    "substitute for acoustic",
    archive="nomao.npz",
    sha256="da42c9448372d316052a2e39ca8577b305c185f7d96b8a048514b80a4656ea1f",
    scaling=to_unit_box,
)
