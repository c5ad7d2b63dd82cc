"""The exceptions this library raises.

OpaucError
├── StatisticsOverflowError   (ValueError)  sums of the data left the range of float64
├── IncompatibleMomentsError  (ValueError)  sums that do not belong together, or not to those rows
├── UnknownNameError          (ValueError)  a solver, format or estimator of an unknown name
├── UnsupportedOperationError (ValueError)  something this kind of model cannot do: merge, forget, take weights
├── EngineError               (ValueError)  a cluster or a device that failed
│   └── MissingEngineError                  one that is not installed or not available
├── DivergedError             (ValueError)  a step size so large that the weights left the range of float64
├── InputError                (ValueError)  data that cannot be read
│   ├── ParameterError                      a parameter that is wrong by itself or with the others
│   ├── MalformedRowError                   a row that cannot be read; names file, line and column
│   ├── TooManyBadRowsError                 more rows skipped than allowed
│   └── InputChangedError                   a file that changed since reading began
└── UnreadableFileError       (ValueError)  a model, statistics or checkpoint file that is broken or of another program

DivergenceWarning             (UserWarning) weights far worse than zero weights: the step size looks too large

Each error is a `ValueError` too, so code written for scikit-learn catches them.
Wrong arguments raise a plain `ValueError` as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Parameter(NamedTuple):
    """A parameter in a message, with its value where that matters.

    >>> from opauc.errors import Parameter
    >>> str(Parameter("alpha")), str(Parameter("alpha", "auto")), str(Parameter("rank", 5))
    ('alpha', "alpha='auto'", 'rank=5')
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class OpaucError(Exception):
    """The base of all errors of this library; its message is made of strings and parameters.

    >>> from opauc.errors import EngineError, Parameter
    >>> error = EngineError(Parameter("device", "cuda"), ": no memory is left")
    >>> str(error), error.render(lambda parameter: f"--engine {parameter.value}")
    ("device='cuda': no memory is left", '--engine cuda: no memory is left')
    """

    def __init__(self, *parts: str | Parameter) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def render(self, wording: Callable[[Parameter], str]) -> str:
        """Return the message with its parameters in other words: the command shows them as options."""
        return "".join(wording(part) if isinstance(part, Parameter) else str(part) for part in self.parts)

    def __reduce__(self) -> tuple[type[OpaucError], tuple[object, ...]]:
        return type(self), self.parts


class StatisticsOverflowError(OpaucError, ValueError):
    """Sums of the data left the range of float64."""


class IncompatibleMomentsError(OpaucError, ValueError):
    """Statistics that cannot be merged, taken out or loaded."""


class UnknownNameError(OpaucError, KeyError, ValueError):
    """A solver, a format or an estimator of a name that is not registered."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError shows its argument in quotes


class UnsupportedOperationError(OpaucError, ValueError):
    """Something this kind of model cannot do, whatever the data."""


class EngineError(OpaucError, ValueError):
    """A cluster or a device that failed: a worker out of memory, a device that is too small."""


class MissingEngineError(EngineError):
    """A cluster or a device that is not installed or not available."""


class DivergedError(OpaucError, ValueError):
    """Descent left the range of float64: the step size is too large for the data."""


# The value of a hint that is a switch.
TRUE_OR_FALSE = "True or False"


class Hint(NamedTuple):
    """A parameter that would help, with its value where that is known, as a message names it: in brackets.

    >>> from opauc.errors import Hint
    >>> str(Hint("categorical", "color")), str(Hint("label"))
    ('(categorical=color)', '(label=...)')
    """

    parameter: str
    value: str = ""

    def __str__(self) -> str:
        return f"({self.parameter}={self.value or '...'})"


class InputError(OpaucError, ValueError):
    """Data that cannot be read; `hints` are the parameters its message names.

    >>> from opauc.errors import InputError, Hint
    >>> error = InputError(f"a.csv: name the label {Hint('label')}", Hint("label"))
    >>> error.reworded(lambda hint: f"(--{hint.parameter})")
    'a.csv: name the label (--label)'
    """

    def __init__(self, message: str, *hints: Hint) -> None:
        super().__init__(message)
        self.hints = hints

    def __reduce__(self) -> tuple[type[OpaucError], tuple[object, ...]]:
        return type(self), (str(self), *self.hints)

    def reworded(self, wording: Callable[[Hint], str]) -> str:
        """Return the message with its hints worded by a function: the command names flags."""
        message = str(self)
        for hint in self.hints:
            message = message.replace(str(hint), wording(hint))
        return message


class ParameterError(InputError):
    """A parameter that is wrong by itself or with the others; the command shows its parts as options.

    >>> from opauc.errors import Parameter, ParameterError
    >>> error = ParameterError(Parameter("cv"), " is for a penalty to be chosen; add ", Parameter("alpha", "auto"))
    >>> str(error)
    "cv is for a penalty to be chosen; add alpha='auto'"
    >>> error.render(lambda parameter: f"--{parameter.name}")
    '--cv is for a penalty to be chosen; add --alpha'
    """

    def __init__(self, *parts: str | Parameter) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def __reduce__(self) -> tuple[type[OpaucError], tuple[object, ...]]:
        return type(self), self.parts


class MalformedRowError(InputError):
    """A row that cannot be read.

    >>> from opauc.errors import MalformedRowError
    >>> str(MalformedRowError("a9a.txt.gz", 17, "feature index 3 follows 9; libsvm indices must increase"))
    'a9a.txt.gz, line 17: feature index 3 follows 9; libsvm indices must increase'
    >>> str(MalformedRowError("a.csv", 2, "'x' is not a number", column="age"))
    "a.csv, line 2, column age: 'x' is not a number"
    """

    def __init__(
        self, source: str, line: int, message: str, column: str | int | None = None, hints: tuple[Hint, ...] = ()
    ) -> None:
        where = f"{source}, line {line}" if column is None else f"{source}, line {line}, column {column}"
        super().__init__(f"{where}: {message}", *hints)
        self.source, self.line, self.column, self.reason = source, line, column, message

    def __reduce__(self) -> tuple[type[OpaucError], tuple[object, ...]]:
        """Return how to unpickle the error."""
        return type(self), (self.source, self.line, self.reason, self.column, self.hints)


class TooManyBadRowsError(InputError):
    """More rows skipped than allowed."""


class InputChangedError(InputError):
    """A file that is not what it was when reading began."""


class UnreadableFileError(OpaucError, ValueError):
    """A model, statistics or checkpoint file that is broken or of another program."""


class DivergenceWarning(UserWarning):
    """Descent does far worse than zero weights: the step size looks too large for the data."""
