import io
import itertools
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from opauc.core.batch import BEGINNING
from opauc.data import ReadOptions
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.formats.arrow import ArrowReader
from opauc.data.open_stream import open_stream
from opauc.data.sources import ByteSource
from opauc.errors import InputChangedError, InputError

ROWS = 1000


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr("opauc.data.tables.BATCH_ROWS", 64)


def table(n_rows=ROWS, seed=0):
    random = np.random.default_rng(seed)
    holes = random.random(n_rows) < 0.1
    return pa.table({
        "note": [f"row {i}" for i in range(n_rows)],
        "x": pa.array(random.normal(size=n_rows).astype(np.float32), mask=holes),
        "color": pa.array(random.choice(["red", "green"], n_rows)).dictionary_encode(),
        "flag": random.random(n_rows) < 0.5,
        "y": pa.array(random.integers(0, 2, n_rows), pa.int8()),
        "n": pa.array(random.integers(0, 9, n_rows), pa.int32()),
    })  # fmt: skip


def write_parquet(data, path):
    parquet.write_table(data, path, row_group_size=150)


def write_file(data, path):
    with ipc.new_file(path, data.schema) as file:
        file.write_table(data, max_chunksize=150)


def write_stream(data, path):
    with ipc.new_stream(path, data.schema) as file:
        file.write_table(data, max_chunksize=150)


def write_feather(data, path):
    feather.write_feather(data, str(path), compression="zstd", chunksize=150)


WRITERS = {"parquet": write_parquet, "file": write_file, "stream": write_stream, "feather": write_feather}
COLUMNS = TableColumns(features=["x", "n", "flag"], categorical=["color"])
WANTED = ["x", "color", "flag", "y", "n"]


def parts_of(path, place=BEGINNING, columns=COLUMNS):
    return list(ArrowReader(columns).batches(ByteSource(str(path)), place, BadRows()))


@pytest.mark.parametrize("kind", WRITERS)
def test_batches_hold_the_columns_asked_for_in_order(tmp_path, kind):
    path = tmp_path / "no-ending"
    WRITERS[kind](table(), path)
    parts = parts_of(path)
    assert [part.rows.num_rows for part in parts] == [64] * 15 + [40]  # whatever the row groups
    found = pa.Table.from_batches([part.rows for part in parts])
    assert found.column_names == WANTED
    assert found.to_pydict() == table().select(WANTED).to_pydict()
    assert [part.after.line for part in parts] == np.cumsum([part.rows.num_rows for part in parts]).tolist()
    assert all(left.after == right.before for left, right in itertools.pairwise(parts))


@pytest.mark.parametrize("kind", WRITERS)
def test_reading_goes_on_from_every_part_with_the_parts_that_followed(tmp_path, kind):
    path = tmp_path / "data"
    WRITERS[kind](table(), path)
    parts = parts_of(path)
    for number, part in enumerate(parts):
        rest = parts_of(path, part.after)
        assert [(p.before, p.after) for p in rest] == [(p.before, p.after) for p in parts[number + 1 :]]
        assert all(p.rows.equals(q.rows) for p, q in zip(rest, parts[number + 1 :], strict=True))


