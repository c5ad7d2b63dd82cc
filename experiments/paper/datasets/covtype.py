"""covtype: published; a random three of the seven classes are positive."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_halves, to_unit_box

SET = DataSet(
    "covtype",
    BENCHMARK,
    Shape(581_012, 54, 54),
    "published; a random three of the seven classes are positive",
    archive="covtype.npz",
    sha256="332b97f1287569388cd4296103b18230ea2f3f5e122da80ce072380509413cec",
    labelling=class_halves,
    scaling=to_unit_box,
    printed_as="covtype",
)
