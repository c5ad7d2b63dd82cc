import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.encode.hashing import HashedFeatures, name_key
from opauc.data.formats.libsvm import LibsvmReader
from opauc.data.sources import ByteSource
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


def parts_of(path, reader=None, block_bytes=2**22, place=BEGINNING, bad_rows=None):
    return list((reader or LibsvmReader()).batches(ByteSource(path, block_bytes), place, bad_rows or BadRows()))


def joined(parts, n_features):
    """All rows and labels of some parts."""
    rows = [
        sparse.csr_array((p.rows.data, p.rows.indices, p.rows.indptr), (p.rows.shape[0], n_features)) for p in parts
    ]
    return sparse.vstack(rows, format="csr"), np.concatenate([p.labels for p in parts])


def assert_same_bits(rows, labels, wanted_rows, wanted_labels):
    for one, other in ((rows.data, wanted_rows.data), (labels, wanted_labels)):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
    assert_array_equal(rows.indices, wanted_rows.indices)
    assert_array_equal(rows.indptr, wanted_rows.indptr)


def assert_same_parts(parts, wanted):
    assert len(parts) == len(wanted)
    for one, other in zip(parts, wanted, strict=True):
        assert (one.before, one.after, one.rows.shape) == (other.before, other.after, other.rows.shape)
        assert_same_bits(one.rows, one.labels, other.rows, other.labels)
        assert (one.lines is None) == (other.lines is None)
        assert one.lines is None or one.lines.tolist() == other.lines.tolist()


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(str.__mod__, st.sampled_from(["%.7f", "%.16g", "%.3e", "%+d", "%.25g"]), st.floats(-1e9, 1e9)),
    st.sampled_from(["1", "0", "-0", "+1", "1.", ".5", "-.5", "1e-3", "1E5", "007", "1e-400", "4e-320",
                     "9007199254740993", "123456789012345678901234567890", "0.10000000000000000000000000000000000001"]),
)  # fmt: skip
spaces = st.sampled_from([" ", " ", " ", "  ", "\t", " \t\x0b\x0c "])
line_ends = st.sampled_from(["\n", "\n", "\r\n", " \n", " # 1:2 comment\n", "#é\n"])
indices = st.one_of(st.integers(1, 50), st.integers(1, 2**31 - 1))


@st.composite
def lines(draw):
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "  ", "# 1 2:3", "\t#"])) + draw(line_ends)
    words = [draw(numbers)]
    if draw(st.integers(0, 4)) == 0:
        words.append(f"qid:{draw(st.integers(-3, 10**25))}")
    ways = st.sampled_from(["", "", "", "+", "00"])
    words += [f"{draw(ways)}{index}:{draw(numbers)}" for index in sorted(draw(st.sets(indices, max_size=8)))]
    return draw(st.sampled_from(["", "", " "])) + draw(spaces).join(words) + draw(line_ends)


@given(content=st.lists(lines(), min_size=1, max_size=12).map("".join), dtype=st.sampled_from(["float64", "float32"]))
@settings(max_examples=250)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_rows_are_those_of_scikit_learn_in_blocks_of_any_size(tmp_path_factory, content, dtype):
    path = tmp_path_factory.getbasetemp() / "random.txt"
    path.write_bytes(content.encode())
    wanted, labels = load_svmlight_file(str(path), zero_based=False, n_features=2**31 - 1, dtype=dtype)
    if not np.isfinite(wanted.data).all():  # beyond float32
        with pytest.raises(MalformedRowError, match=r"at most 3\.403e\+38 was expected"):
            parts_of(str(path), LibsvmReader(dtype=dtype))
        return
    for block_bytes in (2**22, 64):
        parts = parts_of(str(path), LibsvmReader(dtype=dtype), block_bytes)
        assert_same_bits(*joined(parts, 2**31 - 1), wanted, labels)
        assert parts[-1].after.line == len(content.split("\n")) - content.endswith("\n")
        numbered = [line for part in parts for line in lines_of(part)]
        assert numbered == [
            number for number, line in enumerate(content.split("\n"), 1) if line.partition("#")[0].strip()
        ]


