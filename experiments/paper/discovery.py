"""Everything that the files of a package define."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def things_in(package: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield everything that stands in a file of the package, with the name of the file."""
    for module in iter_modules(package.__path__):
        for thing in import_module(f"{package.__name__}.{module.name}").__dict__.values():
            yield module.name, thing
