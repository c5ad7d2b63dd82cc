import pytest

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.formats.libsvm import LibsvmReader, UnclearLineError, read_line
from opauc.data.sources import ByteSource
from opauc.errors import MalformedRowError

MALFORMED = [
    (b"x 1:1", "label is 'x', one finite number was expected"),
    (b"1,2 1:1", "label is '1,2', one finite number was expected"),
    (b"1:1 2:1", "label is '1:1', one finite number was expected"),
    (b"nan 1:1", "label is 'nan', one finite number was expected"),
    (b"-inf 1:1", "label is '-inf', one finite number was expected"),
    (b"1e999 1:1", "label is '1e999', at most 1.798e+308 was expected"),
    (b"1 2", "'2' stands for a feature; index:value was expected"),
    (b"1 3:1 foo", "'foo' stands for a feature; index:value was expected"),
    (b"1 :1", "feature index is '', a whole number was expected; names need feature hashing"),
    (b"1 foo:1", "feature index is 'foo', a whole number was expected; names need feature hashing"),
    (b"1 1.0:1", "feature index is '1.0', a whole number was expected; names need feature hashing"),
    (b"1 1_0:1", "feature index is '1_0', a whole number was expected; names need feature hashing"),
    (b"1 0:1", "feature index is 0, but indices start at 1; pass zero_based=True if they start at 0"),
    (b"1 -3:1", "feature index is '-3', expected from 1 to 2147483647"),
    (b"1 2147483648:1", "feature index is '2147483648', expected from 1 to 2147483647"),
    (b"1 18446744073709551617:1", "feature index is '18446744073709551617', expected from 1 to 2147483647"),
    (b"1 9:1 3:1", "feature index 3 follows 9; libsvm indices must increase"),
    (b"1 3:1 3:1", "feature index 3 follows 3; libsvm indices must increase"),
    (b"1 3:", "value of feature 3 is '', one finite number was expected"),
    (b"1 3: 4", "value of feature 3 is '', one finite number was expected"),
    (b"1 3:4:5", "value of feature 3 is '4:5', one finite number was expected"),
    (b"1 3:1.5x", "value of feature 3 is '1.5x', one finite number was expected"),
    (b"1 3:1e", "value of feature 3 is '1e', one finite number was expected"),
    (b"1 3:0x1", "value of feature 3 is '0x1', one finite number was expected"),
    (b"1 3:1_0", "value of feature 3 is '1_0', one finite number was expected"),
    (b"1 3:nan", "value of feature 3 is 'nan', one finite number was expected"),
    (b"1 3:Infinity", "value of feature 3 is 'Infinity', one finite number was expected"),
    (b"1 3:-2e308", "value of feature 3 is '-2e308', at most 1.798e+308 was expected"),
    (b"1 3:1\x00", "value of feature 3 is '1\\x00', one finite number was expected"),
    (b"1 3:\xff", "value of feature 3 is '\\xff', one finite number was expected"),
    (b"\xef\xbb\xbf1 3:1", "label is '\\ufeff1', one finite number was expected"),
    ("1 3:١".encode(), "value of feature 3 is '١', one finite number was expected"),
    (b"1 qid:x 3:1", "'qid:x' stands for a query number; qid: and a whole number were expected"),
    (b"1 qid:31:1", "'qid:31:1' stands for a query number; qid: and a whole number were expected"),
    (b"1 qid 3:1", "'qid' stands for a feature; index:value was expected"),
    (b"1 3:1 qid:4", "feature index is 'qid', a whole number was expected; names need feature hashing"),
    (b"1 3:" + b"7" * 60 + b"x", f"value of feature 3 is '{'7' * 40}'..., one finite number was expected"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "reason"), MALFORMED)
def test_a_malformed_row_is_refused_with_file_line_and_reason(tmp_path, line, reason):
    path = tmp_path / "data.txt"
    path.write_bytes(b"1 1:1\n# comment\n" + line + b"\n1 1:1\n")
    source, reader = ByteSource(str(path)), LibsvmReader()
    with pytest.raises(MalformedRowError) as caught:
        list(reader.batches(source, BEGINNING, BadRows()))
    assert str(caught.value) == f"{path}, line 3: {reason}"
    [part] = reader.batches(source, BEGINNING, BadRows("skip"))
    assert part.lines.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b"1 foo", "'foo' stands for a feature; name:value in UTF-8 was expected"),
     (b"1 foo:x", "value of feature 'foo' is 'x', one finite number was expected"),
     (b"1 \xff:1", "'\\xff:1' stands for a feature; name:value in UTF-8 was expected"),
     (b"1 a\x00:1", "'a\\x00:1' stands for a feature; name:value in UTF-8 was expected"),
     (b"1 1x:1", "feature index is '1x', a whole number was expected"),
     (b"1 foo:1e300", "value of feature 'foo' is '1e300', at most 8.371e+298 was expected"),
     (b"1 5:1e300", "value of feature 5 is '1e300', at most 8.371e+298 was expected")],
)  # fmt: skip
def test_malformed_named_features_are_refused(line, reason):
    with pytest.raises(UnclearLineError) as caught:
        read_line(line, LibsvmReader(hashing=HashedFeatures(4)).rules(zero_based=False))
    assert str(caught.value) == reason


@pytest.mark.parametrize("word", [b"9" * 10**6 + b"x", b"." + b"9" * 10**6 + b"e" * 2, b"0" * 10**6 + b"x"])
def test_a_long_word_that_is_no_number_is_refused_at_once(word):
    rules = LibsvmReader().rules(zero_based=False)
    for line in (word, b"1 " + word + b":1", b"1 1:" + word, b"1 qid:" + word):
        with pytest.raises(UnclearLineError):
            read_line(line, rules)


@pytest.mark.parametrize(
    ("line", "columns", "values"),
    [(b"1 +2:1 003:5e-324", [1, 2], [1.0, 5e-324]), (b"1\x0b4:1\x0c5:2", [3, 4], [1.0, 2.0]),
     (b"1 qid:-3 2:9007199254740993", [1], [9007199254740992.0]), (b"1 2:1e-999#3:x", [1], [0.0])],
)  # fmt: skip
def test_what_is_right_but_rare_is_read(line, columns, values):
    read = read_line(line, LibsvmReader().rules(zero_based=False))
    assert (read.label, read.columns.tolist(), read.values.tolist()) == (1.0, columns, values)


def test_blank_lines_and_comments_say_nothing():
    rules = LibsvmReader().rules(zero_based=False)
    assert [read_line(line, rules) for line in (b"", b" \t\r", b"# 1 2:3", b" #")] == [None] * 4
