import numpy as np
import pytest
from numpy.testing import assert_array_equal

from opauc.data.kernels.libsvm_bytes import LineArrays, count_marks, end_of_line, read_plain_lines

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def read(text, least=1, beyond=2**31, largest=1.7e308, dtype=np.float64, before=0):
    data = np.frombuffer(text, np.uint8)
    newlines, colons = count_marks(data)
    out = LineArrays(
        np.full(newlines, np.nan), np.full(colons, np.nan, dtype), np.full(colons, -1, np.int32),
        np.zeros(newlines + 1, np.int32), np.full(newlines, -1),
    )  # fmt: skip
    progress = np.array([0, before, 0, 0])
    read_plain_lines(data, progress, out, least, beyond, largest)
    return progress.tolist(), out


def test_lines_become_the_arrays_of_sparse_rows():
    text = b"+1 1:0.5 3:2\n-1 2:-1e1\t 7:.25 \r\n# only this\n\n3.5 qid:12 4:1 # that\n0\n"
    progress, out = read(text, before=10)
    assert progress == [len(text), 16, 4, 5]
    assert_array_equal(out.labels[:4], [1.0, -1.0, 3.5, 0.0])
    assert_array_equal(out.ends[:5], [0, 2, 4, 5, 5])
    assert_array_equal(out.indices[:5], [0, 2, 1, 6, 3])
    assert_array_equal(out.values[:5], [0.5, 2.0, -10.0, 0.25, 1.0])
    assert_array_equal(out.lines[:4], [11, 12, 15, 16])


def test_indices_from_zero_on_are_columns_as_they_are():
    _, out = read(b"1 0:1 5:1\n", least=0)
    assert_array_equal(out.indices, [0, 5])


def test_short_numbers_are_rounded_to_float32_from_float64():
    _, out = read(b"1 1:0.1 2:16777217\n", dtype=np.float32)
    assert_array_equal(out.values, np.array([0.1, 16777217.0]).astype(np.float32))


@pytest.mark.parametrize(
    "line",
    [b"x 1:1", b"1,2 1:1", b"1:1", b"nan 1:1", b"1 1", b"1 :1", b"1 1:", b"1 1:x", b"1 1:1x", b"1 1:1:1", b"1 x:1",
     b"1 -1:1", b"1 +1:1", b"1 0:1", b"1 3:1 2:1", b"1 3:1 3:1", b"1 101:1", b"1 99999999999999999999:1",
     b"1 18446744073709551617:1", b"1 1:2e9", b"1 1:nan", b"1 qid:x 1:1", b"1 qid: 1:1", b"1 qid:1:1", b"1qid:1",
     b"1 1:1 qid:2", b"1 q", b"1 qi", b"1 qid", b"1 1:1\x002:1", b"\xff", b"1 1:12345678901234567890", b"1e999",
     b"1 1:1e-320"],
)  # fmt: skip
def test_reading_stops_before_an_unusual_line_and_nothing_of_it_counts(line):
    before = b"1 5:1\n\n"
    progress, out = read(before + line + b"\n2 6:1\n", beyond=101, largest=1e9)
    assert progress == [len(before), 2, 1, 1]
    assert_array_equal(out.ends[:2], [0, 1])


def test_marks_are_counted():
    assert count_marks(np.frombuffer(b"1 1:1 2:3\n#:\n", np.uint8)) == (2, 3)
    assert count_marks(np.frombuffer(b"", np.uint8)) == (0, 0)


def test_the_end_of_a_line_is_its_own_or_a_later_byte():
    data = np.frombuffer(b"ab\n\n", np.uint8)
    assert [end_of_line(data, at) for at in range(4)] == [2, 2, 2, 3]
