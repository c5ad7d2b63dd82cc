# ruff: noqa: PT017
"""Mutated text is read as Python's csv module reads it, or refused with file and line.

As a script, `python -m tests.data.test_csv_fuzz 50000`, it tries as many inputs as it is told to.
"""

import csv
import io
import math
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.reader import CsvReader
from opauc.data.schema.numbers import MISSING_MARKERS, is_missing, parse_number, unit_of
from opauc.data.sources import ByteSource
from opauc.errors import InputError, MalformedRowError

MISSING = set(MISSING_MARKERS)
MARKS = [b",", b";", b"\t", b"\n", b"\r", b"\r\n", b'"', b'""', b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b" ", b"e",
         b"-", b"+", b".", b"_", b"9" * 30, b"1e999", b"nan", b"inf", b"\n\n", b'"\n', b"NA", b"?"]  # fmt: skip
SEEDS = [
    b"label,size,color\n1,2.5,red\n0,-1e-3,blue\n1,,green\n0,7,red\n1,1e22,\n",
    b'label,size,color\r\nyes,1.5,"a, b"\r\nno,"2","say ""hi"""\r\nyes,NA,"two\r\nlines"\r\n',
    b'label,size,color\n\n1,4,"\n\n"\n\n0,5,x\n1,6,"y"z\n0, 7 ,\xc3\xa9\n',
    b"label,size,color\r1,1,a\r0,2,b\r",
]
COLUMNS = TableColumns(label="label", features=["size"], categorical=["color"])


def reference(content):
    """Line and fields of every record, as bytes in latin-1, by Python's csv module."""
    # A file may be longer than what csv takes for a field by default.
    csv.field_size_limit(2**30)
    reader = csv.reader(io.StringIO(content.removeprefix(b"\xef\xbb\xbf").decode("latin-1"), newline=""))
    records, line = [], 1
    for fields in reader:
        if fields:
            records.append((line, fields))
        line = reader.line_num + 1
    return records


def plain_number(field):
    """The number of a field as programs write it, nan where it is missing, None where it has another format."""
    field = field.strip(" \t")
    if field in MISSING or re.fullmatch(r"[+-]?nan(\([A-Za-z0-9_]*\))?", field, re.IGNORECASE):
        return math.nan
    if not field.isascii() or "_" in field or field != field.strip():
        return None
    try:
        return float(field)
    except ValueError:
        return None


def number(field, number_format="."):
    """The number of a field in a format, nan where it is missing, None where it is neither."""
    if number_format == "." and (plain := plain_number(field)) is not None:
        return plain
    text = word(field)
    value = parse_number(text, number_format)
    return None if math.isnan(value) and not is_missing(text) else value


def exact_number(field):
    """The number of a field, None where it is an integer that is not exact in float64."""
    integer = re.fullmatch(r"[+-]?([0-9]+)", field.strip(" \t"))
    return None if integer and int(integer[1]) > 2**53 else number(field)


def word(field):
    """The words of a field: in UTF-8, else in Windows-1252, and what even that lacks replaced."""
    text = field.encode("latin-1")
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("cp1252", "replace")


def parts_of(path, policy, block_bytes, place=BEGINNING):
    bad = BadRows(policy)
    reader = CsvReader(COLUMNS, delimiter=",", header=True)
    return list(reader.batches(ByteSource(str(path), block_bytes), place, bad)), bad


def rows_of(parts):
    rows = []
    for part in parts:
        lines = part.lines
        if lines is None:
            lines = part.before.line + 1 + np.arange(part.rows.num_rows)
        table = part.rows.to_pydict()
        rows += list(zip(lines.tolist(), table["label"], table["size"], table["color"], strict=True))
    return rows


def expected_rows(header, records, label_is_number, number_format):
    """The rows that are clear, and the lines of the others."""
    clear, bad = [], []
    names = [name.strip() for name in header]
    convert = {
        "label": exact_number if label_is_number else lambda field: word(field).strip(" \t"),
        "size": lambda field: number(field, number_format),
        "color": word,
    }
    for line, fields in records:
        values = (None,)
        if len(fields) == len(names):
            values = (line, *(make(fields[names.index(name)]) for name, make in convert.items()))
        if None in values:
            bad.append(line)
        else:
            clear.append(values)
    return clear, bad


def same(found, wanted):
    def plain(value):
        return "missing" if value is None or value != value else value

    return [tuple(map(plain, row)) for row in found] == [tuple(map(plain, row)) for row in wanted]


def mutated(random):
    content = bytearray(SEEDS[random.integers(len(SEEDS))])
    first = 0 if random.integers(10) == 0 else len("label,size,color\r\n")  # a header seldom survives a change
    for _ in range(random.integers(1, 6)):
        at = int(random.integers(min(first, len(content)), len(content) + 1))
        until = min(len(content), at + int(random.integers(0, 4)))
        kind = random.integers(4)
        if kind == 0:
            content[at:until] = MARKS[random.integers(len(MARKS))]
        elif kind == 1:
            content[at:until] = bytes([random.integers(256)])
        elif kind == 2:
            del content[at:until]
        else:
            other = int(random.integers(min(first, len(content)), len(content) + 1))
            content[at:at] = content[min(at, other) : max(at, other)][:40]
    return bytes(content)


def check(content, path, block_bytes):
    """Tell what became of the content; fail if it was read otherwise than the reference reads it."""
    path.write_bytes(content)
    try:
        parts, bad = parts_of(path, "skip", block_bytes)
    except MalformedRowError as error:
        assert str(error).startswith(f"{path}, line {error.line}")
        assert "does not end" in str(error)
        return "refused"
    except InputError as error:
        assert str(error).startswith(f"{path}: ")
        return "refused"
    label_is_number = bool(parts) and str(parts[0].rows.schema.field("label").type) == "double"
    (_, header), *records = reference(content)
    # The format is inferred from the rows of the first block: one of all formats must read every block.
    units = {unit_of([word(field)]) for _, fields in records for field in fields}
    formats = [decimal + unit for unit in sorted(units | {""}) for decimal in ".,"]
    expected = [expected_rows(header, records, label_is_number, number_format) for number_format in formats]
    found = [one for one in expected if same(rows_of(parts), one[0]) and bad.total == len(one[1])]
    assert found, (content, rows_of(parts), expected[0])
    wanted, bad_lines = found[0]
    assert [int(re.search(r"line (\d+)", text).group(1)) for text in bad.first] == bad_lines[:20]
    try:
        strict, _ = parts_of(path, "error", block_bytes)
    except MalformedRowError as error:
        assert error.line == bad_lines[0]
        return "refused with its line"
    assert not bad_lines
    assert same(rows_of(strict), wanted)
    return "read"


def run(n_inputs, folder, seed=0):
    random = np.random.default_rng(seed)
    outcomes = {"read": 0, "refused": 0, "refused with its line": 0}
    path = Path(folder) / "mutated.csv"
    for _ in range(n_inputs):
        outcomes[check(mutated(random), path, int(random.choice([1, 16, 64, 4096])))] += 1
    return outcomes


@pytest.mark.filterwarnings("ignore:.*not in UTF-8")
def test_mutated_text_is_read_as_by_the_csv_module_or_refused(tmp_path):
    outcomes = run(1000, tmp_path)
    assert min(outcomes.values()) > 50  # each way is taken


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(run(int(sys.argv[1]), place, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1))