def test_row_groups_that_were_read_are_not_read_again(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    write_parquet(table(), path)
    groups = []
    plain = parquet.ParquetFile.iter_batches

    def noted(self, batch_size, row_groups, *rest, **options):
        groups.extend(row_groups)
        return plain(self, batch_size, row_groups, *rest, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noted)
    parts = parts_of(path)
    assert groups == list(range(7))
    groups.clear()
    parts_of(path, parts[5].after)  # within the third group
    assert groups == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", WRITERS)
def test_tables_encode_to_the_numbers_in_them(tmp_path, kind):
    path = tmp_path / "data"
    WRITERS[kind](table(), path)
    encoder = OneHotEncoder(COLUMNS, missing="zero")
    encoded = [encoder.encode(part, str(path), BadRows()) for part in parts_of(path)]
    whole = table().to_pandas()
    names = encoder.feature_names()
    assert names[:3] == ["x", "n", "flag"]
    assert sorted(names[3:]) == ["color=green", "color=red"]
    rows = np.concatenate([np.pad(r.toarray(), ((0, 0), (0, len(names) - r.shape[1]))) for r, *_ in encoded])
    np.testing.assert_array_equal(rows[:, 0], whole["x"].fillna(0))
    np.testing.assert_array_equal(rows[:, 1:3], whole[["n", "flag"]])
    for j in (3, 4):
        np.testing.assert_array_equal(rows[:, j], whole["color"] == names[j].removeprefix("color="))
    np.testing.assert_array_equal(np.concatenate([labels for _, labels, *_ in encoded]), whole["y"])


@pytest.mark.parametrize("kind", WRITERS)
def test_another_file_in_its_place_is_refused(tmp_path, kind):
    path = tmp_path / "data"
    WRITERS[kind](table(), path)
    place = parts_of(path)[3].after
    WRITERS[kind](table(ROWS + 1, seed=1), path)
    with pytest.raises(InputChangedError) as error:
        parts_of(path, place)
    assert str(error.value) == f"{path}: is not the file whose first {place.offset} rows were read before"


def test_other_numbers_in_a_parquet_file_show_in_its_footer(tmp_path):
    path = tmp_path / "data.parquet"
    data = pa.table({"x": np.arange(200.0), "y": [0, 1] * 100})
    parquet.write_table(data, path, compression="none", use_dictionary=False)
    place, size = parts_of(path, columns=TableColumns())[0].after, path.stat().st_size
    parquet.write_table(data.set_column(0, "x", [np.arange(200.0) + 1]), path, compression="none", use_dictionary=False)
    assert path.stat().st_size == size
    with pytest.raises(InputChangedError):
        parts_of(path, place, TableColumns())


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, kind):
    path = tmp_path / "data"
    WRITERS[kind](table(), path)
    parts = ArrowReader(COLUMNS).batches(ByteSource(str(path)), BEGINNING, BadRows())
    next(parts)
    with open(path, "ab") as file:
        file.write(b"more")
    with pytest.raises(InputChangedError, match="the file changed while it was read"):
        list(parts)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is neither a Parquet nor an Arrow file"),
        (b"y,a\n1,2\n", "is neither a Parquet nor an Arrow file"),
        (b"FEA1 old", "is a Feather file of version 1, which is no longer read; write it again"),
        (b"PAR1PAR1", "Parquet file size is 8 bytes"),
        (b"PAR1" + b"\xff" * 100, "Parquet magic bytes not found"),
        (b"ARROW1\0\0", "File is too small"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path, content, reason):
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        parts_of(path)
    assert str(error.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", WRITERS)
def test_broken_files_are_refused_or_read_but_never_crash(tmp_path, kind):
    path = tmp_path / "data"
    WRITERS[kind](table(300), path)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        broken = bytearray(whole)
        for at in random.integers(0, len(broken), 8):
            broken[at] = random.integers(256)
        path.write_bytes(broken[: random.integers(len(broken) // 2, len(broken) + 1)])
        try:
            parts_of(path)
        except InputError as error:
            refused += 1
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
    assert refused > 30


def test_columns_that_are_not_there_are_named(tmp_path):
    path = tmp_path / "data.parquet"
    write_parquet(table(), path)
    with pytest.raises(InputError) as error:
        parts_of(path, columns=TableColumns(features=["x", "z"]))
    assert str(error.value) == f"{path}: no column z; there are note, x, color, flag, y, n"


def test_standard_input_and_files_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match="standard input: tables of Arrow and Parquet are read from files"):
        parts_of("-")
    with pytest.raises(InputError, match="No such file"):
        parts_of(tmp_path / "none.parquet")


MEMORY = """
import sys
from opauc.data.formats.arrow import ArrowReader
from opauc.data.bad_rows import BadRows
from opauc.data.sources import ByteSource
from opauc.core.batch import BEGINNING
from opauc.data.encode.onehot import OneHotEncoder
encoder = OneHotEncoder()
peaks = []
for path in sys.argv[1:]:
    for part in ArrowReader().batches(ByteSource(path), BEGINNING, BadRows()):
        encoder.encode(part, path, BadRows())
    with open("/proc/self/status") as status:
        peaks.append(next(row.split()[1] for row in status if row.startswith("VmHWM")))
print(*peaks)
"""


def test_memory_grows_neither_with_the_file_nor_with_its_row_groups(tmp_path):
    random = np.random.default_rng(0)
    paths = []
    for n_rows in (600_000, 2_400_000):
        data = {f"x{j}": random.normal(size=n_rows).astype(np.float32) for j in range(16)}
        paths.append(str(tmp_path / f"{n_rows}.parquet"))
        parquet.write_table(pa.table({**data, "y": np.zeros(n_rows, np.int8)}), paths[-1], row_group_size=n_rows)
    done = subprocess.run([sys.executable, "-c", MEMORY, paths[0], *paths], capture_output=True, text=True, check=True)
    _, small, large = map(int, done.stdout.split())  # the first reading warms up
    assert large - small < 40_000  # KiB; the files differ by 115,000


def test_a_table_without_rows_gives_none(tmp_path):
    schema = pa.schema({"a": pa.float64(), "y": pa.int64()})
    parquet.write_table(schema.empty_table(), tmp_path / "none.parquet")
    with parquet.ParquetWriter(tmp_path / "empty.parquet", schema) as file:
        file.write_table(schema.empty_table())
    assert list(open_stream([tmp_path / "none.parquet", tmp_path / "empty.parquet"]).batches()) == []
    with parquet.ParquetWriter(tmp_path / "some.parquet", schema) as file:
        for rows in ([], [1.0], []):
            file.write_table(pa.table({"a": rows, "y": [1] * len(rows)}, schema=schema))
    [chunk] = open_stream([tmp_path / "none.parquet", tmp_path / "some.parquet"]).batches()
    assert chunk.rows.tolist() == [[1.0]]


def interval_stream(unit):
    """A stream whose column a holds intervals, of a unit of which pyarrow makes no arrays unless it is the last."""
    batch = pa.record_batch({"a": pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "b": [1.0], "y": [1]})
    sink = io.BytesIO()
    with ipc.new_stream(sink, batch.schema) as stream:
        stream.write(batch)
    content, kind = sink.getvalue(), ("month_interval", "day_time_interval", "month_day_nano_interval")[unit]
    for place in [place for place, byte in enumerate(content) if byte == 2]:  # one of them is the unit
        changed = content[:place] + bytes([unit]) + content[place + 1 :]
        try:
            found = str(ipc.open_stream(changed).schema.field(0).type)
        except (pa.ArrowException, OSError, IndexError):
            continue
        if found == kind:
            return changed, kind
    raise AssertionError(kind)


@pytest.mark.parametrize("unit", [0, 1, 2])
def test_intervals_are_refused_by_name_and_can_be_left_out(tmp_path, unit):
    content, kind = interval_stream(unit)
    (tmp_path / "t.arrow").write_bytes(content)
    for options, message in [
        (ReadOptions(), f"column a holds {kind}, which is no number; turn it into one or leave it out"),
        (ReadOptions(categorical=("a",)), f"column a holds {kind}, which cannot be categories"),
        (ReadOptions(label="a"), f"the label, column a, holds {kind}, which is neither numbers nor strings"),
    ]:
        with pytest.raises(InputError, match=message):
            list(open_stream([tmp_path / "t.arrow"], options).batches())
    [chunk] = open_stream([tmp_path / "t.arrow"], ReadOptions(features=("b",))).batches()
    assert chunk.rows.tolist() == [[1.0]]
