"""ijcnn1: published."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "ijcnn1",
    BENCHMARK,
    Shape(141_691, 22, 22),
    "published",
    archive="ijcnn1.npz",
    sha256="b0ed24b4113724e663e9606b0bed2fc7e101ba3bfe175aaea8ad6d04e075b560",
    scaling=to_unit_box,
    printed_as="ijcnn1",
    public=PublicSource(
        (f"{LIBSVM_SITE}/binary/ijcnn1.bz2", f"{LIBSVM_SITE}/binary/ijcnn1.t.bz2"),
        "307286b768f5f0ae643055d6fc2b6472cbeac8db2acec328761b72312f2c748d",
    ),
)
