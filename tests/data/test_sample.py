"""Rows of files by their numbers, and the sampler that chooses these."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import feather, parquet
from scipy.stats import chisquare

from opauc.data.columns import TableColumns
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.options import ReadOptions
from opauc.data.sample import RowFiles, SampledText, count_records, read_records, sample_row_numbers

N = 20_000


def written(folder, kind):
    numbers = np.arange(N)
    if kind == "quoted":
        lines = [f'{i},"two\nlines, {i}",{i % 2}' for i in range(N)]
        (folder / "rows.csv").write_text("n,text,label\n" + "\n".join(lines))
    elif kind in ("csv.gz", "zip"):
        text = "n,text,label\n" + "\n".join(f'{i},"two\nlines, {i}",{i % 2}' for i in range(N))
        if kind == "zip":
            with zipfile.ZipFile(folder / "rows.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("rows.csv", text)
        else:
            (folder / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    elif kind == "utf-16":
        lines = "".join(f"{i},{i % 2}\n" for i in range(N))
        (folder / "rows.csv").write_text("n,label\n" + lines, encoding="utf-16")
    elif kind == "csv":
        (folder / "rows.csv").write_text("n,label\r\n" + "\r\n".join(f"{i},{i % 2}" for i in range(N)))
    elif kind == "no header":
        (folder / "rows.csv").write_text("".join(f"{i},{i % 2}\n" for i in range(N)))
    elif kind == "blank lines":
        lines = (f"{i},{i % 2}\n" + "\n" * (i % 3 == 0) for i in range(N))
        (folder / "rows.csv").write_text("\n\nn,label\n\n" + "".join(lines))
    elif kind == "npz":
        np.savez(folder / "rows.npz", X=numbers[:, None].astype(float), y=numbers % 2)
    elif kind == "npy":
        np.save(folder / "rows.npy", np.column_stack([numbers, numbers % 2]).astype(float))
    elif kind == "folder":
        for part in range(7):
            lines = (f"{i},{i % 2}\n" for i in range(part * N // 7, (part + 1) * N // 7))
            (folder / f"part-{part}.csv").write_text("n,label\n" + "".join(lines))
    else:
        table = pa.table({"n": numbers, "label": numbers % 2})
        if kind == "parquet":
            parquet.write_table(table, folder / "rows.parquet", row_group_size=300)
        else:
            feather.write_feather(table, folder / "rows.feather", chunksize=300)
    return [folder]


KINDS = [
    "csv",
    "quoted",
    "npy",
    "npz",
    "parquet",
    "feather",
    "folder",
    "csv.gz",
    "zip",
    "utf-16",
    "no header",
    "blank lines",
]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_files_are_read_by_their_numbers(tmp_path, kind):
    files = RowFiles.of(written(tmp_path, kind), OrdinalReading(ReadOptions()))
    assert files.n_rows == N
    label = {"npy": 1, "npz": None, "no header": "1"}.get(kind, "label")
    columns = TableColumns(label=label, raw=True)
    for numbers in (sample_row_numbers(N, 4000, seed=0), np.array([0]), np.array([N - 1]), np.arange(N)):
        parts = [part for part, _ in files.read_rows(columns, numbers)]
        name = "0" if kind == "no header" else "n"
        found = [
            part.rows[:, 0] if kind in ("npy", "npz") else np.array(part.rows.column(name).to_pylist(), float)
            for part in parts
        ]
        assert_array_equal(np.concatenate(found), numbers)


@pytest.mark.parametrize("block_bytes", [100, 2**22])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_records_are_counted_and_read_whatever_the_blocks_and_line_ends(monkeypatch, block_bytes, end):
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", block_bytes)
    records = [b"n,text"] + [b'%d,"a ""b"", c%s d"' % (i, end) if i % 7 == 0 else b"%d,plain" % i for i in range(300)]
    blank = [record + (end + end if i % 5 == 0 else end) for i, record in enumerate(records)]
    source = SampledText("a.csv", b"".join(blank).rstrip(b"\r\n"))
    assert count_records(source, ",") == 301
    numbers = sample_row_numbers(301, 50, seed=1)
    read = read_records(source, ",", numbers)
    assert count_records(SampledText("a.csv", read), ",") == 50
    for number in numbers.tolist():
        assert records[number] in read


def test_numbers_are_sorted_distinct_uniform_and_depend_on_the_seed_alone():
    times = np.zeros(200)
    for seed in range(400):
        numbers = sample_row_numbers(200, 50, seed)
        assert (np.diff(numbers) > 0).all()
        times[numbers] += 1
    assert numbers.dtype == np.int64
    assert chisquare(times).pvalue > 1e-3
    assert_array_equal(sample_row_numbers(10**12, 1000, seed=3), sample_row_numbers(10**12, 1000, seed=3))
    assert (sample_row_numbers(10**12, 1000, seed=3) != sample_row_numbers(10**12, 1000, seed=4)).any()


def test_compressed_text_is_counted_exactly_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", 2**18)
    random = np.random.default_rng(0).integers(0, 10**9, 10**5)
    (tmp_path / "rows.csv.gz").write_bytes(
        gzip.compress(b"n,label\n" + b"".join(b"%d,0\n" % n for n in random.tolist()), 1)
    )
    files = RowFiles.of([tmp_path / "rows.csv.gz"], OrdinalReading(ReadOptions()))
    assert files.compressed
    assert files.n_rows == 10**5


def test_standard_input_is_not_sampled():
    assert RowFiles.of(["-"], OrdinalReading(ReadOptions(format="csv"))) is None
