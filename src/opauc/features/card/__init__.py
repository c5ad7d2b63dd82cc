"""The card: what each column of a table, and each pair of columns that act together, becomes; fixed from a sample."""

from opauc.features.card.card import Card

__all__ = ["Card"]
