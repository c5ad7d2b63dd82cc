"""OnePassGAM: a generalized additive model with interactions, fitted in one pass over a raw table."""
