"""`opauc warmup`: compile all kernels once."""

from __future__ import annotations

from opauc.api.warmup import warmup
from opauc.cli import options as shared
from opauc.cli.console import Reporter


def command(json: shared.Json = False, quiet: shared.Quiet = False) -> int:
    """Compile the kernels once per machine, so that later runs start at once.

    In the image of a container, set NUMBA_CACHE_DIR to a folder that stays.
    Example: NUMBA_CACHE_DIR=/opt/numba opauc warmup
    """
    found = warmup()
    text = f"compiled in {found.seconds:.1f} s" if found.seconds else "everything is compiled already"
    Reporter(json, quiet).say("warmed_up", text, seconds=found.seconds)
    return 0
