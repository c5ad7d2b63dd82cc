"""ijcnn1: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box

SET = DataSet(
    "ijcnn1",
    BENCHMARK,
    Shape(141_691, 22, 22),
    "published",
    archive="ijcnn1.npz",
    sha256="b0ed24b4113724e663e9606b0bed2fc7e101ba3bfe175aaea8ad6d04e075b560",
    scaling=to_unit_box,
    printed_as="ijcnn1",
)
