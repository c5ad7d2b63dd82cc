"""The `opauc` command: one file a verb."""

from opauc.cli.app import main

__all__ = ["main"]
