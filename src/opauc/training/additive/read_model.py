"""An additive model with what is known of the columns of the rows that it read."""

from __future__ import annotations

from dataclasses import replace

from opauc.features.number_reading import NumberReading
from opauc.reading.labelled_chunk import Bookmark
from opauc.training.additive.additive_file import AdditiveModel
from opauc.training.additive.gam_recipe import columns_at


def read_model(model: AdditiveModel, reading: NumberReading, bookmark: Bookmark) -> AdditiveModel:
    """Return the model of rows read up to a bookmark, its card fixed, as it serves rows that are read so."""
    solution, columns = model.solution.with_card(), columns_at(bookmark)
    if columns is not None:
        columns = columns.kept(solution.current.card.kept_numbers())
    label = (bookmark.numbered() or {"label": None})["label"]
    return replace(
        model,
        solution=solution,
        columns=columns,
        n_features=model.n_features if columns is None else len(columns.columns),
        reading=replace(reading, label=label).to_json(),
    )
