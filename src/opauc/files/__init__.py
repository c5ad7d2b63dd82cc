"""The only door to disk: files that appear whole or not at all, and that say what they are."""

from opauc.files.atomic_write import atomic_write, file_behind
from opauc.files.json_types import json_as
from opauc.files.sealed_file import read_sealed, write_sealed
from opauc.files.workshop import sweep

__all__ = ["atomic_write", "file_behind", "json_as", "read_sealed", "sweep", "write_sealed"]
