"""Files, folders, pipes and arrays in, labelled chunks out: the only room that parses and knows line numbers."""

from opauc.reading.bad_rows import BadRows
from opauc.reading.data_stream import DataStream
from opauc.reading.labelled_chunk import Bookmark, LabelledChunk
from opauc.reading.read_options import ReadOptions

__all__ = ["BadRows", "Bookmark", "DataStream", "LabelledChunk", "ReadOptions"]
