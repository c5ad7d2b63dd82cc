"""The errors and warnings of this library.

OpaucError
├── StatisticsOverflowError   (ValueError)  sums of the data left the range of float64
├── IncompatibleMomentsError  (ValueError)  models that cannot be merged, or rows that were never added
├── UnknownNameError          (KeyError, ValueError)  no solver, format or estimator has this name
├── UnsupportedOperationError (ValueError)  something this kind of model cannot do: merge, forget, take weights
├── EngineError               (ValueError)  a cluster or a device failed
│   └── MissingEngineError                  a package, cluster or device is not there
├── DivergedError             (ValueError)  gradient descent left the range of float64: the step size is too large
├── InputError                (ValueError)  data that cannot be read
│   ├── ParameterError                      a parameter that does not fit the data or the other parameters
│   ├── MalformedRowError                   a row that cannot be read; names file, line and column
│   ├── TooManyBadRowsError                 more rows were skipped than allowed
│   └── InputChangedError                   a file changed while it was read
└── UnreadableFileError       (ValueError)  a model, statistics or checkpoint file is broken or of another program

InputWarning                  (UserWarning) a guess about the data that may be wrong
DivergenceWarning             (UserWarning) weights far worse than zero weights: the step size looks too large
TreesUnavailableWarning       (UserWarning) LightGBM cannot be loaded: the model has no trees

All errors but `OpaucError` itself are a `ValueError` too: code that catches those of scikit-learn catches them. As in
scikit-learn, a parameter of an estimator that is wrong by itself, such as ``alpha=-1``, raises a plain `ValueError`.
The messages of the command name options in place of parameters.
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
    """Base class of the errors of this library: catch it to catch them all.

    Examples
    --------
    >>> import opauc
    >>> from opauc.errors import OpaucError
    >>> try:
    ...     opauc.train("orders.csv", label="returned")
    ... except OpaucError as error:
    ...     print(error)
    orders.csv: no such file
    """


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
    """Sums of the data left the range of float64.

    Values of about 1e150 and more have squares that float64 cannot hold. The model is as it was before the batch.
    Divide the features that are so large, or leave them out.
    """


class IncompatibleMomentsError(OpaucError, ValueError):
    """Models whose sums cannot be added or subtracted, or rows that were never added.

    `merge` raises it for models of other columns, classes or settings, or with another basis; `forget` and `a - b` for
    more rows than the model has. The model is as it was before.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> one, other = OPAUC().fit([[1.0], [2.0]], [0, 1]), OPAUC().fit([[1.0, 0.0], [2.0, 1.0]], [0, 1])
    >>> one.merge(other)
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMomentsError: statistics of 1 features and of 2 do not belong together
    """


class UnknownNameError(OpaucError, KeyError, ValueError):
    """A name that no solver, file format or estimator has; the message lists those there are, the likeliest first.

    Examples
    --------
    >>> import opauc
    >>> model = opauc.OPAUC().fit([[1.0], [2.0]], [0, 1])
    >>> opauc.export(model, "model.js", to="javascript")
    Traceback (most recent call last):
        ...
    opauc.errors.UnknownNameError: unknown format of export 'javascript'; expected one of json, js, ...
    """

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError shows its argument in quotes


class UnsupportedOperationError(OpaucError, ValueError):
    """Something that a model with these parameters cannot do, whatever the data; the message says which can.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> model = OPAUC(solver="sgd").fit([[1.0], [2.0]], [0, 1])
    >>> model.forget([[1.0]], [0])
    Traceback (most recent call last):
        ...
    opauc.errors.UnsupportedOperationError: forget needs solver='exact': the state of 'sgd' depends on each row in turn
    """


class EngineError(OpaucError, ValueError):
    """A cluster or a device failed: there is no Dask client, a worker died, the memory of a device is too small."""


class MissingEngineError(EngineError):
    """An optional package or a device is not there; the message names the extra of `opauc` that installs the package.

    Examples
    --------
    >>> from opauc.core.extras import needed
    >>> with needed("a_cluster", "cluster"):  # as opauc does before it imports an optional package
    ...     import a_cluster
    Traceback (most recent call last):
        ...
    opauc.errors.MissingEngineError: a_cluster is not installed; install opauc with its extra: opauc[cluster]
    """


class DivergedError(OpaucError, ValueError):
    """Gradient descent left the range of float64: the step size `eta0` is too large for the data.

    The model is as it was before the batch. Lower `eta0`, scale the features, or take ``solver="exact"``, which has no
    step size.
    """


class InputError(OpaucError, ValueError):
    """Data that cannot be read, or that lacks what is needed: a file, a column, rows of both classes.

    Examples
    --------
    >>> import opauc
    >>> opauc.evaluate("orders.opauc", [])
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: name the data: files, patterns or folders; or a query (sql=...)
    """


class ParameterError(InputError):
    """A parameter of a function or method that is wrong by itself, with the others, or for this model.

    Parameters of estimators raise a plain `ValueError` when they are wrong by themselves, as in scikit-learn.

    Examples
    --------
    >>> import opauc
    >>> opauc.compare("orders.csv", label="returned", methods=["gem"])
    Traceback (most recent call last):
        ...
    opauc.errors.ParameterError: methods: unknown method 'gem'; expected one of gam, ...
    """


class MalformedRowError(InputError):
    """A row of a file that cannot be read; the message says where it is, why, and what can be done.

    `BadRows` and ``opauc train --on-bad-row skip`` leave such rows out.

    Attributes
    ----------
    source : str
        The file.
    line : int
        The line, the first of the file being 1; in files without lines the row.
    reason : str
        Why the row cannot be read.
    advice : tuple of str or Parameter
        What can be done, as parts of the message.
    column : str, int or None
        The column, where one value is at fault.

    Examples
    --------
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
    """More rows were skipped than ``BadRows(..., most=...)``, or ``--max-bad-rows``, allows."""


class InputChangedError(InputError):
    """A file changed while it was read, or is not the one that a checkpoint was written for.

    Files are read more than once: for the initial sample, for the training, and again when a run is resumed. Train on
    a copy, or start again without the checkpoint.
    """


class UnreadableFileError(OpaucError, ValueError):
    """A model, statistics or checkpoint file is broken, incomplete, or was written by another program.

    Nothing of such a file is used, and nothing in a file is ever executed.
    """


class InputWarning(Message, UserWarning):
    """A guess about the data that may be wrong, such as whether the comma of "1,200" is a decimal one.

    The message says how to set what was guessed.
    """


class DivergenceWarning(UserWarning):
    """Gradient descent does far worse than weights of zero: the step size `eta0` looks too large for the data.

    The fit goes on. Lower `eta0`, scale the features, or take ``solver="exact"``, which has no step size.
    """


class TreesUnavailableWarning(UserWarning):
    """LightGBM cannot be loaded, so `OnePassGAM` is fitted without trees, as with ``trees=False``.

    The message has the reason, such as a missing library of the system (libgomp).
    """
