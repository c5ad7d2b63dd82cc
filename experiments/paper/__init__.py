"""Section 6 of the paper on real data: every table and figure, computed again and shown with the published one.

`python -m experiments.paper run` computes what is missing in the store,
`python -m experiments.paper report` turns the store into pages and tables.
"""
