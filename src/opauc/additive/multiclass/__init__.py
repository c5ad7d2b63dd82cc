"""Additive models of more than two classes: one basis, and for each class a model of it against the rest."""
