"""Files, folders, pipes and arrays in, labeled parts and chunks out: the only room that parses and knows line numbers.

Parts hold the columns of a source; whoever makes a stream gives it an `Encoder` that turns them into features.
"""

from opauc.core.batch import Batch, ResumePosition
from opauc.data.bad_rows import BadRows
from opauc.data.encode.encoder import Encoder, OneHotState
from opauc.data.options import ReadOptions
from opauc.data.stream import DataStream

__all__ = ["BadRows", "Batch", "DataStream", "Encoder", "OneHotState", "ReadOptions", "ResumePosition"]
