"""Files from a server: there whole and right, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from opauc.core.atomic_write import atomic_write
from opauc.errors import OpaucError

PATIENCE_SECONDS = 60.0


class MissingSetError(OpaucError):
    """A data set is neither in the folder nor to be had."""


def fetch(name: str, address: str, path: Path, check: Callable[[Path], None]) -> None:
    """Put what is at an address into a file for the set called `name`; `check` raises where it is not what was meant.

    >>> fetch("a9a", "file:///nowhere", Path("a9a"), lambda path: None)
    Traceback (most recent call last):
        ...
    experiments.paper.download.MissingSetError: a9a: cannot fetch file:///nowhere: ...
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            with urlopen(address, timeout=PATIENCE_SECONDS) as answer, open(partial, "wb") as out:
                shutil.copyfileobj(answer, out)
                if answer.length:  # bytes announced that never came
                    raise URLError(f"the answer ends {answer.length:,} bytes early")
            check(partial)
    except HTTPError as error:
        with error:  # it holds the connection
            raise MissingSetError(f"{name}: cannot fetch {address}: {error}") from error
    except OSError as error:
        raise MissingSetError(f"{name}: cannot fetch {address}: {error}") from error
