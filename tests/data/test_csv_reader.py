import gzip
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.reader import CsvReader
from opauc.data.sources import ByteSource
from opauc.errors import InputChangedError, InputError, MalformedRowError
from tests.data.csv_parts import COLUMNS, columns_of, lines_of, parts_of, written

WITHOUT_SURROGATES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


WORDS = st.one_of(st.sampled_from(['"', "\n", "\r\n", ",", "\r"]), WITHOUT_SURROGATES)


TABLES = st.lists(st.tuples(st.integers(0, 1), st.floats(allow_nan=False), WORDS), min_size=1, max_size=12)


def text_of(table, ending, empty_lines, delimiter=",", mark=""):
    """The table as text, every word in quotes, with empty lines; and the line of each row."""
    lines, text, line = [], f"label{delimiter}a{delimiter}w" + ending, 2
    for row, (label, number, word) in enumerate(table):
        if row in empty_lines:
            text, line = text + ending, line + 1
        lines.append(line)
        quoted = '"' + word.replace('"', '""') + '"'
        text += f"{label}{delimiter}{number!r}{delimiter}{quoted}{ending}"
        line += 1 + quoted.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    return mark + text, lines


@given(
    table=TABLES,
    ending=st.sampled_from(["\n", "\r\n"]),
    empty_lines=st.sets(st.integers(0, 20), max_size=3),
    delimiter=st.sampled_from([",", "\t", ";"]),
    mark=st.sampled_from(["", "\ufeff"]),
    block_bytes=st.sampled_from([1, 32, 100, 4096]),
)
@settings(max_examples=150)
def test_any_table_comes_back_with_its_lines_however_it_is_cut(
    tmp_path_factory, table, ending, empty_lines, delimiter, mark, block_bytes
):
    text, lines = text_of(table, ending, empty_lines, delimiter, mark)
    path = written(tmp_path_factory.mktemp("csv"), text)
    parts = parts_of(path, CsvReader(COLUMNS), block_bytes)
    found = columns_of(parts)
    assert found["label"] == [float(label) for label, _, _ in table]
    assert found["a"] == [number for _, number, _ in table]
    assert found["w"] == [word for _, _, word in table]
    assert [line for part in parts for line in lines_of(part)] == lines


@given(table=TABLES, block_bytes=st.sampled_from([1, 20, 64]))
@settings(max_examples=60)
def test_reading_goes_on_from_every_part_with_the_parts_that_followed(tmp_path_factory, table, block_bytes):
    text, _ = text_of(table, "\n", {2, 5})
    path = written(tmp_path_factory.mktemp("csv"), text)
    parts = parts_of(path, CsvReader(COLUMNS), block_bytes)
    for number, part in enumerate(parts):
        rest = parts_of(path, CsvReader(COLUMNS), block_bytes, part.after)
        assert [(p.before, p.after, lines_of(p)) for p in rest] == [
            (p.before, p.after, lines_of(p)) for p in parts[number + 1 :]
        ]
        assert all(p.rows.equals(q.rows) for p, q in zip(rest, parts[number + 1 :], strict=True))


@pytest.mark.parametrize("n_rows", [1, 3000])
def test_numbers_are_those_pandas_wrote_exactly(tmp_path, n_rows):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(n_rows, 5)) * 10.0 ** random.integers(-300, 300, (n_rows, 5)))
    frame.columns = list("abcdy")
    frame.iloc[0, 0] = np.nan
    text = frame.to_csv(index=False)
    found = columns_of(parts_of(written(tmp_path, text), block_bytes=2**16))
    for name in frame.columns:
        np.testing.assert_array_equal(np.array(found[name], dtype=float), frame[name])


