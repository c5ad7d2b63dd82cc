"""Numba kernels of the baselines."""
