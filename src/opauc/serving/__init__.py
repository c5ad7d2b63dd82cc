"""A model behind HTTP: scores, reasons, training on labeled rows, and metrics."""
