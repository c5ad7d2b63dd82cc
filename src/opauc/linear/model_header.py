"""What may stand in the header of a model file or of a checkpoint, and nothing else."""

from __future__ import annotations

from typing import TypedDict

from opauc.core.batch import SourceRecord
from opauc.core.json_schema import json_as
from opauc.core.saved_labels import SavedLabels
from opauc.data.encode.encoder import check_onehot_state
from opauc.data.options import ReadOptions
from opauc.types import Json, Settings

# A point of the learning curve: rows, the AUC, and its bounds.
POINT = 4


class Reading(TypedDict, total=False):
    """How rows are read; empty for a model fitted to arrays."""

    options: Json
    encoding: Json | None
    positive: str | int | float | None


class Forgotten(TypedDict):
    """Rows that were taken out again, by the names of their files."""

    data: list[str]
    rows: int


class ForgottenFiles(Forgotten, total=False):
    """The same, with what the files are known by."""

    sha256: list[str]


class Provenance(TypedDict, total=False):
    """Where a model comes from."""

    library: str
    rows: int
    skipped_rows: int
    inputs: list[SourceRecord]
    learning_curve: list[list[float]]
    forgotten: list[ForgottenFiles]


class Learned(TypedDict):
    """What every model says of itself."""

    estimator: str
    parameters: dict[str, bool | int | float | str | list[float] | None]
    fitted: dict[str, bool | int | float | str | list[float] | None]
    n_features: int
    classes: SavedLabels
    feature_names: list[str] | None
    learner: str | None


class ModelHeader(Learned, total=False):
    """What a model file may say beside it."""

    settings: dict[str, bool | int | float | str | list[float] | None]
    map: str
    reading: Reading
    provenance: Provenance


class CheckpointHeader(ModelHeader):
    """What a checkpoint says beside it."""

    plan: Json
    resume_position: Json
    positive: str | int | float | None
    next_look: int
    pace: list[list[int]]


def checked_header(header: Settings, kind: type[ModelHeader] = ModelHeader) -> ModelHeader:
    """Return the header of a file, refused unless all its parts are known and of their kind.

    Examples
    --------
    >>> from opauc.linear.model_header import checked_header
    >>> checked_header({"estimator": "OPAUC", "os": "system"})
    Traceback (most recent call last):
        ...
    ValueError: header: has a part 'os', which is not known here
    """
    checked = json_as(kind, header, "header")
    width, names = checked["n_features"], checked["feature_names"]
    if not 0 < width < 2**31:
        raise ValueError(f"expected a number of features, got {width!r}")
    if names is not None and len(names) != width:
        raise ValueError(f"expected {width} feature names, got {len(names)}")
    reading = checked.get("reading")
    if reading:
        ReadOptions.of_json(reading["options"])
        if reading.get("encoding") is not None:
            check_onehot_state(reading["encoding"])
    for point in checked.get("provenance", {}).get("learning_curve", ()):
        if len(point) != POINT or not (point[0] >= 0 and all(0 <= share <= 1 for share in point[1:])):
            raise ValueError(f"learning_curve: expected rows, an AUC and its bounds, got {point[:POINT]}")
    return checked
