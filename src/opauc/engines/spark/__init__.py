"""The same sums on Spark."""
