"""One feature for each category of each column, numbered in the order in which they are first met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.data.columns import listed
from opauc.data.encode.encoder import OneHotState, UnknownCategories
from opauc.data.encode.hashing import HashedFeatures
from opauc.errors import InputError
from opauc.types import DenseRows

if TYPE_CHECKING:
    from opauc.data.arrow_columns import Words

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
    >>> from opauc.data.encode.categories import Vocabulary
    >>> from opauc.data.arrow_columns import words_of
    >>> seen = Vocabulary()
    >>> columns = [words_of(pa.array(["red", "blue"])), words_of(pa.array(["S", "L"]))]
    >>> seen.numbers(columns, ["color", "size"], grow=True).tolist()
    [[0, 1], [2, 3]]
    >>> seen.pairs()
    [('color', 'red'), ('size', 'S'), ('color', 'blue'), ('size', 'L')]
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
    """Return the name of the feature of a column and a word: "color=red"."""
    return f"{pair[0]}={pair[1]}"


def _first_rows(levels: NDArray[np.int32], n_words: int) -> NDArray[np.int64]:
    """Return the first row of each word, beyond the last row for words that do not occur."""
    first = np.full(n_words + 1, levels.size)
    first[levels[::-1]] = np.arange(levels.size)[::-1]
    return first


EXAMPLES = 3


def with_unknown(
    known: Mapping[str, UnknownCategories], names: Sequence[str], columns: Sequence[Words], found: NDArray[np.int64]
) -> dict[str, UnknownCategories]:
    """Return the counts so far and those of some rows; `found` has the number of each row's word of each column.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from opauc.data.encode.categories import with_unknown
    >>> from opauc.data.arrow_columns import words_of
    >>> with_unknown({}, ["city"], [words_of(pa.array(["Bern", "Chur", None]))], np.array([[0], [-1], [-1]]))
    {'city': UnknownCategories(rows=1, examples=('Chur',))}
    """
    counts = dict(known)
    for name, (words, levels), numbers in zip(names, columns, found.T, strict=True):
        strange = levels[(numbers == UNKNOWN) & (levels >= 0)]
        if strange.size:
            rows, examples = counts.get(name, UnknownCategories(0, ()))
            met = [words[level] for level in np.unique(strange).tolist()]
            shown = tuple(dict.fromkeys((*examples, *met)))[:EXAMPLES]
            counts[name] = UnknownCategories(rows + int(strange.size), shown)
    return counts


def merge_unknown_categories(
    one: Mapping[str, UnknownCategories], other: Mapping[str, UnknownCategories]
) -> dict[str, UnknownCategories]:
    """Return the counts of two sets of rows.

    >>> from opauc.data.encode.categories import merge_unknown_categories
    >>> from opauc.data.encode.encoder import UnknownCategories
    >>> merge_unknown_categories({"city": UnknownCategories(2, ("Chur",))}, {"city": UnknownCategories(1, ("Genf",))})
    {'city': UnknownCategories(rows=3, examples=('Chur', 'Genf'))}
    """
    counts = dict(one)
    for name, (rows, examples) in other.items():
        before = counts.get(name, UnknownCategories(0, ()))
        shown = tuple(dict.fromkeys((*before.examples, *examples)))[:EXAMPLES]
        counts[name] = UnknownCategories(before.rows + rows, shown)
    return counts


def describe_unknown_categories(unknown: Mapping[str, UnknownCategories]) -> list[str]:
    """Return a sentence for each column with categories that were not met in training.

    >>> from opauc.data.encode.categories import describe_unknown_categories
    >>> from opauc.data.encode.encoder import UnknownCategories
    >>> describe_unknown_categories({"city": UnknownCategories(2, ("Chur", "Genf"))})
    ['column city: 2 rows have categories not met in training (Chur, Genf); they count as none']
    """
    return [
        f"column {name}: {rows:,} row{' has a category' if rows == 1 else 's have categories'} not met in training "
        f"({', '.join(examples)}{', …' if len(examples) == EXAMPLES else ''}); "
        f"{'it counts' if rows == 1 else 'they count'} as none"
        for name, (rows, examples) in unknown.items()
    ]


class MergedState(NamedTuple):
    """The encoding of both, in which the features of the first stand where they stood, and those of the other."""

    encoding: OneHotState
    places: NDArray[np.int64]  # of each feature of the other


def merge_onehot_states(one: OneHotState, other: OneHotState, n_hashed: int | None = None) -> MergedState:
    """Return the union of the categories and the sums of the running means; `n_hashed` features share categories.

    >>> from opauc.data.encode.categories import merge_onehot_states
    >>> known = {"named": True, "label": "y", "numeric": ["a"], "categorical": ["c"], "sums": [1.0], "counts": [2.0]}
    >>> merged = merge_onehot_states(
    ...     {**known, "categories": [["c", "x"], ["c", "y"]]}, {**known, "categories": [["c", "z"], ["c", "x"]]}
    ... )
    >>> merged.encoding["categories"], merged.encoding["sums"], merged.places.tolist()
    ([['c', 'x'], ['c', 'y'], ['c', 'z']], [2.0], [0, 3, 1])
    """
    _refuse_others(one, other)
    numeric, theirs = one["numeric"] or [], other["numeric"] or []
    place = {name: at for at, name in enumerate(numeric)}
    columns = np.array([place[name] for name in theirs], np.int64)
    sums, counts = np.array(one["sums"], float), np.array(one["counts"], float)
    sums[columns] += other["sums"]
    counts[columns] += other["counts"]
    numbers = {(column, word): at for at, (column, word) in enumerate(one["categories"])}
    for column, word in other["categories"]:
        numbers.setdefault((column, word), len(numbers))
    both: OneHotState = {
        **one, "categories": [list(pair) for pair in numbers], "sums": sums.tolist(), "counts": counts.tolist(),
    }  # fmt: skip
    if n_hashed is not None:
        features = np.arange(n_hashed if one["categorical"] else 0)
    else:
        features = np.array([numbers[column, word] for column, word in other["categories"]], np.int64)
    return MergedState(both, np.concatenate([columns, len(numeric) + features]))


def _refuse_others(one: OneHotState, other: OneHotState) -> None:
    """Raise, in words, unless both have the same columns of the same kinds."""
    if one["named"] != other["named"]:
        raise InputError("one model was trained on a table, the other on an array")
    if one["label"] != other["label"]:
        raise InputError(f"the label is column {one['label']} in one model and {other['label']} in the other")
    for kind, mine, theirs in (
        ("of numbers", set(one["numeric"] or ()), set(other["numeric"] or ())),
        ("of categories", set(one["categorical"]), set(other["categorical"])),
    ):
        if mine != theirs:
            raise InputError(
                f"the models have other columns {kind}: {listed(sorted(mine - theirs)) or 'none'} in the first only, "
                f"{listed(sorted(theirs - mine)) or 'none'} in the other only"
            )