def test_only_columns_that_are_used_are_converted(tmp_path):
    path = written(tmp_path, "id,y,a,note\nx7,1,2,hello\nx8,0,3,\n")
    found = columns_of(parts_of(path, CsvReader(TableColumns(features=["a"]))))
    assert found == {"y": [1.0, 0.0], "a": [2.0, 3.0]}


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("t.csv", "y;a;b,c\n1;2;3\n", ["y", "a", "b,c"]),
        ("t.csv", "y\ta\n1\t2\n", ["y", "a"]),
        ("t.csv", '"y;;;",a,label\n1,2,3\n', ["y;;;", "a", "label"]),
        ("t.tsv", "label\ta,b,c\n1\t2\n", ["label", "a,b,c"]),
        ("t.tsv.gz", "label\ta,b,c\n1\t2\n", ["label", "a,b,c"]),
        ("t.data", "label a b\n1 2 3\n", ["label", "a", "b"]),
        ("t.data", "label a b\r\n1 2 3\r\n", ["label", "a", "b"]),
        ("t.data", "a b,label\n2,1\n", ["a b", "label"]),
    ],
)
def test_the_delimiter_is_inferred_from_the_name_or_the_first_line(tmp_path, name, text, wanted):
    data = gzip.compress(text.encode()) if name.endswith("gz") else text
    [part] = parts_of(written(tmp_path, data, name))
    assert part.rows.schema.names == wanted


def test_text_without_a_header_calls_columns_by_their_positions(tmp_path):
    path = written(tmp_path, "1,2.5\n0,3.5\n")
    for header in (False, None):
        [part] = parts_of(path, CsvReader(TableColumns(label=0), header=header))
        assert part.rows.to_pydict() == {"0": [1.0, 0.0], "1": [2.5, 3.5]}
        assert part.lines is None


def test_whether_the_first_line_is_a_header_is_asked_where_it_has_strings_and_numbers(tmp_path):
    assert parts_of(written(tmp_path, "y,a\n1,2\n"), CsvReader(header=None))[0].rows.num_rows == 1
    path = written(tmp_path, "yes,1,2\nno,3,4\n")
    with pytest.raises(InputError) as error:
        parts_of(path, CsvReader(header=None))
    hint = "(header=True or header=False)"
    assert str(error.value) == f"{path}: the first line has strings and numbers; say whether it is a header {hint}"


@pytest.mark.parametrize(
    ("text", "columns", "header"),
    [
        ("Bern,3,yes\nChur,4,no\nBern,5,no\n", TableColumns(label=2, categorical=[0]), False),
        ("Zürich,3,yes\nChur,4,no\nZürich,5,no\n", TableColumns(label=2, categorical=[0]), False),
        ("e,x,x\np,x,s\ne,y,s\np,x,t\ne,x,x\n", TableColumns(label=0, categorical=[1, 2]), False),
        ("city,size,label\nlabel,2,1\ncity,3,0\n", TableColumns(categorical=["city"]), True),
        ("city,2019,2020\ncity,2,1\nBern,3,0\n", TableColumns(label="2020", categorical=["city"]), True),
        ("Bern,3,yes\n", TableColumns(label="2", features=["1"], categorical=["0"]), False),
        ("0,1,label\n7,3,1\n", TableColumns(label="label", features=["0", "1"]), True),
    ],
)
@pytest.mark.filterwarnings("ignore:.*not in UTF-8")
def test_a_first_line_whose_strings_are_values_below_is_a_row_unless_columns_are_requested_by_its_names(
    tmp_path, text, columns, header
):
    for encoded in (text.encode(), text.encode("cp1252")):
        [part] = parts_of(written(tmp_path, encoded), CsvReader(columns, header=None))
        assert part.rows.num_rows == text.count("\n") - header
        assert part.rows.schema.names == (text.split("\n")[0].split(",") if header else ["0", "1", "2"])


@pytest.mark.parametrize(
    "text", ["e,x,s\np,x,s\ne,y,s\np,x,t\ne,x,s\n", "city,plan,left\nBern,a,no\ncity,plan,left\nChur,b,yes\n"]
)
def test_whether_a_first_line_of_distinct_strings_that_all_recur_is_a_header_is_asked(tmp_path, text):
    columns = TableColumns(label=0, categorical=[1, 2])
    with pytest.raises(InputError, match=r"all strings of the first line recur below; .* \(header=True or header=F"):
        parts_of(written(tmp_path, text), CsvReader(columns, header=None))
    for header in (True, False):
        [part] = parts_of(written(tmp_path, text), CsvReader(columns, header=header))
        assert part.rows.num_rows == text.count("\n") - header