def lines_of(part):
    count = part.labels.size
    return (
        part.lines.tolist()
        if part.lines is not None
        else list(range(part.before.line + 1, part.before.line + count + 1))
    )


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_what_scikit_learn_writes_is_read_back_bit_for_bit(write, ending):
    rng = np.random.default_rng(0)
    rows = sparse.random_array((300, 200), density=0.1, rng=rng, format="csr")
    rows.data[:] *= 10.0 ** rng.integers(-200, 200, rows.nnz)
    labels = rng.choice([-1.0, 1.0], 300)
    file = io.BytesIO()
    dump_svmlight_file(rows, labels, file, zero_based=False)
    path = write(file.getvalue().rstrip() + ending)
    wanted = load_svmlight_file(path, zero_based=False, n_features=200)
    parts = parts_of(path, LibsvmReader(n_features=200), 1000)
    assert len(parts) > 10
    assert all(part.lines is None and part.rows.shape[1] == 200 for part in parts)
    assert_same_bits(*joined(parts, 200), *wanted)


def test_rows_are_canonical_and_as_wide_as_their_largest_index(write):
    first, second = parts_of(write(b"1 2:1 9:0\n1 1:1\n1 3:1\n"), block_bytes=17)
    assert (first.rows.shape, second.rows.shape) == ((2, 9), (1, 3))
    assert first.rows.indices.dtype == first.rows.indptr.dtype == np.int32
    assert first.rows.nnz == 3  # a zero that is written is kept, as scikit-learn keeps it
    fresh = sparse.csr_array((first.rows.data, first.rows.indices, first.rows.indptr), first.rows.shape)
    assert first.rows.has_canonical_format
    assert fresh.has_canonical_format


def test_a_block_without_rows_is_a_part_without_rows(write):
    [part] = parts_of(write(b"# nothing\n\n"))
    assert part.rows.shape == (0, 0)
    assert part.labels.size == part.lines.size == 0
    assert part.after.line == 2
    assert parts_of(write(b"")) == []


def numbered_line(i):
    if i % 7 == 3:
        return b"# comment\n"
    return b"1 1:x\n" if i % 11 == 5 else b"%d %d:%d.5 40:.1\n" % (i % 2, i % 38 + 1, i)


READERS = [LibsvmReader(), LibsvmReader(zero_based="auto"), LibsvmReader(hashing=HashedFeatures(3))]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("first", [b"", b"1 0:1\n"])
def test_reading_on_from_the_end_of_any_part_gives_the_parts_that_follow(write, pack, reader, first):
    path = write(pack(first + b"".join(map(numbered_line, range(60)))))
    parts = parts_of(path, reader, 100, bad_rows=BadRows("skip"))
    assert len(parts) > 8
    for number, part in enumerate(parts):
        rest = parts_of(path, reader, 100, place=part.after, bad_rows=BadRows("skip"))
        assert_same_parts(rest, parts[number + 1 :])


def test_bad_rows_are_skipped_counted_and_their_lines_left_out(write):
    path, bad_rows = write(b"1 1:1\n1 1:x\n\n1 2:1\n1 2:1 1:1\n1 3:1\n"), BadRows("skip")
    [part] = parts_of(path, bad_rows=bad_rows)
    assert part.lines.tolist() == [1, 4, 6]
    assert part.rows.indices.tolist() == [0, 1, 2]
    assert bad_rows.total == 2
    assert bad_rows.first == [
        f"{path}, line 2: value of feature 1 is 'x', one finite number was expected",
        f"{path}, line 5: feature index 1 follows 2; libsvm indices must increase",
    ]
    with pytest.raises(TooManyBadRowsError, match="2 bad rows, at most 1 may be skipped"):
        parts_of(path, bad_rows=BadRows("skip", most=1))


def test_lines_are_numbered_from_the_beginning_of_the_file_in_every_block(write):
    path = write(b"1 1:1\n" * 50 + b"1 1:x\n")
    with pytest.raises(MalformedRowError, match="line 51: value of feature 1 is 'x'"):
        parts_of(path, block_bytes=64)


def test_an_index_beyond_the_number_of_features_is_refused(write):
    path = write(b"1 4:1\n1 5:1\n")
    with pytest.raises(MalformedRowError, match="line 2: feature index is '5', expected from 1 to 4"):
        parts_of(path, LibsvmReader(n_features=4))
    with pytest.raises(MalformedRowError, match="line 1: feature index is '4', expected from 0 to 3"):
        parts_of(path, LibsvmReader(n_features=4, zero_based=True))


