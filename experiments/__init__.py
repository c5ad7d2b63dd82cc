"""The paper's evaluation, and what the paper printed that the library does otherwise."""
