"""Numba kernels of the additive model."""
