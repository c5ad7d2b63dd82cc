"""What a user keeps: a linear scorer."""

from opauc.scorers.linear_scorer import LinearScorer

__all__ = ["LinearScorer"]
