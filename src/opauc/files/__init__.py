"""The only door to disk: files that appear whole or not at all, and that say what they are."""

from opauc.files.atomic_write import atomic_write
from opauc.files.sealed_file import read_sealed, write_sealed

__all__ = ["atomic_write", "read_sealed", "write_sealed"]
