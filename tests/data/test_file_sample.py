"""Rows from all over files: every record whole, none twice, all of the file reached."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy.stats import chisquare

from opauc.data.columns import TableColumns
from opauc.data.options import ReadOptions
from opauc.data.sample import SampledFiles, SampledText, drawn_text

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


@pytest.mark.parametrize("kind", ["csv", "quoted", "npy", "parquet", "feather", "folder", "csv.gz", "zip", "utf-16"])
def test_a_sample_has_whole_records_none_twice_and_reaches_all_of_the_file(tmp_path, kind):
    files = SampledFiles.of(written(tmp_path, kind), ReadOptions())
    assert abs(files.n_rows - (2 * N if kind in ("quoted", "csv.gz", "zip") else N)) < 0.1 * N
    columns = TableColumns(label=1 if kind == "npy" else "label", raw=True)
    parts = [part for part, _ in files.sampled(columns, 4000, seed=0)]
    found = np.concatenate(
        [part.rows[:, 0] if kind == "npy" else np.array(part.rows.column("n").to_pylist(), float) for part in parts]
    )
    assert 3500 < found.size < 4500
    assert np.unique(found).size == found.size
    assert set(found) <= set(range(N))
    spread = np.histogram(found, bins=10, range=(0, N))[0] / found.size
    assert spread.min() > 0.05
    again = [part for part, _ in files.sampled(columns, 4000, seed=0)]
    assert all(
        (one.rows == two.rows).all() if kind == "npy" else one.rows.equals(two.rows)
        for one, two in zip(parts, again, strict=True)
    )


@pytest.mark.parametrize("block_bytes", [100, 2**22])
def test_every_record_of_packed_text_is_as_likely(monkeypatch, block_bytes):
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", block_bytes)
    text = b"n\n" + b"".join(b"%d\n" % i for i in range(200))
    times = np.zeros(200)
    for seed in range(400):
        first, *drawn = drawn_text(SampledText("a.csv", text), 50, ",", np.random.default_rng(seed)).split()
        assert (first, len(drawn)) == (b"n", 50)
        assert drawn == sorted(drawn, key=int)
        times[np.array(drawn, int)] += 1
    assert chisquare(times).pvalue > 1e-3
    assert drawn_text(SampledText("a.csv", text), 500, ",", np.random.default_rng(0)) == text


def test_packed_text_of_many_blocks_has_about_as_many_rows_as_said(tmp_path, monkeypatch):
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", 2**18)
    random = np.random.default_rng(0).integers(0, 10**9, 10**6)
    (tmp_path / "rows.csv.gz").write_bytes(
        gzip.compress(b"n,label\n" + b"".join(b"%d,0\n" % n for n in random.tolist()), 1)
    )
    files = SampledFiles.of([tmp_path / "rows.csv.gz"], ReadOptions())
    assert files.packed
    assert 0.5e6 < files.n_rows < 1.5e6


def test_what_can_only_be_read_in_order_is_not_sampled(tmp_path):
    (tmp_path / "rows.svm.gz").write_bytes(gzip.compress(b"1 1:1\n0 1:2\n"))
    assert SampledFiles.of([tmp_path / "rows.svm.gz"], ReadOptions()) is None
    assert SampledFiles.of(["-"], ReadOptions(format="csv")) is None
