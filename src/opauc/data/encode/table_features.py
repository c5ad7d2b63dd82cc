"""How the rows of a model were read: tables as they come become the features that it knows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array

from opauc.data import BadRows, DataStream, OneHotState, ReadOptions
from opauc.data.encode.categories import merge_onehot_states
from opauc.data.encode.encoder import UnknownCategories
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.open_stream import encoder_of
from opauc.errors import InputError
from opauc.types import Json, Rows, Settings

# The path of a file: anything else is data in memory.
Path: TypeAlias = str | os.PathLike[str]


class MergedFeatures(NamedTuple):
    """How the rows of both models are to be read, and where each feature of the other stands among those of both.

    The features of the first stand where they stood.
    """

    features: OneHotReading
    places: NDArray[np.int64]


class ReadRows(NamedTuple):
    """The features of some rows, what was learned of their columns, and the categories that nothing is known of."""

    rows: Rows
    features: OneHotReading
    unknown: dict[str, UnknownCategories]


@dataclass(frozen=True, eq=False)
class OneHotReading:
    """The options by which tables were read, and what the encoder learned of their columns.

    A value: what is learned of more rows is another one. `encoding` is None where
    rows have features to begin with, as those of LIBSVM do; `positive` is the
    label of the positive rows where all others were taken as negative.

    Examples
    --------
    >>> from opauc.data.encode.table_features import OneHotReading
    >>> from opauc.data import ReadOptions
    >>> learned = OneHotReading(ReadOptions(categorical=("color",))).learn(
    ...     [{"size": 1.0, "color": "red"}, {"size": 2.0, "color": "blue"}]
    ... )
    >>> learned.features.feature_names()
    ['size', 'color=red', 'color=blue']
    >>> learned.features.read([{"color": "blue", "size": 5.0}]).rows.toarray()
    array([[5., 0., 1.]])
    """

    options: ReadOptions
    encoding: OneHotState | None = None
    positive: object = None

    @classmethod
    def of_json(cls, saved: Settings) -> Self:
        """Return what `to_json` gave."""
        return cls(ReadOptions.of_json(saved["options"]), saved.get("encoding"), saved.get("positive"))

    def to_json(self) -> Json:
        """Return all there is as JSON has it."""
        return {"options": self.options.to_json(), "encoding": self.encoding, "positive": self.positive}

    def feature_names(self) -> list[str] | None:
        """Return the names of the features, None where they have none."""
        return self._encoder(labeled=False).feature_names() if self._columns_known() else None

    def takes(self, data: object) -> bool:
        """Tell whether data is a file, or a table or rows with the columns that were learned from, by their names."""
        if isinstance(data, str | os.PathLike):
            return True
        if self.encoding is None or not self._columns_known():
            return False
        from opauc.data.formats.memory import table_names  # pyarrow, which scoring other rows does not wait for

        names = table_names(data)
        if names is None:
            return False
        # Where every feature is given by its own name nothing is left to encode.
        return not (self.encoding["categorical"] and names == self.feature_names())

    def stream(
        self,
        data: Sequence[Path],
        format_: str | None = None,
        bad_rows: BadRows | None = None,
        *,
        labeled: bool = False,
        kept: Sequence[str] = (),
        grouped: bool = False,
    ) -> DataStream:
        """Return the stream of files read as those of the training were; nothing new is learned of their columns.

        `grouped` asks for the groups of the rows too, if those of the training had any.
        """
        encoder = self._encoder(labeled, kept=kept, groups=self.options.groups if grouped else None)
        return DataStream(data, self.options.with_format(format_), encoder, bad_rows=bad_rows)

    def frozen_encoder(self) -> OneHotEncoder:
        """Return what turns labeled tables into the features known; nothing new is learned of their columns."""
        return self._encoder(labeled=True)

    def read(self, data: object) -> ReadRows:
        """Return the features of all rows of a table or file; nothing new is learned of its columns."""
        return self._read(data, frozen=True)

    def learn(self, data: object) -> ReadRows:
        """Return the features of all rows of a table or file, those of new categories among them."""
        return self._read(data, frozen=False)

    def merged(self, other: OneHotReading, n_features: int) -> MergedFeatures:
        """Return what both have learned, where the other has so many features; refused, in words, unless they match."""
        for name, mine, theirs in (
            ("positive", self.positive, other.positive),
            ("hash_bits", self.options.hash_bits, other.options.hash_bits),
        ):
            if mine != theirs:
                raise InputError(f"the models were trained with {name}={mine} and with {name}={theirs}")
        if self.encoding is None and other.encoding is None:
            return MergedFeatures(self, np.arange(n_features))
        if self.encoding is None or other.encoding is None:
            raise InputError("one model was trained on a table, the other on LIBSVM rows")
        bits = self.options.hash_bits
        both = merge_onehot_states(
            self.encoding, other.encoding, None if bits is None else HashedFeatures(bits).n_columns
        )
        if both.places.size != n_features:  # sparse arrays have no columns to be told of
            return MergedFeatures(self, np.arange(n_features))
        return MergedFeatures(replace(self, encoding=both.encoding), both.places)

    def _columns_known(self) -> bool:
        return self.encoding is not None and self.encoding["named"] and self.encoding["numeric"] is not None

    def _encoder(
        self, labeled: bool, frozen: bool = True, kept: Sequence[str] = (), groups: str | None = None
    ) -> OneHotEncoder:
        encoder = encoder_of(self.options, labeled, kept, groups)
        return encoder if self.encoding is None else encoder.with_state(self.encoding, frozen)

    def _read(self, data: object, frozen: bool) -> ReadRows:
        encoder = self._encoder(labeled=False, frozen=frozen)
        if isinstance(data, str | os.PathLike):
            stream = DataStream([data], self.options.with_format(None), encoder)
        else:
            stream = DataStream.of_memory(data, None, self.options, encoder)
        chunks = list(stream.chunks())
        if not chunks:
            raise InputError(f"{', '.join(stream.sources)}: there are no rows in it")
        width = max(chunk.rows.shape[1] for chunk in chunks)
        learned = chunks[-1].resume_position.learned()
        return ReadRows(
            _stacked([chunk.rows for chunk in chunks], width), replace(self, encoding=learned),
            dict(stream.unknown_categories),
        )  # fmt: skip


def _stacked(parts: list[Rows], width: int) -> Rows:
    """Return the rows of all parts, as wide as the widest."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate([np.asarray(part) for part in parts])
    wide = [part.copy() for part in parts]
    for part in wide:
        part.resize(part.shape[0], width)
    return cast(csr_array, sparse.vstack(wide, format="csr"))
