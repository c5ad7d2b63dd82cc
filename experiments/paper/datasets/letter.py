"""letter: published, its first 15,000 rows as in the paper; a random half of the 26 letters is positive."""

from string import ascii_uppercase

from experiments.paper.data_set import BENCHMARK, OTHER_PARTITION, DataSet, Shape, class_halves, to_unit_box
from experiments.paper.public_source import UCI_SITE, PublicSource, table_rows

LETTERS = {letter: place for place, letter in enumerate(ascii_uppercase, start=1)}

SET = DataSet(
    "letter",
    BENCHMARK,
    Shape(15_000, 16, 16),
    "published, its first 15,000 rows as in the paper; a random half of the 26 letters is positive",
    archive="letter.npz",
    sha256="2c90c6f183c08a84d90244c9c691847752088e60a5f78fe556ae8ba76be252fc",
    labelling=class_halves,
    scaling=to_unit_box,
    first_rows=15_000,
    printed_as="letter",
    differs=OTHER_PARTITION,
    public=PublicSource(
        (f"{UCI_SITE}/letter-recognition/letter-recognition.data",),
        "4e7a9ddaf3fee1b0f0bd86b54ff93402381f5e08f7d12aa59d5c4ae09e1ea80a",
        table_rows(0, ",", LETTERS),
    ),
)
