"""Fit an additive model to a table or a stream whose label is one of its columns, batch by batch."""

from __future__ import annotations

from opauc.additive.factory import AdditiveFactory
from opauc.additive.file_sample import open_files
from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer
from opauc.core.model import Model
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.options import ReadOptions
from opauc.data.table_source import TableSource
from opauc.metrics.progressive import ProgressiveValidation


def fit_stream(factory: AdditiveFactory, source: TableSource, options: ReadOptions) -> Model:
    """Return the model of all rows of a table, as `opauc train` trains that of a file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.additive.factory import AdditiveFactory
    >>> from opauc.additive.stream_fit import fit_stream
    >>> from opauc.data.options import ReadOptions
    >>> from opauc.data.tables import table_source
    >>> table = pa.table({"age": [20.0, 30.0, 60.0, 70.0] * 30, "y": [0, 0, 1, 1] * 30})
    >>> fit_stream(AdditiveFactory({}), table_source(table), ReadOptions(label="y")).fit.counts
    ClassCounts(negative=60.0, positive=60.0)
    """
    opening = open_files(factory, [source], OrdinalReading(options), ClassLabels(several=True))
    trainer = Trainer(opening.factory, opening.labels, monitor=ProgressiveValidation())
    for batch in opening.reading.training_stream([source], trainer.position).batches():
        trainer.train(batch)
    return trainer.finish(opening.reading)
