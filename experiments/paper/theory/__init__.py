"""The paper's theory, measured: `python -m experiments.paper.theory` writes docs/research/theory.md."""
