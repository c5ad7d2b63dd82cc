"""The basis expansion: splines, categories, pairs and trees, fixed from an initial sample."""
