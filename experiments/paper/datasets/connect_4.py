"""connect-4: published; 0/1 features as distributed; "loss" against the rest."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_against_rest
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "connect-4",
    BENCHMARK,
    Shape(67_557, 126, 126),
    'published; 0/1 features as distributed; "loss" against the rest',
    archive="connect-4.npz",
    sha256="8846c70f76ee273a833039616fb317a005ad55beac60b51d0364243ce2f4fa52",
    labelling=class_against_rest(-1),
    printed_as="connect-4",
    public=PublicSource(
        (f"{LIBSVM_SITE}/multiclass/connect-4",),
        "4ff244a7f2169faf69249929f3b82b2afb2bb75c7f85723fb5300ebd5c60f7fd",
    ),
)
