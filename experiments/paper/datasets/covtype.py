"""covtype: published; class 2 against the rest, as LIBSVM distributes it as `covtype.binary`."""

from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_against_rest, to_unit_box
from experiments.paper.public_source import LIBSVM_SITE, PublicSource

SET = DataSet(
    "covtype",
    BENCHMARK,
    Shape(581_012, 54, 54),
    "published; class 2 against the rest, which is LIBSVM's covtype.binary",
    archive="covtype.npz",
    sha256="332b97f1287569388cd4296103b18230ea2f3f5e122da80ce072380509413cec",
    labelling=class_against_rest(2),
    scaling=to_unit_box,
    printed_as="covtype",
    public=PublicSource(
        (f"{LIBSVM_SITE}/multiclass/covtype.bz2",),
        "aca2eb20b792af559ae24e10a7392e823c660365c3181ee7a5b13379183d95aa",
    ),
)
