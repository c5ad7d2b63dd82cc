"""A trained model without the estimator around it: its fit, its classes, how its rows are read; and its file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, SupportsIndex, TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import ResumePosition, SourceRecord
from opauc.core.checksummed_file import one_line, read_checksummed, write_checksummed
from opauc.core.fit import Fit, only_scores
from opauc.core.json_schema import json_as
from opauc.core.labels import ClassLabels, SavedLabels, labels_from_json, labels_to_json
from opauc.core.registry import FITS, READINGS
from opauc.core.scorer import Scorer
from opauc.core.threshold import SavedThreshold, Threshold
from opauc.errors import IncompatibleMomentsError, OpaucError, Parameter, UnreadableFileError
from opauc.types import Array, Arrays, Floats, Json, NamedArrays, Settings

if TYPE_CHECKING:
    from opauc.data.encode.encoder import OneHotState
    from opauc.data.schema.table import TableSchema
    from opauc.data.table_source import Source

# The kind of a model file.
MODEL = "model"
# Numbers of a point of the learning curve: rows, the AUC, and its bounds.
POINT_SIZE = 4


class MergedReading(NamedTuple):
    """How the rows of two models are read, and the index of each feature of the second; None where it is the same."""

    reading: RowReading
    positions: NDArray[np.int64] | None


class RowReading(Protocol):
    """How the rows of a model are read: the options, the encoder's state, the positive label."""

    # The name in model files.
    kind: ClassVar[str]

    @property
    def options(self) -> Any:
        """The `ReadOptions` of the files."""

    @property
    def positive(self) -> object:
        """The positive label if all others are negative; None if there are two labels."""

    def to_json(self) -> Json:
        """Return all of it as JSON."""

    @classmethod
    def from_json(cls, saved: Settings) -> RowReading:
        """Return the reading from `to_json`; raise ValueError for anything else."""

    def feature_names(self) -> list[str] | None:
        """Return the names of the features, None where they have none."""

    @property
    def input_names(self) -> tuple[str, ...] | None:
        """Names of the numbers that a row becomes, None where they have none."""

    @property
    def schema(self) -> TableSchema | None:
        """The schema of tables whose columns become numbers as they are; None where there is none."""

    @property
    def encoding(self) -> OneHotState | None:
        """The state of the encoder that makes features of categories; None where there is none."""

    def column_kinds(self) -> dict[str, str] | None:
        """Return the kind of each column of a table by its name, None where there is no table."""

    def category_names(self) -> Sequence[Mapping[int, str]] | None:
        """Return the category that each number of an input stands for, None where there is no table."""

    def with_label(self, label: str) -> Self:
        """Return the reading of tables whose label has this name."""

    def stream(
        self,
        paths: Sequence[Source],
        format_: str | None = None,
        bad_rows: Any = None,
        *,
        labeled: bool = False,
        passthrough: Sequence[str] = (),
        grouped: bool = False,
    ) -> Any:
        """Return the stream of files, read as in training."""

    def training_stream(
        self,
        paths: Sequence[Source],
        position: ResumePosition,
        bad_rows: Any = None,
        passthrough: Sequence[str] = (),
    ) -> Any:
        """Return the stream of files to train on, from a position on; the encoder may add categories."""

    def training_encoder(self, passthrough: Sequence[str] = ()) -> Any:
        """Return the encoder of rows to train on."""

    def frozen_encoder(self, passthrough: Sequence[str] = ()) -> Any:
        """Return the encoder of labeled rows that adds no categories."""

    def at(self, position: ResumePosition, labels: ClassLabels) -> RowReading:
        """Return the reading with the encoder's state at a position of the stream."""

    def merge(self, other: RowReading, n_features: int) -> MergedReading:
        """Return how the rows of both are read, where the other has so many features."""

    def describe_unknown(self, unknown: Mapping[str, Any]) -> list[str]:
        """Return a sentence for each column with unknown categories."""


