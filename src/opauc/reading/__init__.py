"""Files, folders, pipes and arrays in, labelled parts and chunks out: the only room that parses and knows line numbers.

Parts hold the columns of a source; whoever makes a stream gives it an `Encoder` that turns them into features.
"""

from opauc.reading.bad_rows import BadRows
from opauc.reading.data_stream import DataStream
from opauc.reading.encoder import Encoder, Encoding
from opauc.reading.labelled_chunk import Bookmark, LabelledChunk
from opauc.reading.read_options import ReadOptions

__all__ = ["BadRows", "Bookmark", "DataStream", "Encoder", "Encoding", "LabelledChunk", "ReadOptions"]
