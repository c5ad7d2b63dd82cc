"""The exceptions this library raises.

OpaucError
├── StatisticsOverflow   (ValueError)  sums of the data left the range of float64
├── IncompatibleMoments  (ValueError)  statistics that do not belong together, or not to those rows
├── DivergedError        (ValueError)  a step size so large that the weights left the range of float64
├── InputError           (ValueError)  data that cannot be read
│   ├── MalformedRow                   a row that says nothing clear; names file, line and column
│   ├── TooManyBadRows                 more rows skipped than allowed
│   └── InputChanged                   a file that is not what it was when reading began
└── UnreadableFile       (ValueError)  a model, statistics or checkpoint file that is broken or from elsewhere

DivergenceWarning        (UserWarning) weights that do far worse than none: the step size looks too large

Each error is a `ValueError` too, so code written for scikit-learn catches them.
Wrong arguments raise a plain `ValueError` in scikit-learn's words.
"""


class OpaucError(Exception):
    """Anything this library refuses to do, with the reason as its message."""


class StatisticsOverflow(OpaucError, ValueError):
    """Sums of the data left the range of float64."""


class IncompatibleMoments(OpaucError, ValueError):
    """Statistics that cannot be merged, taken out or loaded."""


class DivergedError(OpaucError, ValueError):
    """Descent left the range of float64: the step size is too large for the data."""


class InputError(OpaucError, ValueError):
    """Data that cannot be read."""


class MalformedRow(InputError):
    """A row that says nothing clear.

    >>> from opauc.errors import MalformedRow
    >>> str(MalformedRow("a9a.txt.gz", 17, "feature index 3 follows 9; libsvm indices must increase"))
    'a9a.txt.gz, line 17: feature index 3 follows 9; libsvm indices must increase'
    >>> str(MalformedRow("a.csv", 2, "'x' is not a number", column="age"))
    "a.csv, line 2, column age: 'x' is not a number"
    """

    def __init__(self, source: str, line: int, message: str, column: str | int | None = None) -> None:
        where = f"{source}, line {line}" if column is None else f"{source}, line {line}, column {column}"
        super().__init__(f"{where}: {message}")
        self.source, self.line, self.column, self.reason = source, line, column, message


class TooManyBadRows(InputError):
    """More rows skipped than allowed."""


class InputChanged(InputError):
    """A file that is not what it was when reading began."""


class UnreadableFile(OpaucError, ValueError):
    """A model, statistics or checkpoint file that is broken or was not made by this library."""


class DivergenceWarning(UserWarning):
    """Descent does far worse than zero weights: the step size looks too large for the data."""
