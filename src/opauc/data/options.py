"""The options of reading, which are saved with the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import get_type_hints

from opauc.core.json_schema import json_as
from opauc.data.schema.numbers import DECIMALS
from opauc.types import Json, Settings

MISSING = ("error", "zero", "mean")


@dataclass(frozen=True)
class ReadOptions:
    """How to read data; whatever is None is inferred from the data itself.

    Parameters
    ----------
    format : str, default=None
        Format of files: "csv", "parquet", "libsvm", ...
    label : str or int, default=None
        The label column, by name or by position from 0.
    features : tuple of str or int, default=None
        Columns to use; by default all but the label.
    categorical : tuple of str or int, default=()
        Columns to read as categories, whatever would be inferred.
    missing : {"error", "zero", "mean"}, default="error"
        What linear models take missing numbers for.
    hash_bits : int, default=None
        Hash features into 2**hash_bits columns.
    n_features : int, default=None
        Number of features of LIBSVM rows.
    zero_based : bool, default=False
        Whether LIBSVM indices start at 0.
    delimiter : str, default=None
        Delimiter of a text table.
    header : bool, default=None
        Whether the first line of a text table is a header.
    drop : tuple of str or int, default=()
        Columns to leave out.
    groups : str, default=None
        Column with the groups of the rows, which is not a feature.
    numeric : tuple of str or int, default=()
        Columns to read as numbers, whatever would be inferred.
    decimal : str, default=None
        The decimal separator of numbers in text.
    drop_unlabeled : bool, default=False
        Whether rows without a label are left out; they are an error otherwise.

    Examples
    --------
    >>> from opauc.data.options import ReadOptions
    >>> ReadOptions.of_json(ReadOptions(label="spam").to_json()).label
    'spam'
    """

    format: str | None = None
    label: str | int | None = None
    features: tuple[str | int, ...] | None = None
    categorical: tuple[str | int, ...] = ()
    missing: str = "error"
    hash_bits: int | None = None
    n_features: int | None = None
    zero_based: bool = False
    delimiter: str | None = None
    header: bool | None = None
    drop: tuple[str | int, ...] = ()
    groups: str | None = None
    numeric: tuple[str | int, ...] = ()
    decimal: str | None = None
    drop_unlabeled: bool = False

    def __post_init__(self) -> None:
        if self.missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}, got {self.missing!r}")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= 30:
            raise ValueError(f"hash_bits must lie between 1 and 30, got {self.hash_bits}")
        if self.n_features is not None and not 1 <= self.n_features < 2**31:
            raise ValueError(f"n_features must lie between 1 and {2**31 - 1}, got {self.n_features}")
        if self.decimal not in (None, *DECIMALS):
            raise ValueError(f"decimal must be a point or a comma, got {self.decimal!r}")
        if self.hash_bits is not None and self.n_features is not None:
            raise ValueError("hash_bits fixes the number of features; leave n_features out")

    @property
    def decimals(self) -> tuple[str, ...]:
        """The decimal separators that numbers in text may have."""
        return DECIMALS if self.decimal is None else (self.decimal,)

    def with_format(self, format_: str | None) -> ReadOptions:
        """Return the same options for data of another format, None to infer it."""
        return replace(self, format=format_)

    def to_json(self) -> Json:
        """Return the options as JSON has them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def of_json(cls, saved: Settings) -> ReadOptions:
        """Return the options `to_json` gave."""
        names = {field.name for field in fields(cls)}
        if set(saved) != names:
            raise ValueError(f"expected reading options {', '.join(sorted(names))}, got {', '.join(sorted(saved))}")
        kinds = get_type_hints(cls)
        for name, value in saved.items():
            json_as(kinds[name], value, f"reading option {name}")
        values: Json = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
        return cls(**values)


DEFAULTS = ReadOptions()
