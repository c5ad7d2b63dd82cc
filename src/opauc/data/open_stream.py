"""Streams of rows from files or memory, for linear models."""

from __future__ import annotations

from collections.abc import Sequence

from opauc.core.batch import ResumePosition
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import OneHotState
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.options import DEFAULTS, ReadOptions
from opauc.data.stream import DataStream
from opauc.data.table_source import Source

START = ResumePosition()


def open_stream(
    paths: Sequence[Source],
    options: ReadOptions = DEFAULTS,
    resume_position: ResumePosition = START,
    bad_rows: BadRows | None = None,
    *,
    encoding: OneHotState | None = None,
    labeled: bool = True,
) -> DataStream:
    """Return the stream of files, patterns, folders or standard input, from a resume position on.

    Parameters
    ----------
    paths : sequence of paths
        Files, patterns, folders, "-".
    options : ReadOptions
        How to read them.
    resume_position : ResumePosition
        Where to begin.
    bad_rows : BadRows, optional
        Whether bad rows raise or are skipped.
    encoding : OneHotState, optional
        The state of the encoder of a trained model; it is then frozen.
    labeled : bool
        Whether to read labels; without, tables may lack them.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.open_stream import open_stream
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n"), file.flush()
    ...     [batch] = open_stream([file.name]).batches()
    >>> batch.rows, batch.labels
    (array([[30.],
           [40.]]), array(['no', 'yes'], dtype='<U3'))
    """
    encoder = encoder_of(options, labeled, groups=options.groups)
    state = encoding if encoding is not None else resume_position.onehot_state()
    if state is not None:
        encoder = encoder.with_state(state, frozen=encoding is not None)
    return DataStream(paths, options, encoder, resume_position, bad_rows)


def stream_of_memory(data: object, labels: object = None, options: ReadOptions = DEFAULTS) -> DataStream:
    """Return the stream of an array, sparse rows or a table in memory, with its labels separate or in a column.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.open_stream import stream_of_memory
    >>> [batch] = stream_of_memory(np.eye(2), labels=["no", "yes"]).batches()
    >>> batch.rows.shape, batch.source
    ((2, 2), 'data in memory')
    """
    return DataStream.of_memory(data, labels, options, encoder_of(options))


def encoder_of(
    options: ReadOptions, labeled: bool = True, passthrough: Sequence[str] = (), groups: str | None = None
) -> OneHotEncoder:
    """Return a new encoder for the options; `groups` is the column of groups, if it is read."""
    hashing = None if options.hash_bits is None else HashedFeatures(options.hash_bits)
    columns = TableColumns(
        options.label, options.features, options.categorical, labeled, None, options.drop, passthrough, groups,
        decimals=options.decimals,
    )  # fmt: skip
    return OneHotEncoder(columns, hashing, options.missing)
