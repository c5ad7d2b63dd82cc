"""Tables whose columns stand below each other are read as if commas stood between them."""

import csv
import io

import hypothesis.strategies as st
import pytest
from hypothesis import given

from opauc.data import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.reader import CsvReader
from opauc.data.formats.csv.records import BLANK_RUN, has_blank_runs, join_blanks
from tests.data.csv_parts import columns_of, lines_of, parts_of, written

HEADER = ("size", "city", "label")
ROWS = [
    (f"{i / 7:.3f}", ["Bern", "Chur", "New York", 'a "b"  c', "two\n lines"][i % 5], ["yes", "no"][i % 2])
    for i in range(300)
]
blanks = st.text(" \t", min_size=1, max_size=3)
words = st.text(st.characters(exclude_characters=' \t\r\n"', exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4)
words |= st.sampled_from(['5"', 'it"s', '"two words"', '" ""quoted"" "', '""'])


@st.composite
def spaced_lines(draw):
    """Return text, and the words of its lines."""
    wanted = draw(st.lists(st.lists(words, max_size=4), max_size=5))
    lines = [
        draw(st.text(" \t", max_size=2)) + draw(blanks).join(line) + draw(st.text(" \t", max_size=2)) for line in wanted
    ]
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return end.join(lines) + draw(st.sampled_from(["", end])), wanted


@given(spaced_lines())
def test_the_fields_of_a_line_are_separated_by_runs_of_blanks(drawn):
    text, wanted = drawn
    found = join_blanks(text.encode()).decode()
    assert [line.split(BLANK_RUN) if line else [] for line in io.StringIO(found, newline=None).read().split("\n")][
        : len(wanted)
    ] == wanted


def quoted(text):
    return '"' + text.replace('"', '""') + '"' if set(text) & set(' "\n') else text


def aligned(rows):
    """Return rows with their columns below each other."""
    return "".join(f" {size:>8}   {quoted(city):<14} {label} \n" for size, city, label in [HEADER, *rows])


def with_commas(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([HEADER, *rows])
    return out.getvalue()


@pytest.mark.parametrize("block_bytes", [64, 1000, 2**20])
def test_aligned_columns_are_read_as_those_with_commas_wherever_blocks_end(tmp_path, block_bytes):
    reader = CsvReader(TableColumns("label", None, ["city"]))
    one = parts_of(written(tmp_path, aligned(ROWS), "rows.txt"), reader, block_bytes)
    other = parts_of(written(tmp_path, with_commas(ROWS)), reader)
    assert columns_of(one) == columns_of(other)
    assert [line for part in one for line in lines_of(part)] == [line for part in other for line in lines_of(part)]
    for at in {0, len(one) // 2}:
        rest = parts_of(tmp_path / "rows.txt", reader, block_bytes, one[at].before)
        assert columns_of(rest) == columns_of(one[at:])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  5    7  35 1.4\n 12    6  72 2.5\n", {"0": [5, 12], "1": [7, 6], "2": [35, 72], "3": [1.4, 2.5]}),
        (
            "AD_1  0.58  yes\nAD_2  0.43  no\nAD_1 0.1  no\n",
            {"0": ["AD_1", "AD_2", "AD_1"], "1": [0.58, 0.43, 0.1], "2": ["yes", "no", "no"]},
        ),
    ],
)
def test_rows_without_a_header_as_they_are_published(tmp_path, text, wanted):
    *features, _ = wanted
    words = [name for name in features if isinstance(wanted[name][0], str)]
    reader = CsvReader(TableColumns(max(wanted), None, words), header=False)
    assert columns_of(parts_of(written(tmp_path, text, "rows.data"), reader)) == wanted


def test_a_line_with_more_or_fewer_fields_is_a_bad_row(tmp_path):
    path = written(tmp_path, "a  label\n1  2\n3\n4  5\n6 7 8\n")
    bad = BadRows("skip")
    assert columns_of(parts_of(path, bad=bad)) == {"a": [1, 4], "label": [2, 5]}
    assert bad.total == 2


def test_a_delimiter_that_is_there_or_named_goes_before_blanks(tmp_path):
    assert columns_of(parts_of(written(tmp_path, "a b;label\n1;2\n"))) == {"a b": [1.0], "label": [2.0]}
    single = parts_of(written(tmp_path, "a b label\n1  3\n"), CsvReader(delimiter=" "))
    assert str(columns_of(single)) == "{'a': [1.0], 'b': [None], 'label': [3.0]}"
    assert not has_blank_runs(b"one note\nanother long note")
    assert not has_blank_runs(b"word\nword\n")
