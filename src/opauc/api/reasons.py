"""The reasons for the scores of the rows of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opauc.additive.terms.explain import Terms
from opauc.additive.terms.reasons import ATTRIBUTIONS, DIRECTIONS, FEATURE, REFERENCES, find_reasons, input_features
from opauc.api.describe import input_names, terms_of
from opauc.core.model import Model
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.types import Rows


@dataclass(frozen=True)
class ReasonOptions:
    """How many reasons, against which reference, in which direction, and whether they are terms or features.

    Examples
    --------
    >>> from opauc.api.reasons import ReasonOptions
    >>> ReasonOptions(2).columns
    ['reason_1', 'reason_2']
    """

    k: int
    reference: str = "mean"
    direction: str = "lower"
    by: str = "term"

    @property
    def columns(self) -> list[str]:
        """Names of the columns of reasons."""
        return [f"reason_{number + 1}" for number in range(self.k)]

    def check(self) -> None:
        """Raise unless every option is one of those known."""
        known = {"reference": REFERENCES, "direction": DIRECTIONS, "by": ATTRIBUTIONS}
        for name, values in known.items():
            if (value := getattr(self, name)) not in values:
                parameter = "reasons_by" if name == "by" else name
                raise ParameterError(Parameter(parameter), f": {unknown_name(name, value, values)}")


@dataclass(frozen=True, eq=False)
class RowReasons:
    """The terms of a model, and what is asked for."""

    terms: Terms
    options: ReasonOptions
    features: tuple[str, ...] | None

    @classmethod
    def of(cls, model: Model, options: ReasonOptions) -> RowReasons:
        """Return what finds the reasons for the scores of a model; raise for one without terms."""
        options.check()
        terms = terms_of(model, f"only OnePassGAM gives reasons, and this is a model of {model.estimator}")
        schema = None if model.reading is None else model.reading.schema
        features = input_features(schema, input_names(model)) if options.by == FEATURE else None
        return cls(terms, options, features)

    def column_values(self, rows: Rows) -> list[list[str | None]]:
        """Return the names of the first reason of each row, of the second, and so on; None where there are fewer."""
        options = self.options
        numbers = np.asarray(rows, np.float64)
        found = find_reasons(self.terms, numbers, options.k, options.reference, options.direction, self.features)
        columns = [list(names) for names in zip(*found.names_of_rows(), strict=True)]
        return columns + [[None] * len(numbers)] * (options.k - len(columns))
