"""Linear models of several classes."""
