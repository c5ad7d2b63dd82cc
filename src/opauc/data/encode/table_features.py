"""How the rows of a linear model are read: options and the state of the one-hot encoder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self, TypedDict

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from opauc.core.batch import ResumePosition
from opauc.core.json_schema import json_as
from opauc.core.labels import ClassLabels
from opauc.core.model import MergedReading, RowReading
from opauc.data import BadRows, DataStream, OneHotState, ReadOptions
from opauc.data.encode.categories import describe_unknown_categories, merge_onehot_states
from opauc.data.encode.encoder import UnknownCategories, check_onehot_state
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.open_stream import encoder_of
from opauc.data.schema.column import CATEGORY, NUMBER
from opauc.data.table_source import Source
from opauc.errors import InputError, Parameter
from opauc.types import Json, Rows, Settings


class SavedOneHotReading(TypedDict):
    """The reading in the header of a file."""

    options: Json
    encoding: Json | None
    positive: str | int | float | None


class ReadRows(NamedTuple):
    """The features of rows, the reading with their new categories, and the unknown categories."""

    rows: Rows
    features: OneHotReading
    unknown: dict[str, UnknownCategories]


@dataclass(frozen=True, eq=False)
class OneHotReading:
    """The options by which tables were read, and the state of their encoder. Immutable.

    `encoding` is None where rows need no encoding, as those of LIBSVM; `positive`
    is the label of the positive rows where all others were taken as negative.

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

    kind: ClassVar[str] = "onehot"

    options: ReadOptions
    encoding: OneHotState | None = None
    positive: object = None

    @classmethod
    def from_json(cls, saved: Settings) -> Self:
        """Return what `to_json` gave; raise ValueError unless it can have."""
        checked = json_as(SavedOneHotReading, saved, "reading")
        encoding = None if checked["encoding"] is None else check_onehot_state(checked["encoding"])
        return cls(ReadOptions.of_json(checked["options"]), encoding, checked["positive"])

    def to_json(self) -> Json:
        """Return the reading as JSON."""
        return {"options": self.options.to_json(), "encoding": self.encoding, "positive": self.positive}

    def feature_names(self) -> list[str] | None:
        """Return the names of the features, None where they have none."""
        return self._encoder(labeled=False).feature_names() if self._columns_known() else None

    @property
    def input_names(self) -> tuple[str, ...] | None:
        """Names of the features: each is one number."""
        names = self.feature_names()
        return None if names is None else tuple(names)

    @property
    def schema(self) -> None:
        """None: categories become features."""

    def column_kinds(self) -> dict[str, str] | None:
        """Return the kind of each column by its name, None where rows need no encoding."""
        if self.encoding is None:
            return None
        numeric, categorical = self.encoding["numeric"] or (), self.encoding["categorical"]
        return {**dict.fromkeys(numeric, NUMBER), **dict.fromkeys(categorical, CATEGORY)}

    def category_names(self) -> None:
        """Return None: each category has a feature of its own."""

    def with_label(self, label: str) -> Self:
        """Return the reading of tables whose label has this name."""
        encoding: OneHotState | None = None if self.encoding is None else {**self.encoding, "label": label}
        return replace(self, options=replace(self.options, label=label), encoding=encoding)

    def takes(self, data: object) -> bool:
        """Tell whether data is a file, or a table with the columns of the training, by name."""
        if isinstance(data, str | os.PathLike):
            return True
        if self.encoding is None or not self._columns_known():
            return False
        from opauc.data.formats.memory import table_names  # pyarrow, which scoring other rows does not wait for

        names = table_names(data)
        if names is None:
            return False
        # A table with one column per feature is encoded already.
        return not (self.encoding["categorical"] and names == self.feature_names())

    def stream(
        self,
        data: Sequence[Source],
        format_: str | None = None,
        bad_rows: BadRows | None = None,
        *,
        labeled: bool = False,
        passthrough: Sequence[str] = (),
        grouped: bool = False,
    ) -> DataStream:
        """Return the stream of files, read as those of the training were; the encoder is frozen.

        With `grouped` the groups of the rows are read too, if those of the training had any.
        """
        encoder = self._encoder(labeled, passthrough=passthrough, groups=self.options.groups if grouped else None)
        return DataStream(data, self.options.with_format(format_), encoder, bad_rows=bad_rows)

    def frozen_encoder(self, passthrough: Sequence[str] = ()) -> OneHotEncoder:
        """Return the encoder of labeled tables with its state fixed."""
        return self._encoder(labeled=True, passthrough=passthrough)

    def read(self, data: object) -> ReadRows:
        """Return the features of all rows of a table or file; the encoder is frozen."""
        return self._read(data, frozen=True)

    def learn(self, data: object) -> ReadRows:
        """Return the features of all rows of a table or file; new categories get features."""
        return self._read(data, frozen=False)

    def training_stream(
        self,
        paths: Sequence[Source],
        position: ResumePosition,
        bad_rows: BadRows | None = None,
        passthrough: Sequence[str] = (),
    ) -> DataStream:
        """Return the stream of files to train on, from a position on; new categories become new features."""
        encoder = self.at(position).training_encoder(passthrough)
        stream = DataStream(paths, self.options, encoder, position, bad_rows)
        if self.options.groups is not None and not stream.has_columns:
            raise InputError(
                f"{', '.join(map(str, paths))}: only tables have columns of groups (", Parameter("groups", ...), ")"
            )
        return stream

    def training_encoder(self, passthrough: Sequence[str] = ()) -> OneHotEncoder:
        """Return the encoder of rows to train on, which goes on learning categories."""
        return self._encoder(labeled=True, frozen=False, passthrough=passthrough, groups=self.options.groups)

    def at(self, position: ResumePosition, labels: ClassLabels | None = None) -> OneHotReading:
        """Return the reading with what the encoder knew at a position of the stream."""
        positive = self.positive if labels is None else labels.positive
        return replace(self, encoding=position.onehot_state() or self.encoding, positive=positive)

    def describe_unknown(self, unknown: Mapping[str, UnknownCategories]) -> list[str]:
        """Return a sentence for each column with categories that were not met in training."""
        return describe_unknown_categories(unknown)

    def merge(self, other: RowReading, n_features: int) -> MergedReading:
        """Return how the rows of both are read, where the other has so many features; raise unless they match."""
        assert isinstance(other, OneHotReading), "the fits of both are linear"
        for name, mine, theirs in (
            ("positive", self.positive, other.positive),
            ("hash_bits", self.options.hash_bits, other.options.hash_bits),
        ):
            if mine != theirs:
                raise InputError(f"the models were trained with {name}={mine} and with {name}={theirs}")
        if self.encoding is None and other.encoding is None:
            return MergedReading(self, np.arange(n_features))
        if self.encoding is None or other.encoding is None:
            raise InputError("one model was trained on a table, the other on LIBSVM rows")
        bits = self.options.hash_bits
        both = merge_onehot_states(
            self.encoding, other.encoding, None if bits is None else HashedFeatures(bits).n_columns
        )
        if both.places.size != n_features:  # sparse arrays have no columns to name
            return MergedReading(self, np.arange(n_features))
        return MergedReading(replace(self, encoding=both.encoding), both.places)

    def _columns_known(self) -> bool:
        return self.encoding is not None and self.encoding["named"] and self.encoding["numeric"] is not None

    def _encoder(
        self, labeled: bool, frozen: bool = True, passthrough: Sequence[str] = (), groups: str | None = None
    ) -> OneHotEncoder:
        encoder = encoder_of(self.options, labeled, passthrough, groups)
        return encoder if self.encoding is None else encoder.with_state(self.encoding, frozen)

    def _read(self, data: object, frozen: bool) -> ReadRows:
        encoder = self._encoder(labeled=False, frozen=frozen)
        if isinstance(data, str | os.PathLike):
            stream = DataStream([data], self.options.with_format(None), encoder)
        else:
            stream = DataStream.of_memory(data, None, self.options, encoder)
        batches = list(stream.batches())
        if not batches:
            raise InputError(f"{', '.join(stream.sources)}: there are no rows in it")
        width = max(batch.rows.shape[1] for batch in batches)
        state = batches[-1].resume_position.onehot_state()
        return ReadRows(
            _stack([batch.rows for batch in batches], width), replace(self, encoding=state),
            dict(stream.unknown_categories),
        )  # fmt: skip


def _stack(batches: list[Rows], width: int) -> Rows:
    """Return the rows of all batches, as wide as the widest."""
    if len(batches) == 1:
        return batches[0]
    if isinstance(batches[0], np.ndarray):
        return np.concatenate([np.asarray(rows) for rows in batches])
    wide = [rows.copy() for rows in batches]
    for rows in wide:
        rows.resize(rows.shape[0], width)
    stacked: csr_array = sparse.vstack(wide, format="csr")
    return stacked
