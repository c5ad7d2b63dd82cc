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

    Examples
    --------
    >>> from opauc.data.options import ReadOptions
    >>> ReadOptions.of_json(ReadOptions(label="spam").to_json()).label
    'spam'
    """

    format: str | None = None
    label: str | int | None = None  # name of the column, or its position from 0
    features: tuple[str | int, ...] | None = None
    categorical: tuple[str | int, ...] = ()
    missing: str = "error"
    hash_bits: int | None = None
    n_features: int | None = None
    zero_based: bool = False
    delimiter: str | None = None
    header: bool | None = None
    drop: tuple[str | int, ...] = ()  # columns to leave out
    groups: str | None = None  # name of the column with the groups of the rows; not a feature
    numeric: tuple[str | int, ...] = ()  # columns of numbers, whatever would be inferred
    decimal: str | None = None  # the decimal separator of numbers in text
    drop_unlabeled: bool = False  # whether rows without a label are left out; they are an error otherwise

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
