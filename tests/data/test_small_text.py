"""Short text is read in plain Python and long text by kernels: the same rows, lines and refusals."""

import random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.formats.csv.records import CsvRecords
from opauc.data.formats.libsvm import LibsvmReader
from opauc.data.kernels.rows import write_rows
from tests.data.test_csv_fuzz import MARKS, SEEDS
from tests.data.test_libsvm_fuzz import Refused, Text, mutate, valid_text


def both_ways(read):
    """What is read by kernels, and what in plain Python."""
    found = []
    for size in (0, 2**30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("opauc.data.sources.SMALL_TEXT", size)
            patch.setattr("opauc.data.kernels.rows.SMALL", size)
            found.append(read())
    return found


def test_broken_libsvm_text_is_read_alike():
    rng = random.Random(0)
    for _ in range(1500):
        text = valid_text(rng)
        for _ in range(rng.randrange(4)):
            mutate(text, rng)
        lines = bytes(text).splitlines(keepends=True) or [b""]

        def read(lines=lines):
            refused = Refused()
            parts = list(LibsvmReader().batches(Text(lines, random.Random(0)), BEGINNING, refused))
            entries = [(p.rows.data, p.rows.indices, p.rows.indptr, p.labels, p.lines, p.after[:2]) for p in parts]
            return [str(row) for row in refused.rows], entries

        one, other = both_ways(read)
        assert one[0] == other[0], lines
        for mine, theirs in zip(one[1], other[1], strict=True):
            for a, b in zip(mine, theirs, strict=True):
                assert_array_equal(a, b)


def test_records_of_broken_tables_are_found_alike():
    rng = random.Random(1)
    for _ in range(1500):
        text = rng.choice(SEEDS)
        for _ in range(rng.randrange(5)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(MARKS) + text[at + rng.randrange(3) :]
        one, other = both_ways(lambda text=text: CsvRecords.of(text, ","))
        for name in ("edges", "lines", "fields", "n_lines", "open_line"):
            assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"{name} of {text!r}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [None, np.nan, np.inf])
def test_columns_become_rows_alike(dtype, odd):
    columns = list(np.random.default_rng(0).normal(size=(9, 21)).astype(dtype))
    if odd is not None:
        columns[4][20] = odd

    def read():
        out = np.empty((21, 9), dtype)
        return write_rows(columns, out), out

    (one, rows), (other, again) = both_ways(read)
    assert one == other == (odd is None)
    assert_array_equal(rows, again)


def test_a_bad_row_of_a_short_text_is_named_by_its_line():
    refused = BadRows("skip")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opauc.data.sources.SMALL_TEXT", 2**30)
        list(LibsvmReader().batches(Text([b"1 1:1\n", b"1 x:1\n", b"0 2:1\n"], random.Random(0)), BEGINNING, refused))
    assert refused.total == 1
    assert refused.first[0].startswith("text, line 2: ")