@pytest.mark.parametrize("quoted", [False, True])
def test_labels_are_the_same_strings_however_the_file_is_spaced(tmp_path, quoted):
    text = "a, label\n1, yes\n2,no \n3,\tyes\n" + '4," yes"\n' * quoted
    [part] = parts_of(written(tmp_path, text))
    assert part.rows["label"].to_pylist() == ["yes", "no", "yes"] + ["yes"] * quoted


@pytest.mark.parametrize(
    ("labels", "kind"), [(["1", "0", ""], "double"), (["1", "yes"], "string"), (["", ""], "string")]
)
def test_labels_are_numbers_where_all_of_the_first_block_are(tmp_path, labels, kind):
    path = written(tmp_path, "a,y\n" + "".join(f"0,{label}\n" for label in labels))
    [part] = parts_of(path)
    assert str(part.rows.schema.field("y").type) == kind


def test_the_kind_of_the_labels_stays_that_of_the_first_block_also_when_reading_goes_on(tmp_path):
    path = written(tmp_path, "a,y\n0,1\n1,no\n1,2\n")
    first = parts_of(path, block_bytes=9, bad=BadRows("skip"))[0]
    assert first.rows.to_pydict() == {"a": [0.0], "y": [1.0]}
    with pytest.raises(
        MalformedRowError, match="line 3, column y: 'no' is not a number, as the labels at the beginning are"
    ):
        parts_of(path, block_bytes=9, place=first.after)


def test_a_byte_order_mark_is_passed_over_at_the_beginning_only(tmp_path):
    mark = "\ufeff"
    path = written(tmp_path, f"{mark}a,y\n2,1\n{mark}3,0\n")
    for block_bytes in (1, 4096):
        bad = BadRows("skip")
        assert columns_of(parts_of(path, block_bytes=block_bytes, bad=bad)) == {"a": [2.0], "y": [1.0]}
        assert bad.first[0].startswith(f"{path}, line 3, column a: '\\ufeff3' is not a number")


def test_a_row_longer_than_what_pyarrow_parses_at_once_is_read(tmp_path):
    words = ["x" * 600_000, "y" * 2_000_000]
    path = written(tmp_path, "label,a,w\n" + "".join(f"1,2,{word}\n" for word in words))
    [part] = parts_of(path, CsvReader(COLUMNS), block_bytes=2**22)
    assert part.rows.column("w").to_pylist() == words


def test_a_changed_or_shortened_file_is_refused_where_reading_goes_on(tmp_path):
    path = written(tmp_path, "y,a\n" + "1,2\n" * 50)
    place = parts_of(path, block_bytes=16)[4].after
    path.write_text("y,a\n1,3\n" + "1,2\n" * 49)
    with pytest.raises(InputChangedError) as error:
        parts_of(path, block_bytes=16, place=place)
    assert str(error.value) == f"{path}: the first {place.offset} bytes are not those read before"
    path.write_text("y,a\n1,2\n")
    with pytest.raises(InputChangedError, match="ends before the position to resume from"):
        parts_of(path, block_bytes=16, place=place)
    path.write_text("y,a\n" + "1,22\n" * 50)
    with pytest.raises(InputChangedError, match="not those read before"):
        parts_of(path, block_bytes=16, place=place)


def test_standard_input_is_taken_up_again_though_its_header_has_passed(monkeypatch, tmp_path):
    content = b"y,a\n" + b"".join(b"%d,%d\n" % (i % 2, i) for i in range(40))
    parts = parts_of(written(tmp_path, content), block_bytes=32)

    class Pipe:
        def __init__(self):
            self.buffer = io.BufferedReader(io.BytesIO(content))

    monkeypatch.setattr(sys, "stdin", Pipe())
    rest = list(CsvReader().batches(ByteSource("-", 32), parts[2].after, BadRows()))
    assert [part.rows for part in rest] == [part.rows for part in parts[3:]]


