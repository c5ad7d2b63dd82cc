"""Models as SQL: one query of expressions that every database computes alike."""
