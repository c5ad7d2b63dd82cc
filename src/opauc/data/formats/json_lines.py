"""JSON lines: one object per line, whose keys are the columns of a table."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from opauc.core.batch import BEGINNING, Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.columns import ResolvedColumns, TableColumns
from opauc.data.encode.encoder import ColumnRequest
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import STANDARD_INPUT, Block, ByteSource, text_byte_ranges
from opauc.errors import InputError, MalformedRowError, unknown_name

NESTED: set[type] = {list, dict}
ARROW_TYPES: dict[frozenset[type], pa.DataType] = {
    frozenset[type](): pa.null(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
}


@dataclass(frozen=True)
class JsonLinesReader:
    """Rows of JSON lines, a block at a time.

    The keys of the first block are the columns; a key that a row lacks is a
    missing value there, and a key that comes later is an error of its row. A
    column is of booleans, integers or floats where all its values in the block
    are, else of strings. Lists and objects are no values.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical; other columns are not read.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.core.batch import BEGINNING
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.formats.json_lines import JsonLinesReader
    >>> from opauc.data.sources import ByteSource
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b'{"age": 30, "y": "no"}\\n{"y": "yes", "age": 2.5}\\n{"y": "no"}\\n'), file.flush()
    ...     [batch] = JsonLinesReader().batches(ByteSource(file.name), BEGINNING, BadRows())
    >>> batch.rows.to_pydict()
    {'age': [30.0, 2.5, None], 'y': ['no', 'yes', 'no']}
    """

    columns: TableColumns = field(default_factory=TableColumns)

    def batches(self, source: ByteSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:
        """Yield the rows of each block of `source` from `position` on."""
        names: dict[str, None] | None = None
        resolved: ResolvedColumns | None = None
        if position.offset or (source.byte_range is not None and source.byte_range.begin):
            names = _first_names(source)
        before = position
        for block in source.blocks(position):
            records, lines, n_lines = _parse(block, before.line, source.name, bad_rows)
            after = Position(block.end, before.line + n_lines, block.sha256)
            if names is None and records:
                names = _keys(records)
            if names is not None:
                resolved = resolved or self.columns.resolve(list(names), source.path)
                used = [list(names)[at] for at in resolved.roles.used()]
                kept = [
                    (record, line)
                    for record, line in zip(records, lines, strict=True)
                    if _check(record, names, used, source.name, line, bad_rows)
                ]
                columns = [_column([record.get(name) for record, _ in kept]) for name in used]
                rows = pa.RecordBatch.from_arrays(columns, names=used)
                at = np.array([line for _, line in kept], np.int64)
                yield RawBatch(rows, None, at, before, after, resolved.by_name, typed=True)
            before = after
        if names is None:
            raise InputError(f"{source.name}: there is nothing in it")


def _parse(block: Block, line: int, source: str, bad_rows: BadRows) -> tuple[list[dict[str, Any]], list[int], int]:
    """Return the objects of a block after `line` lines, the line of each, and how many lines the block has."""
    text = block.data.tobytes()
    texts = (text if block.begin else text.removeprefix(BOM_UTF8)).split(b"\n")
    records, lines = list[dict[str, Any]](), list[int]()
    for number, one in enumerate(texts, line + 1):
        if not one.strip():
            continue
        try:
            record = json.loads(one.decode())
        except json.JSONDecodeError as error:
            bad_rows.handle(MalformedRowError(source, number, f"not JSON: {error.msg}"))
            continue
        except (ValueError, RecursionError) as error:
            what = "not in UTF-8" if isinstance(error, UnicodeDecodeError) else "too deep, or with too long a number"
            bad_rows.handle(MalformedRowError(source, number, f"{what}, and cannot be read"))
            continue
        if isinstance(record, dict):
            records.append(record)
            lines.append(number)
        else:
            bad_rows.handle(MalformedRowError(source, number, f"expected an object, got {show_value(record)}"))
    return records, lines, len(texts) - (not texts[-1])


def _first_names(source: ByteSource) -> dict[str, None] | None:
    """Return the keys of the first block of the source that has any."""
    if source.path == STANDARD_INPUT:
        raise InputError("standard input: its first block is gone")
    for block in ByteSource(source.path, source.block_bytes).blocks(BEGINNING):
        if names := _keys(_parse(block, 0, source.name, BadRows("skip"))[0]):
            return names
    return None


def _keys(records: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    return dict.fromkeys(key for record in records for key in record)


def _check(
    record: dict[str, Any], names: dict[str, None], used: Sequence[str], source: str, line: int, bad_rows: BadRows
) -> bool:
    """Tell whether a row has only known keys, and values where they are used; raise or skip it otherwise."""
    if not record.keys() <= names.keys():
        new = next(key for key in record if key not in names)
        bad_rows.handle(MalformedRowError(source, line, unknown_name("key", new, names)))
        return False
    for name in () if NESTED.isdisjoint(map(type, record.values())) else used:
        if type(value := record.get(name)) in NESTED:
            reason = f"expected a number, a string or a boolean, got {show_value(value)}"
            bad_rows.handle(MalformedRowError(source, line, reason, column=name))
            return False
    return True


def _column(values: Sequence[Any]) -> pa.Array:
    """Return the values of a key: booleans, integers or floats where all are, else strings."""
    kinds = frozenset(map(type, values)) - {type(None)}
    if (kind := ARROW_TYPES.get(kinds)) is not None:
        with suppress(pa.ArrowInvalid, OverflowError):  # an integer that the type cannot hold exactly
            return pa.array(values, kind)
    return pa.array([_as_text(value) for value in values], pa.string())


def _as_text(value: object) -> str | None:
    """Return a value as a string: a number or a boolean as JSON writes it, a lone surrogate as its escape."""
    if value is None or isinstance(value, str):
        return value if value is None else value.encode("utf-8", "backslashreplace").decode()
    return json.dumps(value)


def show_value(value: object) -> str:
    """Return a JSON value as a message shows it.

    >>> from opauc.data.formats.json_lines import show_value
    >>> show_value([1, 2]), show_value({"a": 1}), show_value(3)
    ('a list', 'an object', '3')
    """
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else json.dumps(value)[:40]


def _reader(_: ReadOptions, request: ColumnRequest) -> Reader:
    return JsonLinesReader(request.pinned_columns)


JSON_LINES = DataFormat(
    "jsonl",
    (".jsonl", ".ndjson"),
    _reader,
    is_text=True,
    likeness=lambda line: 3 * line.lstrip().startswith(b'{"'),
    byte_ranges=text_byte_ranges,
)
