# ruff: noqa: PT017
"""Mutated text is read as Python's csv module reads it, or refused with file and line.

What a field says as a number is written out here once more, from the tables of docs/reference/command-line.md.

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
from opauc.data.sources import ByteSource
from opauc.errors import InputError, MalformedRowError

MISSING = {"", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "NaN", "nan", "NaT", "null", "Null", "NULL", "(null)", "None",
           "none", "?", "-", "--", ".", "\\N"}  # fmt: skip
MONEY = "$€£¥₹"
MARKS = [b",", b";", b"\t", b"\n", b"\r", b"\r\n", b'"', b'""', b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b" ", b"e",
         b"-", b"+", b".", b"_", b"9" * 30, b"1e999", b"nan", b"inf", b"\n\n", b'"\n', b"NA", b"?"]  # fmt: skip
SEEDS = [
    b"label,size,color\n1,2.5,red\n0,-1e-3,blue\n1,,green\n0,7,red\n1,1e22,\n",
    b'label,size,color\r\nyes,1.5,"a, b"\r\nno,"2","say ""hi"""\r\nyes,NA,"two\r\nlines"\r\n',
    b'label,size,color\n\n1,4,"\n\n"\n\n0,5,x\n1,6,"y"z\n0, 7 ,\xc3\xa9\n',
    b"label,size,color\r1,1,a\r0,2,b\r",
    b'label,size,color\n1,"$1,200.50",a\n0,(3.5),b\n1,45%,c\n0,2:30 pm,d\n1,"1,999",e\n0,TRUE,f\n',
    b'label,size,color\n1,"0,123",a\n0,"1.200,5",b\n1,"-7,25",c\n0,3,d\n1,"1,999",e\n0,12 kg,f\n',
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


def amount(text, decimal):
    """The number that digits say, with a sign, thousands separators, money or percent around them, else None."""
    sign, body = 1.0, text
    if body.startswith("(") and body.endswith(")"):  # accountants write negative amounts so, without another sign
        if re.search(r"[()+-]", body[1:-1]):
            return None
        sign, body = -1.0, body[1:-1]
    before = re.match(rf"[{MONEY}] ?[+-]|[+-]?[{MONEY}] ?|[+-]?", body)[0]
    sign *= -1.0 if "-" in before else 1.0
    body = re.sub(rf" ?[%{MONEY}]\Z", "", body[len(before) :])
    mantissa, e, exponent = body.partition("e") if "e" in body else body.partition("E")
    if e and not re.fullmatch(r"[+-]?\d+", exponent):
        return None
    whole, _, fraction = mantissa.partition(decimal)
    if fraction and not fraction.isdecimal():
        return None
    for thousands in ("." if decimal == "," else ",", "'", "’", "\xa0", "\u202f"):
        first, *groups = whole.split(thousands)
        if groups:  # the first of one to three digits and no zero in front, then three digits each
            if not (0 < len(first) <= 3 and first[0] != "0" and all(len(group) == 3 for group in groups)):
                return None
            whole = first + "".join(groups)
    if (whole and not whole.isdecimal()) or not (whole or fraction):
        return None
    return sign * float(f"{whole or 0}.{fraction or 0}e{exponent or 0}")


def hours(text):
    """The hours that a clock or a duration says, else None."""
    parts = re.fullmatch(r"(?:([+-]?\d+) days?,? \+?)?(\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?( ?[ap]\.?m\.?)?", text, re.I)
    if parts is None or int(parts[3]) >= 60 or float(parts[4] or 0) >= 60:
        return None
    hour = int(parts[2])
    if parts[5]:
        hour = hour % 12 + (12 if "p" in parts[5].lower() else 0)
    return 24 * int(parts[1] or 0) + hour + int(parts[3]) / 60 + float(parts[4] or 0) / 3600


def unit(field):
    """The unit after the last digit of a field, in lower case and without the s of a plural, "" where there is none."""
    found = re.fullmatch(r"[^A-Za-zµ°]*\d[.,]? ?([A-Za-zµ°]{1,13}?)(s?)\.?", word(field).strip(), re.I)
    return found[1].lower() if found and len(found[1]) <= 12 else ""


def number(field, number_format="."):
    """The number of a field in a format, nan where it is missing, None where it is neither."""
    text, decimal, of_column = word(field).strip(), number_format[0], number_format[1:]
    if text in MISSING or re.fullmatch(r"[+-]?nan(\([A-Za-z0-9_]*\))?", text, re.IGNORECASE):
        return math.nan
    if of_column and unit(field) == of_column:
        text = re.sub(rf"{of_column}s?\.?$", "", text, flags=re.I).rstrip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if re.fullmatch(r"[+-]?inf(inity)?", text, re.I):
        return float(text)
    says = [hours(text), amount(text, decimal), amount(text, ".")]
    return next((value for value in says if value is not None), None)


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
    units = {unit(field) for _, fields in records for field in fields}
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


@pytest.mark.filterwarnings("ignore:.*not in UTF-8", "ignore:.*decimal separator is not certain")
def test_mutated_text_is_read_as_by_the_csv_module_or_refused(tmp_path):
    outcomes = run(1000, tmp_path)
    assert min(outcomes.values()) > 50  # each way is taken


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(run(int(sys.argv[1]), place, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1))
