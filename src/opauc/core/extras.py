"""Optional packages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opauc.errors import MissingEngineError


@contextmanager
def needed(package: str, extra: str) -> Iterator[None]:
    """Raise with the name of the extra where a package that the body imports is not installed.

    Examples
    --------
    >>> from opauc.core.extras import needed
    >>> with needed("a_cluster", "cluster"):
    ...     import a_cluster
    Traceback (most recent call last):
        ...
    opauc.errors.MissingEngineError: a_cluster is not installed; install opauc with its extra: opauc[cluster]
    """
    try:
        yield
    except ImportError as error:
        raise MissingEngineError(f"{package} is not installed; install opauc with its extra: opauc[{extra}]") from error
