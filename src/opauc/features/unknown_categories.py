"""Categories that a model knows nothing of, counted as they are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opauc.features.category_features import UNKNOWN
from opauc.reading.encoder import UnknownCategories

if TYPE_CHECKING:
    from opauc.reading.column_values import Words

EXAMPLES = 3


def with_unknown(
    known: Mapping[str, UnknownCategories], names: Sequence[str], columns: Sequence[Words], found: NDArray[np.int64]
) -> dict[str, UnknownCategories]:
    """Return the counts so far and those of some rows; `found` has the number of each row's word of each column.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from opauc.features.unknown_categories import with_unknown
    >>> from opauc.reading.column_values import words_of
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


def joined_unknown(
    one: Mapping[str, UnknownCategories], other: Mapping[str, UnknownCategories]
) -> dict[str, UnknownCategories]:
    """Return the counts of two sets of rows.

    >>> from opauc.features.unknown_categories import joined_unknown
    >>> from opauc.reading.encoder import UnknownCategories
    >>> joined_unknown({"city": UnknownCategories(2, ("Chur",))}, {"city": UnknownCategories(1, ("Genf",))})
    {'city': UnknownCategories(rows=3, examples=('Chur', 'Genf'))}
    """
    counts = dict(one)
    for name, (rows, examples) in other.items():
        before = counts.get(name, UnknownCategories(0, ()))
        shown = tuple(dict.fromkeys((*before.examples, *examples)))[:EXAMPLES]
        counts[name] = UnknownCategories(before.rows + rows, shown)
    return counts


def unknown_in_words(unknown: Mapping[str, UnknownCategories]) -> list[str]:
    """Return a sentence for each column with categories that were not met in training.

    >>> from opauc.features.unknown_categories import unknown_in_words
    >>> from opauc.reading.encoder import UnknownCategories
    >>> unknown_in_words({"city": UnknownCategories(2, ("Chur", "Genf"))})
    ['column city: 2 rows have categories not met in training (Chur, Genf); they count as none']
    """
    return [
        f"column {name}: {rows:,} row{' has a category' if rows == 1 else 's have categories'} not met in training "
        f"({', '.join(examples)}{', …' if len(examples) == EXAMPLES else ''}); "
        f"{'it counts' if rows == 1 else 'they count'} as none"
        for name, (rows, examples) in unknown.items()
    ]
