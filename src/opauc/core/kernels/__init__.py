"""Numba kernels that several families use, and how kernels are compiled."""