@dataclass(frozen=True, eq=False)
class Model:
    """All of a fitted estimator without the estimator around it.

    `reading` is None for a model fitted to arrays, `provenance` empty for one
    fitted to data in memory. `n_features` is the number of columns it was given.
    """

    estimator: str
    parameters: Settings
    fit: Fit
    classes: Array
    n_features: int
    feature_names: tuple[str, ...] | None = None
    reading: RowReading | None = None
    provenance: Settings = field(default_factory=dict)
    threshold: Threshold | None = None  # None stands for zero

    @property
    def scorer(self) -> Scorer:
        """The scorer of rows."""
        return self.fit.scorer

    def predicted_positive(self, scores: Floats) -> NDArray[np.bool_]:
        """Tell which scores are above the threshold."""
        return scores > (0.0 if self.threshold is None else self.threshold.score)

    @property
    def several_classes(self) -> bool:
        """Whether there are more than two classes, and a score for each."""
        return self.classes.size > 2

    def predicted(self, scores: Floats) -> NDArray[np.intp]:
        """Return the number of the class predicted for each row of these scores."""
        return predicted_classes(scores, 0.0 if self.threshold is None else self.threshold.score)

    @property
    def labels(self) -> ClassLabels:
        """The classes, and the positive label if all others are negative."""
        return ClassLabels(self.classes, None if self.reading is None else self.reading.positive)

    def merge(self, other: Model) -> Model:
        """Return the model of the rows of both, with the features of both and the provenance of the first.

        Models of tables match their features by the names of columns and
        categories; others must have the same features.
        """
        if not (self.fit.can_train and other.fit.can_train):
            raise only_scores()
        check_same_classes(self.classes, other.classes)
        if self.fit.family != other.fit.family:
            raise different_kinds(self.estimator, other.estimator)
        if self.reading is None or other.reading is None:
            check_same_names(self.feature_names, other.feature_names)
            return replace(self, fit=self.fit.merge(other.fit))
        reading, positions = self.reading.merge(other.reading, other.fit.n_features)
        if positions is not None and self.fit.n_features == other.fit.n_features == positions.size:
            positions = None if np.array_equal(positions, np.arange(positions.size)) else positions
        fit, names = self.fit.merge(other.fit, positions), reading.feature_names()
        grown = fit.n_features != self.fit.n_features
        return replace(
            self,
            fit=fit,
            n_features=fit.n_features if grown else self.n_features,
            feature_names=tuple(names) if grown and names and self.feature_names is not None else self.feature_names,
            reading=reading,
        )

    def without(self, other: Model) -> Model:
        """Return the model of the rows that are not in `other`, with the features and the provenance of this one.

        The inverse of `merge`: rows that were never added are refused as far as the sums show it.
        """
        if not (self.fit.can_train and other.fit.can_train):
            raise only_scores()
        check_same_classes(self.classes, other.classes)
        if self.fit.family != other.fit.family:
            raise different_kinds(self.estimator, other.estimator)
        if self.reading is None or other.reading is None:
            check_same_names(self.feature_names, other.feature_names)
            return replace(self, fit=self.fit.without(other.fit))
        positions = self.reading.merge(other.reading, other.fit.n_features).positions
        if positions is not None and self.fit.n_features < int(positions.max(initial=-1)) + 1:
            raise never_added("they have features that no row of this model has")
        return replace(self, fit=self.fit.without(other.fit, positions))

    def scoring_only(self) -> Model:
        """Return the model without what only training needs: it scores and explains rows in the same way."""
        fit, reading = self.fit, self.reading
        if reading is not None:
            fit, reading = fit.finish(reading)
        return replace(self, fit=fit.scoring_only(), reading=reading)


def predicted_classes(scores: Floats, threshold: float = 0.0) -> NDArray[np.intp]:
    """Return the number of the class predicted for each row: of two classes by a threshold, of more the greatest.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.model import predicted_classes
    >>> predicted_classes(np.array([-1.0, 2.0])), predicted_classes(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 1]), array([1]))
    """
    return (scores > threshold).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def different_kinds(one: str, other: str) -> IncompatibleMomentsError:
    """Return the error of merging estimators of these names."""
    return IncompatibleMomentsError(f"cannot merge {one} and {other}: they are models of different kinds")


def never_added(why: str) -> IncompatibleMomentsError:
    """Return the error of subtracting rows that are not in a model."""
    return IncompatibleMomentsError(f"cannot subtract rows that were never added: {why}")


def different_bases() -> IncompatibleMomentsError:
    """Return the error of merging additive models that began apart."""
    return IncompatibleMomentsError(
        "models of different bases do not merge; train each shard with the basis of the first model (",
        Parameter("basis_from", ...), ")",
    )  # fmt: skip


def check_same_classes(mine: Array, theirs: Array) -> None:
    """Raise unless two models have the same classes."""
    if not np.array_equal(mine, theirs):
        raise IncompatibleMomentsError(f"cannot merge models of classes {mine.tolist()} and {theirs.tolist()}")


def check_same_names(mine: Sequence[str] | None, theirs: Sequence[str] | None) -> None:
    """Raise unless the features have the same names, with the first that differ.

    >>> from opauc.core.model import check_same_names
    >>> check_same_names(["a", "b"], ["a", "c"])
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMomentsError: cannot merge models of features with different names: b and c
    """
    if mine != theirs:
        pairs = zip_longest(mine or (), theirs or (), fillvalue="none")
        one, other = next((one, other) for one, other in pairs if one != other)
        raise IncompatibleMomentsError(f"cannot merge models of features with different names: {one} and {other}")


class Forgotten(TypedDict):
    """Rows that were removed, by the names of their files."""

    data: list[str]
    rows: int


class ForgottenFiles(Forgotten, total=False):
    """The same with the hashes of the files."""

    sha256: list[str]


class Provenance(TypedDict, total=False):
    """Where the rows of a model come from."""

    library: str
    rows: int
    skipped_rows: int
    inputs: list[SourceRecord]
    learning_curve: list[list[float]]
    forgotten: list[ForgottenFiles]


class Header(TypedDict):
    """The header of a model file and of a checkpoint."""

    estimator: str
    parameters: dict[str, bool | int | float | str | list[Any] | None]
    family: str
    fit: Json
    n_features: int
    classes: SavedLabels
    feature_names: list[str] | None
    reading: Json | None