MEMORY = """
import sys
from opauc.data.bad_rows import BadRows
from opauc.data.sources import ByteSource
from opauc.data.formats.csv.reader import CsvReader
from opauc.core.batch import BEGINNING
from opauc.data.encode.onehot import OneHotEncoder
encoder = OneHotEncoder()
peaks = []
for path in sys.argv[1:]:
    for part in CsvReader().batches(ByteSource(path), BEGINNING, BadRows()):
        encoder.encode(part, path, BadRows())
    with open("/proc/self/status") as status:
        peaks.append(next(row.split()[1] for row in status if row.startswith("VmHWM")))
print(*peaks)
"""


def test_memory_does_not_grow_with_the_text(tmp_path):
    row = b"1,0.25,-17.5,3e-5,100\n"
    header = b"y,a,b,c,d\n"
    paths = [str(written(tmp_path, header + row * n, f"{n}.csv")) for n in (1_500_000, 5_000_000)]
    done = subprocess.run([sys.executable, "-c", MEMORY, paths[0], *paths], capture_output=True, text=True, check=True)
    _, small, large = map(int, done.stdout.split())  # the first reading warms up
    assert large - small < 20_000  # KiB; the texts differ by 73,000


def test_whole_numbers_that_float64_would_merge_are_labels_as_strings(tmp_path):
    path = written(tmp_path, "a,y\n1,9007199254740992\n2,9007199254740993\n")
    [part] = parts_of(path)
    assert part.rows.column("y").to_pylist() == ["9007199254740992", "9007199254740993"]
    path = written(tmp_path, "a,y\n1,0\n2,9007199254740992\n3,1e300\n")
    [part] = parts_of(path)
    assert part.rows.column("y").to_pylist() == [0.0, 2.0**53, 1e300]


@pytest.mark.parametrize("header", ["a;y\n", ""])
@pytest.mark.parametrize("before", ["", "\n" * 5000, "\r\n" * 2500])
@pytest.mark.parametrize("between", ["", "\n" * 5000])
def test_blank_lines_count_as_lines_and_change_nothing_else(tmp_path, header, before, between):
    path = written(tmp_path, f"{before}{header}{between}1;2\n\n3;4\n")
    reader = CsvReader(TableColumns(label=1), header=bool(header))
    parts = parts_of(path, reader, block_bytes=1024)
    first = before.count("\n") + bool(header) + between.count("\n") + 1
    assert [line for part in parts for line in lines_of(part)] == [first, first + 2]
    names = ["a", "y"] if header else ["0", "1"]
    assert columns_of(parts) == {names[0]: [1.0, 3.0], names[1]: [2.0, 4.0]}
    for at, part in enumerate(parts):
        rest = parts_of(path, reader, block_bytes=1024, place=part.after)
        assert [again.after for again in rest] == [wanted.after for wanted in parts[at + 1 :]]


BLANK = """
import resource, sys, time
from opauc.data.bad_rows import BadRows
from opauc.data.sources import ByteSource
from opauc.data.formats.csv.reader import CsvReader
from opauc.core.batch import BEGINNING
parts = lambda path: sum(part.rows.num_rows for part in CsvReader().batches(ByteSource(path), BEGINNING, BadRows()))
parts(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert parts(sys.argv[2]) == 1
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("text", ["{}a,y\n1,2\n", "a,y\n{}1,2\n", "a,y\n1,2\n{}"])
def test_blank_lines_are_not_kept(tmp_path, text):
    few = written(tmp_path, text.format("\n" * 2**23), "few.csv")
    many = written(tmp_path, text.format("\n" * 2**26), "many.csv")
    done = subprocess.run([sys.executable, "-c", BLANK, few, many], capture_output=True, check=True)
    # 64 MB of them, held at once, would show
    assert int(done.stdout) < 32
