"""One feature for each category of each column, numbered in the order of their first rows."""

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
    from opauc.data.arrow_columns import EncodedStrings

UNKNOWN = -1
# CSV text has True where Arrow has true.
OTHER_CASE = {"true": "True", "false": "False", "True": "true", "False": "false"}


class Vocabulary:
    """The categories seen so far; a feature is a pair of a column and a category, and its number never changes.

    The order is that of the rows, and within a row that of the columns, however
    the rows are cut into batches.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.encode.categories import Vocabulary
    >>> from opauc.data.arrow_columns import encode_strings
    >>> seen = Vocabulary()
    >>> columns = [encode_strings(pa.array(["red", "blue"])), encode_strings(pa.array(["S", "L"]))]
    >>> seen.numbers(columns, ["color", "size"], grow=True).tolist()
    [[0, 1], [2, 3]]
    >>> seen.pairs()
    [('color', 'red'), ('size', 'S'), ('color', 'blue'), ('size', 'L')]
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = list(pairs)
        self._numbers = {pair: number for number, pair in enumerate(self._pairs)}
        self.counts: Counter[str] = Counter(column for column, _ in self._pairs)  # categories of each column

    def __len__(self) -> int:
        return len(self._pairs)

    def pairs(self, size: int | None = None) -> list[tuple[str, str]]:
        """Return the first `size` pairs of column and category, all of them by default."""
        return self._pairs[:size]

    def numbers(self, columns: Sequence[EncodedStrings], names: Sequence[str], grow: bool) -> NDArray[np.int64]:
        """Return the number of each row's category of each column; -1 where it is missing or, unless `grow`, new."""
        if grow:
            self._add(columns, names)
        return np.stack(
            [
                np.array([self.number_of(name, category, grow) for category in categories] + [UNKNOWN])[codes]
                for (categories, codes), name in zip(columns, names, strict=True)
            ],
            axis=1,
        )

    def match_case(self, name: str, booleans: list[str]) -> list[str]:
        """Return booleans of an Arrow column in the case of the vocabulary, which may come from CSV text."""
        return [value if (name, value) in self._numbers else self._match_case(name, value) for value in booleans]

    def _match_case(self, name: str, value: str) -> str:
        from_text = any((name, OTHER_CASE[boolean]) in self._numbers for boolean in ("true", "false"))
        return OTHER_CASE[value] if from_text and value in OTHER_CASE else value

    def number_of(self, name: str, category: str, grow: bool = False) -> int:
        """Return the number of a category of a column; -1 where it is new."""
        number = self._numbers.get((name, category), UNKNOWN)
        if number == UNKNOWN and category in OTHER_CASE and not grow:
            number = self._numbers.get((name, OTHER_CASE[category]), UNKNOWN)
        return number

    def _add(self, columns: Sequence[EncodedStrings], names: Sequence[str]) -> None:
        new = []
        for position, ((categories, codes), name) in enumerate(zip(columns, names, strict=True)):
            first = _first_rows(codes, len(categories))
            new += [
                (first[code], position, (name, category))
                for code, category in enumerate(categories)
                if first[code] < codes.size and (name, category) not in self._numbers
            ]
        for _, _, pair in sorted(new):
            self._numbers[pair] = len(self._pairs)
            self._pairs.append(pair)
            self.counts[pair[0]] += 1


def indicator_rows(
    numbers: DenseRows, features: NDArray[np.integer], values: NDArray[np.int8] | NDArray[np.bool_], n_categories: int
) -> csr_array:
    """Return canonical sparse rows: nonzero numbers first, then categories with their values, 0 where missing."""
    n_rows, n_numbers = numbers.shape
    entries = np.concatenate([numbers, values.astype(numbers.dtype)], axis=1)
    columns = np.empty(entries.shape, np.int32)
    columns[:, :n_numbers] = np.arange(n_numbers)
    columns[:, n_numbers:] = features + n_numbers
    nonzero = entries != 0
    ends = np.concatenate([[0], nonzero.sum(axis=1).cumsum()]).astype(np.int32)
    rows = csr_array((entries[nonzero], columns[nonzero], ends), shape=(n_rows, n_numbers + n_categories))
    rows.sum_duplicates()
    return rows


