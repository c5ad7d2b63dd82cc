"""One algorithm a file: weights from statistics and labelled chunks. `opauc.core.registry.SOLVERS` lists them."""
