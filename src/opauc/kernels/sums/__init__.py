"""Sums over rows: Gram matrices, sketches, histograms of scores, counts of pairs."""
