"""The thresholds by which column types are inferred, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SchemaPolicy:
    """When a column is a number, a category, a date, an identifier or free text.

    The defaults were tuned on public tables (see `experiments/`). They decide
    only what is inferred: a user who declares a column categorical or numeric
    overrides them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.infer import infer_column_type
    >>> from opauc.data.schema.policy import SchemaPolicy
    >>> keys = pa.array(["k1", "k2", "k3"])
    >>> infer_column_type("key", keys).kind, infer_column_type("key", keys, policy=SchemaPolicy(min_values=3)).kind
    ('category', 'identifier')
    """

    # Identifiers and free text.
    min_values: int = 100  # values; fewer cannot tell an identifier from a category
    identifier_share: float = 0.9  # share of distinct values from which a text column is an identifier
    named_identifier_share: float = 0.5  # the same where the name of the column ends in id, uuid, index, ...
    free_text_share: float = 0.5  # share of distinct values from which text of several words is free text
    free_text_words: float = 4.0  # mean number of words per distinct value of free text
    # Row counters: whole numbers that are all different.
    counter_density: float = 0.5  # share of their range that the numbers fill
    counter_even_rows: int = 1000  # rows from which numbers evenly spread over a wider range count as a counter too
    counter_max_distance: float = 1.5  # Kolmogorov distance from an even spread, times the square root of the rows
    # Text columns of numbers.
    max_missing_markers: int = 3  # distinct strings beside the numbers, each taken as a missing-value marker
    min_number_share: float = 0.5  # share of values that must be numbers where there are such markers
    max_unreadable_share: float = 0.005  # unreadable values per number that are tolerated and count as missing
    # Integers beyond 2**53, which float64 does not tell apart.
    max_merged_share: float = 0.01  # share of distinct ones that become equal; times in nanoseconds stay far below it
    # Text columns of dates.
    max_date_layouts: int = 3  # layouts that may be mixed in one column
    min_layout_share: float = 0.05  # share of values that each of several layouts must read
    min_date_share: float = 0.95  # share of values that must be dates
    layout_screen_size: int = 1000  # distinct values in which a layout must read at least one date
    # Whole numbers that are category codes: neighboring codes are no more alike than any two.
    min_codes: int = 40  # distinct values
    min_rows_per_code: int = 10  # rows; rarer values are left out of the test
    max_code_share: float = 0.5  # share of rows of the most frequent value, and of those left out as rare
    min_code_z: float = 20.0  # standard deviations by which positive rates differ between values
    min_neighbor_variance: float = 0.7  # variance between neighbors, relative to that between any two values
    # Categories before the schema is frozen; later ones are pooled with the rare ones.
    max_categories: int = 2**17  # of a column, from which on it adds none: memory
    growing_rows: int = 2**20  # of a stream, in which categories are added: a schema grows with each checkpoint


DEFAULT_POLICY = SchemaPolicy()
