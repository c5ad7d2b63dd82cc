"""What the files of a folder define: adding a file is all it takes to add a learner, a format or a map."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

Kind = TypeVar("Kind")


def things_in(package: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield everything that stands in a file of the package, with the name of the file."""
    for module in iter_modules(package.__path__):
        for thing in import_module(f"{package.__name__}.{module.name}").__dict__.values():
            yield module.name, thing


def classes_in(package: ModuleType, kind: type[Kind]) -> Iterator[tuple[str, type[Kind]]]:
    """Yield every class of a kind that a file of the package defines, with the name of the file; bases are left out.

    Examples
    --------
    >>> from opauc import learners
    >>> from opauc.folder import classes_in
    >>> from opauc.learners.learner import Learner
    >>> dict(classes_in(learners, Learner))["sgd"].__name__
    'SGD'
    """
    for file, thing in things_in(package):
        if not isinstance(thing, type) or thing.__module__ != f"{package.__name__}.{file}":
            continue
        if issubclass(thing, kind) and not isabstract(thing):
            yield file, thing
