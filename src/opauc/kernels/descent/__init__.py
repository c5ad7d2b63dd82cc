"""One pass of an online learner over rows, one algorithm a file."""
