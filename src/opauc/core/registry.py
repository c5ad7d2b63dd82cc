"""Explicit names of everything that is found by name, and where it is defined.

Names are written into model files and typed by users, so they are listed here
and nowhere derived from file names. A module is imported when its name is first
looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from opauc.errors import UnknownNameError


class Registry(Mapping[str, Any]):
    """A mapping of names to objects that are imported when they are first looked up.

    Examples
    --------
    >>> from opauc.core.registry import Registry
    >>> shapes = Registry("shape", {"fraction": "fractions:Fraction"})
    >>> shapes["fraction"](1, 2)
    Fraction(1, 2)
    >>> shapes["circle"]
    Traceback (most recent call last):
        ...
    opauc.errors.UnknownNameError: unknown shape 'circle'; expected one of fraction
    """

    def __init__(self, kind: str, places: Mapping[str, str]) -> None:
        self._kind, self._places = kind, dict(places)

    def __getitem__(self, name: str) -> Any:
        if name not in self._places:
            raise UnknownNameError(f"unknown {self._kind} {name!r}; expected one of {', '.join(self._places)}")
        module, _, attribute = self._places[name].partition(":")
        return getattr(import_module(module), attribute)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


# Algorithms, by the names in model files and in `opauc compare`.
SOLVERS = Registry(
    "solver",
    {
        "exact": "opauc.learners.exact:Exact",
        "sgd": "opauc.learners.sgd:SGD",
        "progressive_selection": "opauc.learners.progressive_selection:ProgressiveSelection",
        "class_means": "opauc.learners.class_means:ClassMeans",
        "sketched_exact": "opauc.learners.sketched_exact:SketchedExact",
        "sketched_sgd": "opauc.learners.sketched_sgd:SketchedSGD",
        "sketched_grid": "opauc.learners.sketched_grid:SketchedGrid",
        "descent_grid": "opauc.learners.descent_grid:DescentGrid",
        "exact_cv": "opauc.learners.exact_cv:ExactCV",
        "drifting": "opauc.learners.drifting:Drifting",
        "mean_difference": "opauc.learners.mean_difference:MeanDifference",
        "oam": "opauc.learners.oam:OAM",
        "ada_oam": "opauc.learners.ada_oam:AdaOAM",
        "solam": "opauc.learners.solam:SOLAM",
        "spauc": "opauc.learners.spauc:SPAUC",
        "uni_exp": "opauc.learners.uni_exp:UniExp",
        "uni_squ": "opauc.learners.uni_squ:UniSqu",
    },
)

# Sums that can be saved by themselves.
STATISTICS = Registry(
    "statistics",
    {
        "ClassMoments": "opauc.statistics.class_moments:ClassMoments",
        "ClassSketch": "opauc.statistics.class_sketch:ClassSketch",
        "ExactMoments": "opauc.statistics.exact_moments:ExactMoments",
        "FeatureMoments": "opauc.statistics.feature_moments:FeatureMoments",
        "FoldMoments": "opauc.statistics.fold_moments:FoldMoments",
        "GroupMoments": "opauc.statistics.group_moments:GroupMoments",
        "LinearisedSums": "opauc.statistics.linearised_sums:LinearisedSums",
    },
)

# Linear maps of rows to fewer dimensions.
MAPS = Registry(
    "map",
    {
        "FeatureSubset": "opauc.features.linear_maps.feature_subset:FeatureSubset",
        "GaussianProjection": "opauc.features.linear_maps.gaussian_projection:GaussianProjection",
    },
)

# File formats, in the order in which they are listed to people.
FORMATS = Registry(
    "format",
    {
        "libsvm": "opauc.reading.formats.libsvm:LIBSVM",
        "csv": "opauc.reading.formats.csv:CSV",
        "tsv": "opauc.reading.formats.csv:TSV",
        "parquet": "opauc.reading.formats.arrow:PARQUET",
        "arrow": "opauc.reading.formats.arrow:ARROW",
        "numpy": "opauc.reading.formats.numpy:NUMPY",
    },
)

# Estimators of the paper's methods and of later ones.
BASELINES = Registry(
    "baseline",
    {
        name: f"opauc.baselines:{name}"
        for name in (
            "AdaOAM", "BatchUniSqu", "LSSVM", "MeanDifference", "OAM", "OPAUCf", "OPAUCpca", "OPAUCrp", "RandomWeights",
            "SOLAM", "SPAUC", "SVMOR", "SVMPerf", "UniExp", "UniLog", "UniSqu",
        )
    },
)  # fmt: skip

# What `opauc.save` writes and `opauc.load` reads.
ESTIMATORS = Registry(
    "estimator",
    {
        "OPAUC": "opauc.estimators:OPAUC",
        "OPAUCCV": "opauc.estimators:OPAUCCV",
        "OnePassGAM": "opauc.estimators:OnePassGAM",
        **{name: f"opauc.baselines:{name}" for name in BASELINES},
    },
)

# Methods of other libraries for `opauc compare`: those that take features, and those that take columns of tables.
FEATURE_METHODS = Registry("method", {"logistic_regression": "opauc.rivals.logistic_regression:RIVAL"})
TABLE_METHODS = Registry(
    "method", {"gam": "opauc.rivals.tables.gam:RIVAL", "lightgbm": "opauc.rivals.tables.lightgbm:RIVAL"}
)
