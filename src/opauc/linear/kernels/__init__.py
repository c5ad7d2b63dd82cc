"""Numba kernels of the linear solvers."""
