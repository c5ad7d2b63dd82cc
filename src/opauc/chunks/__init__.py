"""Files, folders, pipes and arrays in, labelled chunks out: the only room that parses and knows line numbers."""

from opauc.chunks.bad_rows import BadRows
from opauc.chunks.data_stream import DataStream
from opauc.chunks.labelled_chunk import Bookmark, LabelledChunk
from opauc.chunks.read_options import ReadOptions

__all__ = ["BadRows", "Bookmark", "DataStream", "LabelledChunk", "ReadOptions"]
