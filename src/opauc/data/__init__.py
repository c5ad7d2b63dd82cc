"""Reading data: files, folders, pipes, arrays and tables become batches of labeled rows.

A reader (`opauc.data.formats`) turns one source into raw batches, an `Encoder`
(`opauc.data.encode`) turns these into rows of numbers, and a `DataStream` does
both for all sources of a run. Column types, numbers and dates in text are
inferred in `opauc.data.schema`.

What users may need:

ReadOptions      how to read: format, label, features, missing values, ...
BadRows          what to do with rows that cannot be read: raise, or skip and count
open_stream      the batches of files, patterns, folders or standard input
stream_of_memory the batches of an array, sparse rows, a frame or an Arrow table
find_sources     the files that paths, patterns and folders stand for
SchemaPolicy     the thresholds of column type inference
DataStream, Batch, ResumePosition   a stream, what it yields, and where it can resume
Encoder, OneHotState                the interface of encoders, and a saved state
"""

from opauc.core.batch import Batch, ResumePosition
from opauc.data.bad_rows import BadRows
from opauc.data.encode.encoder import Encoder, OneHotState
from opauc.data.find_sources import find_sources
from opauc.data.open_stream import open_stream, stream_of_memory
from opauc.data.options import ReadOptions
from opauc.data.schema.policy import SchemaPolicy
from opauc.data.stream import DataStream

__all__ = [
    "BadRows",
    "Batch",
    "DataStream",
    "Encoder",
    "OneHotState",
    "ReadOptions",
    "ResumePosition",
    "SchemaPolicy",
    "find_sources",
    "open_stream",
    "stream_of_memory",
]
