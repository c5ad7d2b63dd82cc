"""The exceptions this library raises.

OpaucError
├── StatisticsOverflowError   (ValueError)  sums of the data left the range of float64
├── IncompatibleMomentsError  (ValueError)  sums that do not belong together, or not to those rows
├── UnknownNameError          (ValueError)  a solver, format or estimator of an unknown name
├── UnsupportedOperationError (ValueError)  something this kind of model cannot do: merge, forget, take weights
├── EngineError               (ValueError)  a cluster or a device that failed
│   └── MissingEngineError                  a library, cluster or device that is not there
├── DivergedError             (ValueError)  a step size so large that the weights left the range of float64
├── InputError                (ValueError)  data that cannot be read
│   ├── ParameterError                      a parameter that is wrong by itself or with the others
│   ├── MalformedRowError                   a row that cannot be read; names file, line and column
│   ├── TooManyBadRowsError                 more rows skipped than allowed
│   └── InputChangedError                   a file that changed since reading began
└── UnreadableFileError       (ValueError)  a model, statistics or checkpoint file that is broken or of another program

InputWarning                  (UserWarning) data that is read by a guess
DivergenceWarning             (UserWarning) weights far worse than zero weights: the step size looks too large

Each of them but `OpaucError` itself is a `ValueError` too, so code written for scikit-learn catches them.
Wrong arguments raise a plain `ValueError` as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, TypeAlias


class Parameter(NamedTuple):
    """A parameter in a message, with its value where that matters; `...` stands for a value that the user knows.

    >>> from opauc.errors import Parameter
    >>> str(Parameter("alpha")), str(Parameter("alpha", "auto")), str(Parameter("label", ...))
    ('alpha', "alpha='auto'", 'label=...')
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"{self.name}={'...' if self.value is ... else repr(self.value)}"


# A message is a sequence of these.
Part: TypeAlias = str | Parameter


class Message(Exception):  # noqa: N818
    """An error or a warning whose message is made of strings and parameters.

    >>> from opauc.errors import EngineError, Parameter
    >>> error = EngineError(Parameter("device", "cuda"), ": no memory is left")
    >>> str(error), error.render(lambda parameter: f"--engine {parameter.value}")
    ("device='cuda': no memory is left", '--engine cuda: no memory is left')
    """

    def __init__(self, *parts: Part) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def render(self, wording: Callable[[Parameter], str]) -> str:
        """Return the message with its parameters in other words: the command shows them as options.

        Parameters
        ----------
        wording : callable
            Returns the text for a `Parameter`.

        Returns
        -------
        text : str
            The message.
        """
        return "".join(wording(part) if isinstance(part, Parameter) else part for part in self.parts)

    def __reduce__(self) -> tuple[Callable[..., Message], tuple[Any, ...]]:
        return type(self), self.parts


class OpaucError(Message):
    """The base of all errors of this library."""


def nearest_first(name: object, names: Iterable[object]) -> list[str]:
    """Return names, those most like `name` first.

    >>> from opauc.errors import nearest_first
    >>> nearest_first("churn", ["age", "Churn", "city"])
    ['Churn', 'age', 'city']
    """
    every = list(map(str, names))
    spelled = {other.casefold(): other for other in every}
    near = [spelled[match] for match in get_close_matches(str(name).casefold(), spelled)]
    return [*near, *(other for other in every if other not in near)]


def unknown_name(kind: str, name: object, names: Iterable[object]) -> str:
    """Return the message about a name that is none of those expected.

    >>> from opauc.errors import unknown_name
    >>> unknown_name("solver", "exakt", ["sgd", "exact"])
    "unknown solver 'exakt'; expected one of exact, sgd"
    """
    return f"unknown {kind} {name!r}; expected one of {', '.join(nearest_first(name, names))}"


class StatisticsOverflowError(OpaucError, ValueError):
    """Sums of the data left the range of float64."""


class IncompatibleMomentsError(OpaucError, ValueError):
    """Statistics that cannot be merged, subtracted or loaded."""


class UnknownNameError(OpaucError, KeyError, ValueError):
    """A solver, a format or an estimator of a name that is not registered."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError shows its argument in quotes


class UnsupportedOperationError(OpaucError, ValueError):
    """Something this kind of model cannot do, whatever the data."""


class EngineError(OpaucError, ValueError):
    """A cluster or a device that failed: a worker out of memory, a device that is too small."""


class MissingEngineError(EngineError):
    """A library, a cluster or a device that a feature needs and that is not there; the message names the extra."""


class DivergedError(OpaucError, ValueError):
    """Gradient descent left the range of float64: the step size is too large for the data."""


class InputError(OpaucError, ValueError):
    """Data that cannot be read."""


class ParameterError(InputError):
    """A parameter that is wrong by itself or with the others."""


class MalformedRowError(InputError):
    """A row that cannot be read: the reason, and advice as further parts of the message.

    >>> from opauc.errors import MalformedRowError, Parameter
    >>> str(MalformedRowError("a9a.txt.gz", 17, "feature index 3 follows 9; libsvm indices must increase"))
    'a9a.txt.gz, line 17: feature index 3 follows 9; libsvm indices must increase'
    >>> str(MalformedRowError("a.csv", 2, "'x' is not a number", "; set ", Parameter("drop", ["a"]), column="a"))
    "a.csv, line 2, column a: 'x' is not a number; set drop=['a']"
    """

    source: str
    line: int
    reason: str
    advice: tuple[Part, ...]
    column: str | int | None

    def __init__(self, source: str, line: int, reason: str, *advice: Part, column: str | int | None = None) -> None:
        where = f"{source}, line {line}" if column is None else f"{source}, line {line}, column {column}"
        super().__init__(f"{where}: {reason}", *advice)
        self.source, self.line, self.reason, self.advice, self.column = source, line, reason, advice, column

    def __reduce__(self) -> tuple[Callable[..., Message], tuple[Any, ...]]:
        return partial(type(self), column=self.column), (self.source, self.line, self.reason, *self.advice)


class TooManyBadRowsError(InputError):
    """More rows skipped than allowed."""


class InputChangedError(InputError):
    """A file that is not what it was when reading began."""


class UnreadableFileError(OpaucError, ValueError):
    """A model, statistics or checkpoint file that is broken or of another program."""


class InputWarning(Message, UserWarning):
    """Data that is read by a guess."""


class DivergenceWarning(UserWarning):
    """Gradient descent does far worse than zero weights: the step size looks too large for the data."""


class TreesUnavailableWarning(UserWarning):
    """The library that grows trees cannot be loaded: the model is fitted without them."""
