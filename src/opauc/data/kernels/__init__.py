"""Numba kernels of the readers: text to numbers, columns to rows."""