def test_indices_can_start_at_zero(write):
    path = write(b"1 0:1 5:2\n")
    [part] = parts_of(path, LibsvmReader(zero_based=True))
    assert_same_bits(part.rows, part.labels, *load_svmlight_file(path, zero_based=True))
    with pytest.raises(MalformedRowError, match=r"expected from 0 to 2147483646$"):
        parts_of(write(b"1 2147483647:1\n"), LibsvmReader(zero_based=True))


def test_auto_takes_the_start_of_indices_from_the_first_block(write):
    auto = LibsvmReader(zero_based="auto", n_features=5)
    [part] = parts_of(write(b"1 5:1\n1 3:1\n"), auto)
    assert part.rows.indices.tolist() == [4, 2]
    first, second = parts_of(write(b"1 3:1\n1 0:1\n1 4:1\n"), auto, block_bytes=12)
    assert [first.rows.indices.tolist(), second.rows.indices.tolist()] == [[3, 0], [4]]
    later = write(b"1 3:1\n1 2:1\n1 0:1\n")
    with pytest.raises(MalformedRowError) as caught:
        parts_of(later, auto, block_bytes=12)
    assert str(caught.value) == (
        f"{later}, line 3: feature index is 0, but none stood in the first block, so they are taken to start at 1; "
        "pass zero_based=True if they start at 0"
    )


def test_auto_cannot_look_back_in_a_pipe(monkeypatch):
    content = b"1 3:1\n1 2:1\n1 1:1\n"
    for reader in (LibsvmReader(), LibsvmReader(zero_based="auto")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        first, second = parts_of("-", reader, 12)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        if reader.zero_based == "auto":
            with pytest.raises(InputError, match="standard input: its first block is gone; pass zero_based=True or"):
                parts_of("-", reader, 12, place=first.after)
        else:
            assert_same_parts(parts_of("-", reader, 12, place=first.after), [second])


def test_hashed_rows_are_the_rows_hashed(write):
    path, hashing = write(b"1 3:2 5:-.5\n-1\n1 1:1 2:1 9:4\n"), HashedFeatures(bits=2, seed=3)
    [plain], [hashed] = parts_of(path), parts_of(path, LibsvmReader(hashing=hashing, dtype="float32"))
    assert_array_equal(hashed.rows.toarray(), hashing.hash_rows(plain.rows).toarray())
    assert hashed.rows.dtype == np.float32
    assert hashed.rows.shape == (3, 4)
    assert hashed.rows.has_canonical_format


def test_named_features_are_hashed_by_name_beside_numbered_ones(write):
    hashing = HashedFeatures(bits=12)
    path = write("1 word=foo:2 3:1 url=http://b:80:1\n1 word=foo:1\n1 _x:1 é:2\n".encode())
    [part] = parts_of(path, LibsvmReader(hashing=hashing))
    keys = np.array([name_key("word=foo"), 2, name_key("url=http://b:80"), name_key("_x"), name_key("é")])
    columns, signs = hashing.columns_of(keys)
    wanted = np.zeros((3, 4096))
    for row, key, value in ((0, 0, 2), (0, 1, 1), (0, 2, 1), (1, 0, 1), (2, 3, 1), (2, 4, 2)):
        wanted[row, columns[key]] += signs[key] * value
    assert_array_equal(part.rows.toarray(), wanted)


def test_large_float32_values_are_read_as_long_as_they_round_to_a_finite_one(write):
    [part] = parts_of(write(b"1 1:3.4028235e38\n"), LibsvmReader(dtype="float32"))
    assert part.rows.data[0] == np.finfo(np.float32).max
    with pytest.raises(
        MalformedRowError, match=r"value of feature 1 is '3\.4028236e38', at most 3\.403e\+38 was expected"
    ):
        parts_of(write(b"1 1:3.4028236e38\n"), LibsvmReader(dtype="float32"))


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="n_features must be between 1 and 2147483647, got 0"):
        LibsvmReader(n_features=0)
    with pytest.raises(ValueError, match=r"n_features must be None"):
        LibsvmReader(n_features=3, hashing=HashedFeatures(3))
    with pytest.raises(ValueError, match="zero_based must be True, False or 'auto', got 'yes'"):
        LibsvmReader(zero_based="yes")
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'int8'"):
        LibsvmReader(dtype="int8")
