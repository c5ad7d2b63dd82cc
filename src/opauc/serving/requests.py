"""What clients send, checked: rows, labeled rows, and how many reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Never, TypeAlias

from opauc.errors import OpaucError, unknown_name
from opauc.serving.settings import Limits

# A row: an object of columns, or an array of numbers.
Row: TypeAlias = dict[str, Any] | list[float | None]

BAD_REQUEST, TOO_LARGE, WRONG_TYPE, UNREADABLE, BUSY = 400, 413, 415, 422, 503
JSON_TYPE = "application/json"
# Characters of a message that quotes a request.
MAX_MESSAGE = 300


class RequestError(OpaucError):
    """A request that is refused, with the status of the response."""

    def __init__(self, status: int, message: str) -> None:
        text = " ".join(message.encode(errors="backslashreplace").decode().split())
        super().__init__(text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…")
        self.status = status


class SentRows(NamedTuple):
    """The rows of a request, and whether it is one row by itself, to be answered by one object."""

    rows: list[Row]
    is_single: bool


class LabeledRows(NamedTuple):
    """Rows with their labels."""

    rows: list[Row]
    labels: list[Any]


def parse_json(body: bytes) -> Any:
    """Return what a body of JSON holds; raise RequestError where it is none, NaN and infinity included.

    Examples
    --------
    >>> from opauc.serving.requests import parse_json
    >>> parse_json(b'{"age": 33}')
    {'age': 33}
    """
    try:
        return DECODER.decode(body.decode())
    except RecursionError as error:
        raise RequestError(BAD_REQUEST, "the JSON is nested too deeply") from error
    except ValueError as error:
        raise RequestError(BAD_REQUEST, f"expected JSON: {error}") from error


def parse_rows(body: bytes, limits: Limits) -> SentRows:
    """Return the rows of a body: one, or a list of them.

    Examples
    --------
    >>> from opauc.serving.requests import parse_rows
    >>> from opauc.serving.settings import Limits
    >>> parse_rows(b'[{"age": 33}, {"age": null}]', Limits())
    SentRows(rows=[{'age': 33}, {'age': None}], is_single=False)
    >>> parse_rows(b'[0.5, 7]', Limits())
    SentRows(rows=[[0.5, 7]], is_single=True)
    """
    sent = parse_json(body)
    is_single = isinstance(sent, dict) or (isinstance(sent, list) and bool(sent) and not _holds_rows(sent))
    return SentRows(_checked([sent] if is_single else sent, limits), is_single)


def parse_labeled(body: bytes, classes: Sequence[Any], limits: Limits) -> LabeledRows:
    """Return the rows and the labels of a body: one object `{"row": ..., "label": ...}`, or a list of them.

    Examples
    --------
    >>> from opauc.serving.requests import parse_labeled
    >>> from opauc.serving.settings import Limits
    >>> parse_labeled(b'{"row": {"age": 33}, "label": "yes"}', ("no", "yes"), Limits())
    LabeledRows(rows=[{'age': 33}], labels=['yes'])
    """
    sent = parse_json(body)
    items = [sent] if isinstance(sent, dict) else sent
    expected = 'expected {"row": ..., "label": ...}, or a list of such objects'
    if not isinstance(items, list):
        raise RequestError(UNREADABLE, expected)
    for number, item in enumerate(items):
        if not isinstance(item, dict) or item.keys() != {"row", "label"}:
            raise RequestError(UNREADABLE, f"row {number}: {expected}")
    rows = _checked([item["row"] for item in items], limits)
    return LabeledRows(rows, [_label(item["label"], classes, number) for number, item in enumerate(items)])


def parse_count(text: str | None) -> int | None:
    """Return the number of reasons that a query asks for, None for all.

    Examples
    --------
    >>> from opauc.serving.requests import parse_count
    >>> parse_count("3"), parse_count(None)
    (3, None)
    """
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text)):
        raise RequestError(UNREADABLE, f"k: expected a whole number from 1 to 999999, got {text!r}")
    return int(text)


def _holds_rows(sent: list[Any]) -> bool:
    return any(isinstance(item, dict | list) for item in sent)


def _checked(rows: Any, limits: Limits) -> list[Row]:
    """Return rows, all of one kind: objects of plain values, or arrays of numbers."""
    if not isinstance(rows, list) or not rows:
        raise RequestError(UNREADABLE, "expected a row, an object of columns or an array of numbers, or a list of rows")
    if len(rows) > limits.max_rows:
        raise RequestError(TOO_LARGE, f"{len(rows)} rows; a request may have {limits.max_rows}")
    kind = type(rows[0])
    for number, row in enumerate(rows):
        if type(row) is not kind or kind not in (dict, list):
            raise RequestError(UNREADABLE, f"row {number}: expected an object of columns or an array, as the first row")
        if isinstance(row, list):
            if not all(value is None or type(value) in (int, float) for value in row):
                raise RequestError(UNREADABLE, f"row {number}: expected numbers and null")
            continue
        for name, value in row.items():
            if isinstance(value, dict | list):
                raise RequestError(UNREADABLE, f"row {number}: column {name}: expected a plain value")
    return rows


def _label(label: Any, classes: Sequence[Any], number: int) -> Any:
    """Return the class that a label of JSON stands for."""
    for known in classes:
        is_same_kind = isinstance(label, str) == isinstance(known, str)
        if is_same_kind and not isinstance(label, dict | list) and label == known:
            return known
    raise RequestError(UNREADABLE, f"row {number}: {unknown_name('label', label, classes)}")


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
