"""Broken LIBSVM text is read as scikit-learn reads it or refused, line by line.

`python -m tests.data.test_libsvm_fuzz 100000 [SEED]` tries that many texts.
"""

import io
import random
import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.formats.libsvm import LibsvmReader
from opauc.data.sources import Block
from opauc.errors import MalformedRowError

NUMBERS = [
    "0", "1", "-1", "+1", "-0", "1.", ".5", "-.25", "1e-3", "2E5", "0.1234567", "0.30000000000000004", "1e22", "1e23",
    "9007199254740993", "9007199254740992.5", "4503599627370497.5", "18446744073709551616", "1e400", "-1e-400",
    "5e-324", "1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072011e-308", "0." + "0" * 30 + "1" * 30,
    "123456789" * 5, "0.1" + "0" * 40 + "1", "1" + "0" * 25 + "e-25", "00000000000000000000000000001", "1e00000000005",
]  # fmt: skip
SPLICES = [word.encode() for word in NUMBERS] + [
    b"nan", b"inf", b"-Infinity", b"NaN", b"1_0", b"0x1p3", b"1d5", b"e", b"e+", b".", b"-", b"+", b"--1", b"+-1",
    b"1,2", b":", b"::", b" :", b": ", b"#", b" # ", b"qid:1", b"qid:", b"qid", b" qid:3 ", b"q", b" ", b"\t",
    b"\x0b", b"\x0c", b"\r", b"\r\n", b"\n", b"\n\n", b"\0", b"\xff", b"\xc2\xa0", "١".encode(), b"\xef\xbb\xbf",
    b"2147483646:1", b"2147483647:1", b"2147483648:1", b"4294967297:1", b"18446744073709551617:1", b"0:1", b"-1:1",
    b"+3:1", b"003:1", b"1:1 1:1", b"9:1 3:1", b"a=b:1", b"\x1c", b"\x85", b"'", b'"', b"\\", b"1e5:1", b"1.0:1",
    b"9" * 400,
]  # fmt: skip


class Text:
    """A source of one text, cut into blocks after some of its lines."""

    path = name = "text"

    def __init__(self, lines, rng):
        cuts = sorted(rng.sample(range(1, len(lines)), rng.randrange(min(3, len(lines))))) if len(lines) > 1 else []
        self.pieces = [b"".join(lines[i:j]) for i, j in zip([0, *cuts], [*cuts, len(lines)], strict=True)]

    def blocks(self, place=BEGINNING):
        begin = place.offset
        for piece in self.pieces:
            yield Block(np.frombuffer(piece, np.uint8), begin, "")
            begin += len(piece)


class Refused(BadRows):
    """Skips bad rows and keeps them all."""

    def __init__(self):
        super().__init__("skip")
        self.rows = []

    def handle(self, row):
        assert isinstance(row, MalformedRowError)
        assert str(row).startswith(f"text, line {row.line}: ")
        self.rows.append(row)


def valid_text(rng):
    lines = []
    for _ in range(rng.randrange(1, 6)):
        indices = sorted(rng.sample(range(1, 40), rng.randrange(6)))
        words = [rng.choice(["1", "-1", "+1", "0", "2.5"]), *(["qid:7"] if rng.random() < 0.1 else [])]
        words += [f"{index}:{rng.choice(NUMBERS[:16])}" for index in indices]
        end = rng.choice(["\n", "\n", "\n", "\r\n", " \n", " # so\n", "\n\n"])
        lines.append(" ".join(words) + end)
    return bytearray("".join(lines).encode())


def mutate(text, rng):
    at, other = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    near = min(at + rng.randrange(1, 6), len(text))
    kind = rng.randrange(8)
    if kind == 0 and at < len(text):
        text[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        text[at:at] = bytes([rng.randrange(256)])
    elif kind == 2:
        del text[at:near]
    elif kind == 3:
        text[at:at] = text[at:other]
    elif kind == 4:
        del text[at:]
    elif kind == 5:
        text[at:near] = rng.choice(SPLICES)
    elif kind == 6:
        text[at:at] = rng.choice(SPLICES)
    else:
        text[at:near] = text[other : other + near - at]


def mutated_text(rng):
    text = valid_text(rng)
    for _ in range(rng.randrange(1, 5)):
        mutate(text, rng)
    return bytes(text)


def as_scikit_learn_reads(text):
    """Data, columns, row ends and labels, or None where scikit-learn refuses."""
    try:
        rows, labels = load_svmlight_file(io.BytesIO(text), zero_based=False)
    except (ValueError, OverflowError):
        return None
    return rows.data, rows.indices, rows.indptr, labels


def refused_on_purpose(line, read):
    """Whether a line that scikit-learn takes is one of those that are refused all the same."""
    data, _, _, labels = read
    words = line.partition(b"#")[0].split()
    query = len(words) > 1 and words[1].startswith(b"qid")
    return not (np.isfinite(data).all() and np.isfinite(labels).all()) or b"_" in line or query


def check(text, rng, tally):
    """Raise unless each line of the text is read as scikit-learn reads it, or refused for a reason."""
    lines = split_lines(text)
    refused = Refused()
    parts = list(LibsvmReader().batches(Text(lines, rng), BEGINNING, refused)) if lines else []
    bad = {row.line for row in refused.rows}
    assert len(bad) == len(refused.rows)
    assert all(1 <= line <= len(lines) for line in bad)
    kept = as_scikit_learn_reads(b"".join(line for number, line in enumerate(lines, 1) if number not in bad))
    assert kept is not None, "a row that scikit-learn refuses was taken"
    data, columns, ends, labels = kept
    assert np.concatenate([np.empty(0), *(p.rows.data for p in parts)]).tobytes() == data.tobytes()
    assert np.concatenate([np.empty(0, int), *(p.rows.indices for p in parts)]).tolist() == columns.tolist()
    lengths = np.concatenate([np.empty(0, int), *(np.diff(p.rows.indptr) for p in parts)])
    assert lengths.tolist() == np.diff(ends).tolist()
    assert np.concatenate([np.empty(0), *(p.labels for p in parts)]).tobytes() == labels.tobytes()
    assert not parts or parts[-1].after.line == len(lines)
    for number in bad:
        read = as_scikit_learn_reads(lines[number - 1])
        assert read is None or refused_on_purpose(lines[number - 1], read), f"line {number} was refused"
    tally.update(texts=1, untouched=not bad, rows=labels.size, refused=len(bad))


def split_lines(text):
    lines = [line + b"\n" for line in text.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def run(count, seed):
    """Check `count` mutated texts, each made from a seed of its own."""
    tally = Counter()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        text = mutated_text(rng)
        try:
            check(text, rng, tally)
        except BaseException as error:
            error.add_note(f"seed {seed}, text number {number}: {text!r}")
            raise
    return tally


@pytest.mark.parametrize("seed", range(3))
def test_mutated_text_is_read_as_scikit_learn_reads_it_or_refused_with_its_line(seed):
    tally = run(1000, seed)
    assert tally["texts"] == 1000
    # the texts are neither all fine nor all broken
    assert tally["untouched"] > 100
    assert tally["refused"] > 300
    assert tally["rows"] > 1000


if __name__ == "__main__":
    print(dict(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
