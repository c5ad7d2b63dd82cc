"""What a user may say about an additive model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opauc.additive.objective import AUC, OBJECTIVES
from opauc.additive.policy import EFFORTS, NORMAL, SAMPLE_POLICY, SamplePolicy
from opauc.core.parameters import SHARE, SWITCH, Count, Option, Seed, is_whole, parameter
from opauc.data.schema.table import TableSchema
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.types import RandomState

AUTO = "auto"
# Pairs of inputs by name or by position.
InputPairs: TypeAlias = Sequence[tuple[str | int, str | int]]


@dataclass(frozen=True)
class CountOrAuto:
    """A whole number from `low` on, or "auto"."""

    low: int

    def check(self, value: object) -> int | str:
        """Return the number or the word."""
        if isinstance(value, str) and value == AUTO:
            return AUTO
        try:
            return Count(self.low).check(value)
        except ValueError as expected:
            raise ValueError(f"'auto' or {expected}") from None


@dataclass(frozen=True)
class Interactions:
    """How many pairs, "auto", or which: pairs of names or positions."""

    def check(self, value: object) -> int | str | tuple[tuple[str | int, str | int], ...]:
        """Return the number, the word, or the pairs as tuples."""
        if isinstance(value, str) or is_whole(value):
            return CountOrAuto(0).check(value)
        try:
            pairs = tuple((one, two) for one, two in value)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            pairs = ((None, None),)
        if not all(
            isinstance(name, str | int | np.integer) and not isinstance(name, bool) for pair in pairs for name in pair
        ):
            raise ValueError("'auto', an int in the range [0, inf), or pairs of names or positions of columns")
        return pairs


@dataclass(frozen=True)
class ColumnList:
    """Columns by name or position; None for none."""

    def check(self, value: object) -> tuple[str | int, ...]:
        """Return the names and positions."""
        columns = () if value is None else tuple(value) if isinstance(value, Iterable) else (None,)
        if isinstance(value, str) or not all(isinstance(column, str) or is_whole(column) for column in columns):
            raise ValueError("None or a list of names or positions of columns")
        return tuple(column if isinstance(column, str) else int(column) for column in columns)


@dataclass(frozen=True)
class Monotone:
    """Columns in which the score rises (1) or falls (-1): a dict by name or position, an array of all, or None."""

    def check(self, value: Any) -> tuple[tuple[str | int, int], ...]:
        """Return columns with a direction other than 0; an array has its columns by position."""
        try:
            listed = [] if value is None else list(value.items() if isinstance(value, Mapping) else value)
            if listed and is_whole(listed[0]):
                listed = list(enumerate(listed))
            pairs = [(column, int(sign)) for column, sign in listed if is_whole(sign) and int(sign) in (-1, 0, 1)]
        except (TypeError, ValueError):
            listed, pairs = [None], []
        if len(pairs) < len(listed) or not all(isinstance(column, str) or is_whole(column) for column, _ in pairs):
            raise ValueError("None, a dict of columns with 1 (increasing), -1 (decreasing) or 0, or an array of these")
        return tuple((column if isinstance(column, str) else int(column), sign) for column, sign in pairs if sign)


@dataclass(frozen=True)
class InteractionGroups:
    """Groups of columns by name or position, or None."""

    def check(self, value: Any) -> tuple[tuple[str | int, ...], ...] | None:
        """Return the groups."""
        if value is None:
            return None
        try:
            groups = [list(group) for group in value if not isinstance(group, str)]
            whole = len(groups) == len(value) and not isinstance(value, str)
        except TypeError:
            groups, whole = [], False
        if not whole or not all(isinstance(column, str) or is_whole(column) for group in groups for column in group):
            raise ValueError("None or a list of groups, each a list of names or positions of columns")
        return tuple(tuple(column if isinstance(column, str) else int(column) for column in group) for group in groups)


@dataclass(frozen=True)
class AdditiveSettings:
    """The settings of `OnePassGAM`, checked.

    Examples
    --------
    >>> from opauc.core.parameters import from_params
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from_params("OnePassGAM", AdditiveSettings, {"n_knots": 1})
    Traceback (most recent call last):
        ...
    ValueError: The 'n_knots' parameter of OnePassGAM must be 'auto' or an int in the range [3, inf). Got 1 instead.
    """

    max_columns: int = parameter(1500, Count(8))
    interactions: int | str | tuple[tuple[str | int, str | int], ...] = parameter(AUTO, Interactions())
    trees: bool = parameter(True, SWITCH)
    effort: str = parameter(NORMAL, Option(EFFORTS))
    n_knots: int | str = parameter(AUTO, CountOrAuto(3))
    init_size: int | str = parameter(AUTO, CountOrAuto(2))
    categorical: tuple[str | int, ...] = parameter((), ColumnList())
    numeric: tuple[str | int, ...] = parameter((), ColumnList())
    drop: tuple[str | int, ...] = parameter((), ColumnList())
    monotone_constraints: tuple[tuple[str | int, int], ...] = parameter((), Monotone())
    interaction_constraints: tuple[tuple[int, ...], ...] | None = parameter(None, InteractionGroups())
    objective: str = parameter(AUC, Option(OBJECTIVES))
    max_fpr: float = parameter(0.01, SHARE)
    random_state: RandomState = parameter(None, Seed())


def with_init_size(
    settings: AdditiveSettings, known_rows: int, policy: SamplePolicy = SAMPLE_POLICY, width: int = 1
) -> AdditiveSettings:
    """Return the settings with a number of rows for the initial sample: all that are known to come, up to a limit.

    The limit is lower for wide rows, for the sake of memory.

    Examples
    --------
    >>> from opauc.additive.settings import AdditiveSettings, with_init_size
    >>> [with_init_size(AdditiveSettings(), known).init_size for known in (0, 20_000, 90_000, 10**7)]
    [16384, 20000, 90000, 139264]
    """
    if settings.init_size != AUTO:
        return settings
    limit = max(policy.stream_init_size, min(policy.max_init_size, policy.max_bytes // (8 * max(1, width))))
    size = known_rows if known_rows <= fitted_whole(limit, policy) else limit
    return replace(settings, init_size=max(policy.stream_init_size, size))


def fitted_whole(init_size: int, policy: SamplePolicy = SAMPLE_POLICY) -> int:
    """Return the largest number of rows that are all fitted at once, with no initial sample drawn from them."""
    return int(init_size * policy.whole_factor)


class Inputs(NamedTuple):
    """The names of inputs, which of them are category codes, and which of them a user declares numeric."""

    names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    declared: NDArray[np.bool_]

    @classmethod
    def of(cls, schema: TableSchema | None, names: Sequence[str]) -> Inputs:
        """Return the inputs of a table, or the columns of an array with these names, all of them numbers."""
        if schema is not None:
            return cls(schema.inputs, schema.categorical, schema.declared)
        return cls(tuple(names), np.zeros(len(names), np.bool_), np.zeros(len(names), np.bool_))

    def find(self, parameter: str, column: str | int) -> int:
        """Return the position of an input; raise ParameterError with the nearest ones if there is none."""
        if column in self.names:
            return self.names.index(str(column))
        position = int(column) if is_whole(column) or str(column).isdecimal() else -1
        if not 0 <= position < len(self.names):
            raise ParameterError(Parameter(parameter), f": {unknown_name('column', column, self.names)}")
        return position


def with_positions(settings: AdditiveSettings, columns: Inputs) -> AdditiveSettings:
    """Return the settings with inputs by position: pairs, which must be of two inputs, and those declared numeric.

    Examples
    --------
    >>> from opauc.additive.settings import AdditiveSettings, Inputs, with_positions
    >>> inputs = Inputs.of(None, ["sex", "age"])
    >>> with_positions(AdditiveSettings(interactions=(("age", "sex"),)), inputs).interactions
    ((1, 0),)
    """
    numeric = tuple(np.flatnonzero(columns.declared).tolist())
    settings, inputs = replace(settings, categorical=(), numeric=numeric, drop=()), columns.names
    settings = _with_constraints(settings, columns)
    if not isinstance(settings.interactions, tuple):
        return settings
    places = {name: place for place, name in enumerate(inputs)}
    pairs = []
    for pair in settings.interactions:
        found = [places.get(name, -1) if isinstance(name, str) else int(name) for name in pair]
        if not all(0 <= place < len(inputs) for place in found) or found[0] == found[1]:
            raise ValueError(f"interactions: expected two different columns of {', '.join(inputs)}, got {pair}")
        pairs.append((found[0], found[1]))
    return replace(settings, interactions=tuple(pairs))


def _with_constraints(settings: AdditiveSettings, columns: Inputs) -> AdditiveSettings:
    """Return the settings with the inputs of constraints by position; monotone ones must be numbers."""
    monotone, groups = [], settings.interaction_constraints
    for column, sign in settings.monotone_constraints:
        j = columns.find("monotone_constraints", column)
        if columns.categorical[j]:
            raise ParameterError(
                Parameter("monotone_constraints"), f": {columns.names[j]!r} is categorical, and categories have no "
                "order; take a numeric column, or add it to ", Parameter("numeric"),
            )  # fmt: skip
        monotone.append((j, sign))
    if groups is not None:
        groups = tuple(tuple(columns.find("interaction_constraints", name) for name in group) for group in groups)
    return replace(settings, monotone_constraints=tuple(monotone), interaction_constraints=groups)
