"""Data sets of a few rows for tests of the runner."""
