"""Columns to rows of features: one-hot, ordinal, hashed."""
