"""What a user keeps: a linear scorer."""

from opauc.models.linear_scorer import LinearScorer

__all__ = ["LinearScorer"]