class ModelHeader(Header, total=False):
    """The header of a model file."""

    provenance: Provenance
    threshold: SavedThreshold


class CheckpointHeader(Header):
    """The header of a checkpoint."""

    plan: Json
    resume_position: Json
    positive: str | int | float | None
    next_look: int
    pace: list[list[int]]


def model_parts(model: Model, with_scorer: bool = True) -> tuple[Json, Arrays]:
    """Return the header and the arrays of a model, as `model_from_parts` takes them."""
    fit, arrays = model.fit.to_parts()
    if with_scorer:
        arrays |= model.fit.scorer_arrays()
    header: Json = {
        "estimator": model.estimator,
        "parameters": {name: plain(value) for name, value in model.parameters.items()},
        "family": model.fit.family,
        "fit": fit,
        "n_features": model.n_features,
        "classes": labels_to_json(model.classes),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "reading": None if model.reading is None else {"kind": model.reading.kind, **model.reading.to_json()},
    }
    return header, arrays


def model_from_parts(
    header: Settings, arrays: NamedArrays, can_train: bool = True, kind: type[Header] = ModelHeader
) -> Model:
    """Return the model of a header and arrays; raise ValueError unless they fit together."""
    checked = json_as(kind, header, "header")
    width, names, saved = checked["n_features"], checked["feature_names"], checked["reading"]
    if not 0 < width < 2**31:
        raise ValueError(f"expected a number of features, got {width!r}")
    if names is not None and len(names) != width:
        raise ValueError(f"expected {width} feature names, got {len(names)}")
    provenance: Settings = dict(checked.get("provenance", {}))  # type: ignore[call-overload]
    saved_threshold: Any = checked.get("threshold")
    for point in provenance.get("learning_curve", ()):
        if len(point) != POINT_SIZE or not (point[0] >= 0 and all(0 <= share <= 1 for share in point[1:])):
            raise ValueError(f"learning_curve: expected rows, an AUC and its bounds, got {point[:POINT_SIZE]}")
    reading: RowReading | None = None
    if saved is not None:
        reading = READINGS[json_as(str, saved.get("kind"), "reading")].from_json(
            {name: value for name, value in saved.items() if name != "kind"}
        )
    family: type[Fit] = FITS[checked["family"]]
    fit = (family.from_parts if can_train else family.scoring_from_parts)(checked["fit"], arrays, width)
    if reading is None and fit.n_features != width:
        raise ValueError(f"expected {fit.n_features} features, got {width}")
    classes = labels_from_json(checked["classes"])
    if fit.n_classes != classes.size:
        raise ValueError(f"expected the labels of {fit.n_classes} classes, got {classes.size}")
    if saved_threshold is not None and classes.size > 2:
        raise ValueError("expected no threshold of more than two classes")
    if kind is ModelHeader:  # the reading of a checkpoint is that of its position
        fit.check_reading(reading)
    used = None if reading is None else reading.feature_names()
    # A table may have columns that the model does not use.
    if names is not None and used is not None and [*filter(set(used).__contains__, names)] != used:
        raise ValueError("the names of its features are not those of the columns that its rows were read from")
    return Model(
        checked["estimator"], checked["parameters"], fit, classes, width,
        None if names is None else tuple(names), reading, provenance,
        None if saved_threshold is None else Threshold.from_json(saved_threshold),
    )  # fmt: skip


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all, and never one that `load_model` refuses."""
    header, arrays = model_parts(model)
    header["provenance"] = dict(model.provenance)
    if model.threshold is not None:
        header["threshold"] = model.threshold.to_json()
    with unreadable(f"{path}: not written"):
        model_from_parts(json.loads(json.dumps(header)), arrays)
    write_checksummed(path, MODEL, header, arrays)


def load_model(path: str | os.PathLike[str], can_train: bool = True) -> Model:
    """Return the model in a file; one that only scores leaves out what only training needs."""
    return model_in(path, *read_checksummed(path), can_train)


def model_in(
    path: str | os.PathLike[str], kind: str, header: Settings, arrays: NamedArrays, can_train: bool = True
) -> Model:
    """Return the model that was read from a file as its kind, header and arrays."""
    if kind != MODEL:
        raise UnreadableFileError(f"{path}: holds a {kind}, expected a model")
    with unreadable(path):
        return model_from_parts(header, arrays, can_train)


@contextmanager
def unreadable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever the body raises for the content of a file into one error that names the file."""
    try:
        yield
    except UnreadableFileError:
        raise
    except KeyError as error:
        if isinstance(error, OpaucError):
            raise UnreadableFileError(f"{path}: cannot be used: {one_line(error)}") from error
        raise UnreadableFileError(f"{path}: cannot be used: it lacks {error}") from error
    except (OpaucError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError, MemoryError) as error:
        raise UnreadableFileError(f"{path}: cannot be used: {one_line(error)}") from error


def plain(value: object) -> object:
    """Return a parameter as JSON; None for a random state, which the fit has used already."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return int(value) if isinstance(value, SupportsIndex) else None
