"""reuters21578: substitute for rcv1v2: an older Reuters collection; the most frequent topic is positive."""

from experiments.paper.data_set import HIGH_DIMENSION, DataSet, Shape

SET = DataSet(
    "reuters21578",
    HIGH_DIMENSION,
    Shape(11_305, 59_750, 90.6),
    "substitute for rcv1v2: an older Reuters collection; the most frequent topic is positive",
    archive="reuters21578.npz",
    sha256="751a259e8de1aa718529b89d14067c37e1f1b170409ac3ff7d401d1dc99b5bff",
)
