"""Kernels that grow trees of splits, and find the leaf of a row."""