def hashed_categories(
    columns: Sequence[EncodedStrings], names: Sequence[str], hashing: HashedFeatures
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Return bucket and sign of each row's category of each column; the sign is 0 where it is missing."""
    buckets, signs = [], []
    for (categories, codes), name in zip(columns, names, strict=True):
        keys = hashing.keys_of(category_name((name, category)) for category in categories)
        bucket, sign = hashing.columns_of(keys)
        buckets.append(np.append(bucket, np.int32(0))[codes])
        signs.append(np.append(sign, np.int8(0))[codes])
    return np.stack(buckets, axis=1), np.stack(signs, axis=1)


def category_name(pair: tuple[str, str]) -> str:
    """Return the name of the feature of a column and a category: "color=red"."""
    return f"{pair[0]}={pair[1]}"


def _first_rows(codes: NDArray[np.int32], n_categories: int) -> NDArray[np.int64]:
    """Return the first row of each category, beyond the last row for categories that do not occur."""
    first = np.full(n_categories + 1, codes.size)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return first


EXAMPLES = 3


def count_unknown(
    before: Mapping[str, UnknownCategories],
    names: Sequence[str],
    columns: Sequence[EncodedStrings],
    features: NDArray[np.int64],
) -> dict[str, UnknownCategories]:
    """Return the counts of unknown categories with those of more rows; `features` are those of their categories.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from opauc.data.encode.categories import count_unknown
    >>> from opauc.data.arrow_columns import encode_strings
    >>> count_unknown({}, ["city"], [encode_strings(pa.array(["Bern", "Chur", None]))], np.array([[0], [-1], [-1]]))
    {'city': UnknownCategories(rows=1, examples=('Chur',))}
    """
    counts = dict(before)
    for name, (categories, codes), numbers in zip(names, columns, features.T, strict=True):
        unknown = codes[(numbers == UNKNOWN) & (codes >= 0)]
        if unknown.size:
            rows, examples = counts.get(name, UnknownCategories(0, ()))
            new = [categories[code] for code in np.unique(unknown).tolist()]
            shown = tuple(dict.fromkeys((*examples, *new)))[:EXAMPLES]
            counts[name] = UnknownCategories(rows + int(unknown.size), shown)
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
    """Return a sentence for each column with categories that were not seen in training.

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
    """The merged state, which keeps the feature numbers of the first, and the number of each feature of the other."""

    encoding: OneHotState
    places: NDArray[np.int64]  # of each feature of the other


def merge_onehot_states(one: OneHotState, other: OneHotState, n_hashed: int | None = None) -> MergedState:
    """Return the union of the categories and the sums of the running means; `n_hashed` features share categories.

    >>> from opauc.data.encode.categories import merge_onehot_states
    >>> state = {"named": True, "label": "y", "numeric": ["a"], "categorical": ["c"], "sums": [1.0], "counts": [2.0]}
    >>> merged = merge_onehot_states(
    ...     {**state, "categories": [["c", "x"], ["c", "y"]]}, {**state, "categories": [["c", "z"], ["c", "x"]]}
    ... )
    >>> merged.encoding["categories"], merged.encoding["sums"], merged.places.tolist()
    ([['c', 'x'], ['c', 'y'], ['c', 'z']], [2.0], [0, 3, 1])
    """
    _check_same_columns(one, other)
    numeric, theirs = one["numeric"] or [], other["numeric"] or []
    position = {name: at for at, name in enumerate(numeric)}
    columns = np.array([position[name] for name in theirs], np.int64)
    sums, counts = np.array(one["sums"], float), np.array(one["counts"], float)
    sums[columns] += other["sums"]
    counts[columns] += other["counts"]
    numbers = {(column, category): at for at, (column, category) in enumerate(one["categories"])}
    for column, category in other["categories"]:
        numbers.setdefault((column, category), len(numbers))
    both: OneHotState = {
        **one, "categories": [list(pair) for pair in numbers], "sums": sums.tolist(), "counts": counts.tolist(),
    }  # fmt: skip
    if formats := {**other.get("number_formats", {}), **one.get("number_formats", {})}:
        both["number_formats"] = formats
    if n_hashed is not None:
        features = np.arange(n_hashed if one["categorical"] else 0)
    else:
        features = np.array([numbers[column, category] for column, category in other["categories"]], np.int64)
    return MergedState(both, np.concatenate([columns, len(numeric) + features]))


def _check_same_columns(one: OneHotState, other: OneHotState) -> None:
    """Raise unless both have the same columns of the same kinds."""
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
