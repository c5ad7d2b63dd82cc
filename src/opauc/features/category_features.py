"""One feature for each category of each column, numbered in the order in which they are first met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.features.hashed_features import HashedFeatures
from opauc.rows import DenseRows

if TYPE_CHECKING:
    from opauc.reading.column_values import Words

UNKNOWN = -1
# Text has True where typed tables have true.
SPELLED = {"true": "True", "false": "False", "True": "true", "False": "false"}


class Vocabulary:
    """The categories met so far; a feature is a pair of a column and a word, and none is ever renumbered.

    The order is that of the rows, and within a row that of the columns, however
    the rows are cut into parts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.features.category_features import Vocabulary
    >>> from opauc.reading.column_values import words_of
    >>> seen = Vocabulary()
    >>> columns = [words_of(pa.array(["red", "blue"])), words_of(pa.array(["S", "L"]))]
    >>> seen.numbers(columns, ["colour", "size"], grow=True).tolist()
    [[0, 1], [2, 3]]
    >>> seen.pairs()
    [('colour', 'red'), ('size', 'S'), ('colour', 'blue'), ('size', 'L')]
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = list(pairs)
        self._numbers = {pair: number for number, pair in enumerate(self._pairs)}
        self.counts = Counter(column for column, _ in self._pairs)  # categories of each column

    def __len__(self) -> int:
        return len(self._pairs)

    def pairs(self, size: int | None = None) -> list[tuple[str, str]]:
        """Return the first `size` pairs of column and word, all of them by default."""
        return self._pairs[:size]

    def numbers(self, columns: Sequence[Words], names: Sequence[str], grow: bool) -> NDArray[np.int64]:
        """Return the number of each row's word of each column; -1 where there is none or, if not to grow, it is new."""
        if grow:
            self._add(columns, names)
        return np.stack(
            [
                np.array([self._number(name, word, grow) for word in words] + [UNKNOWN])[levels]
                for (words, levels), name in zip(columns, names, strict=True)
            ],
            axis=1,
        )

    def spelled(self, name: str, truths: list[str]) -> list[str]:
        """Return truth values of a typed column in the spelling that is known of it, as text has it perhaps."""
        return [word if (name, word) in self._numbers else self._respelled(name, word) for word in truths]

    def _respelled(self, name: str, word: str) -> str:
        text = any((name, SPELLED[truth]) in self._numbers for truth in ("true", "false"))
        return SPELLED[word] if text and word in SPELLED else word

    def _number(self, name: str, word: str, grow: bool) -> int:
        number = self._numbers.get((name, word), UNKNOWN)
        if number == UNKNOWN and word in SPELLED and not grow:
            number = self._numbers.get((name, SPELLED[word]), UNKNOWN)
        return number

    def _add(self, columns: Sequence[Words], names: Sequence[str]) -> None:
        new = []
        for position, ((words, levels), name) in enumerate(zip(columns, names, strict=True)):
            first = _first_rows(levels, len(words))
            new += [
                (first[level], position, (name, word))
                for level, word in enumerate(words)
                if first[level] < levels.size and (name, word) not in self._numbers
            ]
        for _, _, pair in sorted(new):
            self._numbers[pair] = len(self._pairs)
            self._pairs.append(pair)
            self.counts[pair[0]] += 1


def indicator_rows(
    numbers: DenseRows, features: NDArray[np.integer], values: NDArray[np.int8] | NDArray[np.bool_], n_categories: int
) -> csr_array:
    """Return canonical sparse rows: the numbers that are not zero, then categories with their values, 0 where none."""
    n_rows, n_numbers = numbers.shape
    entries = np.concatenate([numbers, values.astype(numbers.dtype)], axis=1)
    columns = np.empty(entries.shape, np.int32)
    columns[:, :n_numbers] = np.arange(n_numbers)
    columns[:, n_numbers:] = features + n_numbers
    there = entries != 0
    ends = np.concatenate([[0], there.sum(axis=1).cumsum()]).astype(np.int32)
    rows = csr_array((entries[there], columns[there], ends), shape=(n_rows, n_numbers + n_categories))
    rows.sum_duplicates()
    return rows


def hashed_categories(
    columns: Sequence[Words], names: Sequence[str], hashing: HashedFeatures
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Return bucket and sign of each row's word of each column; the sign is 0 where there is no word."""
    buckets, signs = [], []
    for (words, levels), name in zip(columns, names, strict=True):
        where, sign = hashing.columns_of(hashing.keys_of(category_name((name, word)) for word in words))
        buckets.append(np.append(where, np.int32(0))[levels])
        signs.append(np.append(sign, np.int8(0))[levels])
    return np.stack(buckets, axis=1), np.stack(signs, axis=1)


def category_name(pair: tuple[str, str]) -> str:
    """Return the name of the feature of a column and a word: "colour=red"."""
    return f"{pair[0]}={pair[1]}"


def _first_rows(levels: NDArray[np.int32], n_words: int) -> NDArray[np.int64]:
    """Return the first row of each word, beyond the last row for words that do not occur."""
    first = np.full(n_words + 1, levels.size)
    first[levels[::-1]] = np.arange(levels.size)[::-1]
    return first
