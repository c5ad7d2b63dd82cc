"""Maps to features, fixed from a table's columns or a stream's first rows: categories, hashing, projections."""

from opauc.features.feature_map import FeatureMap, LinearMap
from opauc.features.open_stream import open_stream, stream_of_memory
from opauc.features.table_encoder import TableEncoder

__all__ = ["FeatureMap", "LinearMap", "TableEncoder", "open_stream", "stream_of_memory"]
