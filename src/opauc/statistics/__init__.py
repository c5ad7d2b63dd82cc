"""Labelled rows in, class statistics out: sums that merge, can be taken back, and never grow with the data."""

from opauc.statistics.class_moments import ClassMoments
from opauc.statistics.exact_moments import ExactMoments

__all__ = ["ClassMoments", "ExactMoments"]
