"""Algorithms of the baselines."""
