"""Constraints on additive models: the optimum of all rows seen under them, from the sums alone."""
