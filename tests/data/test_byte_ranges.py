"""Stretches of files, read apart, hold the rows of the whole: each once, whatever the cut."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pyarrow import feather, ipc, parquet

from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.byte_ranges import ByteRange, join_ranges, split_evenly, states_after, with_quoting
from opauc.data.find_sources import format_of
from opauc.data.open_stream import encoder_of, open_stream

FIELDS = ("1.5", "-2", "", '"3"', '"4\n"', '"a ""quoted"" word"', '"two\nlines\n"', "plain", 'it"s')


def extents_of(path, size):
    kind = format_of(str(path))
    found, delimiter = kind.byte_ranges(str(path), size), kind.delimiter(str(path), ReadOptions())
    if delimiter is None:
        return found
    return with_quoting(found, delimiter, [states_after(str(path), delimiter, byte_range) for byte_range in found])


def labeled(chunks):
    """Return the rows of all chunks, as wide as the widest, with their labels."""
    dense = [chunk.rows if isinstance(chunk.rows, np.ndarray) else chunk.rows.toarray() for chunk in chunks]
    width = max((part.shape[1] for part in dense), default=0)
    return [(*row, *[0.0] * (width - row.size), label) for part, chunk in zip(dense, chunks, strict=True)
            for row, label in zip(part, chunk.labels, strict=True)]  # fmt: skip


def assert_cut_is_whole(path, size, options):
    whole = labeled(list(open_stream([path], options).batches()))
    apart = [
        chunk
        for byte_range in extents_of(path, size)
        for chunk in DataStream.of_byte_range(str(path), byte_range, options, encoder_of(options), BadRows()).batches(
            False
        )
    ]
    assert labeled(apart) == whole


@given(
    lines=st.lists(st.tuples(st.sampled_from(FIELDS), st.sampled_from("01")), min_size=1, max_size=30),
    size=st.integers(1, 60),
    end=st.sampled_from(["", "\n", "\n\n"]),
    between=st.sampled_from(["\n", "\r\n"]),
    gap=st.sampled_from([",", "  ", " \t"]),
)
def test_text_tables_cut_anywhere_give_each_row_once(tmp_path_factory, lines, size, end, between, gap):
    path = tmp_path_factory.mktemp("cut") / "a.csv"
    rows = [
        gap.join([str(at), field if gap == "," else field or "?", label]) for at, (field, label) in enumerate(lines)
    ]
    path.write_bytes((between.join([gap.join(["id", "word", "label"]), *rows]) + end).encode())
    assert_cut_is_whole(path, size, ReadOptions(drop=("word",)))


@given(
    lines=st.lists(st.sampled_from(["1 1:2.5", "-1 3:1 7:2", "", "# a comment", "1 2:3 # and one"]), max_size=30),
    size=st.integers(1, 60),
    end=st.sampled_from(["", "\n"]),
)
def test_libsvm_text_cut_anywhere_gives_each_row_once(tmp_path_factory, lines, size, end):
    path = tmp_path_factory.mktemp("cut") / "a.libsvm"
    path.write_text("\n".join(["1 7:1", *lines]) + end)
    assert_cut_is_whole(path, size, ReadOptions(n_features=7))


@pytest.mark.parametrize("size", [1, 700, 3000, 10**6])
@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "packed.feather", "a.npy"])
def test_tables_and_arrays_cut_anywhere_give_each_row_once(tmp_path, name, size):
    rng, path = np.random.default_rng(0), tmp_path / name
    rows, labels = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "label": labels})
    if name == "a.npy":
        np.save(path, np.column_stack([rows, labels]))
    elif name == "a.parquet":
        parquet.write_table(table, path, row_group_size=70)
    else:
        feather.write_feather(table, path, chunksize=60, compression="zstd" if "packed" in name else "uncompressed")
    assert_cut_is_whole(path, size, ReadOptions(label=3))
    assert len(extents_of(path, 1)) > 1
    assert len(extents_of(path, 10**6)) == 1


def test_what_cannot_be_cut_is_read_whole(tmp_path):
    table = pa.table({"a": [1.0], "label": [1]})
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as stream:
        stream.write_table(table)
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1])
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,label\n1,0\n"))
    for name in ("a.arrow", "a.npz", "a.csv.gz"):
        assert format_of(str(tmp_path / name)).byte_ranges(str(tmp_path / name), 1) == []


def test_a_record_across_many_cuts_belongs_to_the_stretch_it_begins_in(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,word,label\n1,"' + "x\n" * 50 + '",1\n2,short,0\n')
    options, counts = ReadOptions(drop=("word",)), []
    for byte_range in extents_of(path, 20):
        stream = DataStream.of_byte_range(str(path), byte_range, options, encoder_of(options), BadRows())
        counts.append(sum(chunk.rows.shape[0] for chunk in stream.batches(False)))
    assert counts[0] == 1
    assert sum(counts) == 2


def test_pieces_are_joined_until_they_weigh_enough():
    assert join_ranges([3, 4, 5], [1.0, 1.0, 9.0], 2.0) == [ByteRange(0, 7), ByteRange(7, 12)]
    assert join_ranges([3, 0], [0.1, 0.1], 9.0) == [ByteRange(0, 3)]
    assert join_ranges([], [], 1.0) == []
    assert_array_equal([byte_range.end for byte_range in split_evenly(7, 3)], [3, 6, 7])
