"""The stream over several sources: numbered rows, resume positions, memory that does not grow."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from opauc.data import BadRows, ReadOptions
from opauc.data import sources as byte_source
from opauc.data.open_stream import open_stream, stream_of_memory
from opauc.errors import InputError, MalformedRowError
from tests.tables import gathered, rows_and_labels, write_rows


@pytest.fixture
def small_parts(monkeypatch):
    """A few rows in every part of text."""
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 2048)


@pytest.mark.usefixtures("small_parts")
def test_line_numbers_are_right_where_rows_were_skipped(tmp_path):
    lines = [f"{'+1' if i % 3 else '-1'} 1:{i}" for i in range(1000)]
    lines[5] = lines[700] = "nonsense"
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    bad = BadRows("skip")
    chunks = list(open_stream([tmp_path / "rows.svm"], ReadOptions(), bad_rows=bad).batches())
    for chunk in chunks:
        for i in range(chunk.rows.shape[0]):
            assert chunk.rows[[i]].toarray()[0, 0] == chunk.line_of(i) - 1
    assert (bad.total, chunks[-1].resume_position.bad_rows) == (2, 2)
    assert "line 6" in bad.first[0]
    assert "line 701" in bad.first[1]


def test_an_error_is_raised_after_the_rows_before_it(tmp_path):
    (tmp_path / "a.svm").write_text("+1 1:1\n")
    (tmp_path / "b.svm").write_text("oh\n")
    stream = open_stream([tmp_path / "a.svm", tmp_path / "b.svm"], ReadOptions()).batches()
    assert next(stream).rows.shape == (1, 1)
    with pytest.raises(MalformedRowError, match=r"b\.svm, line 1"):
        next(stream)


def test_a_resume_position_of_other_files_raises(tmp_path):
    rows, labels = rows_and_labels(0, 40, 2)
    paths = [write_rows(tmp_path, "svm", rows, labels, name) for name in ("a", "b", "c")]
    *_, last = open_stream(paths[:2], ReadOptions()).batches()
    with pytest.raises(InputError, match=r"c\.svm: is read where .*a\.svm was read before"):
        list(open_stream([paths[2], paths[1]], ReadOptions(), last.resume_position).batches())


@pytest.mark.parametrize("make", [
    lambda frame: frame, pl.from_pandas, pa.Table.from_pandas,
    lambda frame: pa.Table.from_pandas(frame).to_reader(max_chunksize=7),
], ids=["pandas", "polars", "pyarrow table", "pyarrow reader"])  # fmt: skip
def test_tables_in_memory_are_streams_too(make):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["u", "v", "u"]})
    found, labels, _ = gathered(stream_of_memory(make(frame)))
    assert found.tolist() == [[1.0], [2.0], [3.0]]
    assert labels.tolist() == ["u", "v", "u"]


def test_sparse_rows_in_memory_are_a_stream():
    rows = sparse.random_array((50, 9), density=0.3, format="csc", rng=np.random.default_rng(0))
    found, labels, _ = gathered(stream_of_memory(rows, labels=np.arange(50) % 2))
    np.testing.assert_array_equal(found, rows.toarray())
    assert labels.tolist() == [0, 1] * 25


PEAK = """
import resource, sys
from opauc.data.open_stream import open_stream
from opauc.data import ReadOptions
options = ReadOptions()
next(iter(open_stream([sys.argv[1]], options).batches()))  # imports, compiles and takes what one chunk takes
rows = sum(chunk.rows.shape[0] for chunk in open_stream(sys.argv[1:], options).batches())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.parametrize("form", ["svm.gz", "csv", "parquet", "npz"])
def test_memory_does_not_grow_with_the_data(tmp_path, form):
    rows, labels = rows_and_labels(0, 60_000, 20)
    path = write_rows(tmp_path, form, rows.astype(np.float32), labels)

    def peak(times):
        done = subprocess.run([sys.executable, "-c", PEAK, *[str(path)] * times], capture_output=True, check=True)
        n_rows, megabytes = map(int, done.stdout.split())
        assert n_rows == times * 60_000
        return megabytes

    # Ten times as much would be 100 MB more as text, 45 MB more as numbers.
    assert peak(10) - peak(1) < 30
