"""kddcup04_bio: substitute: the other task of the cup that kddcup04 is from."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box

SET = DataSet(
    "kddcup04_bio",
    BENCHMARK,
    Shape(145_751, 74, 74),
    "substitute: the other task of the cup that kddcup04 is from",
    archive="kddcup04_bio.npz",
    sha256="7b72088772046321a85051e8a8980915e94a579f3445667a32763c81c0a089ee",
    scaling=to_unit_box,
)
