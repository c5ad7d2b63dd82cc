"""Explicit names of everything that is found by name, and where it is defined.

Names are written into model files and typed by users, so they are listed here
and nowhere derived from file names. A module is imported when its name is first
looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from opauc.errors import UnknownNameError, unknown_name


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
            raise UnknownNameError(unknown_name(self._kind, name, self._places))
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
        "exact": "opauc.linear.exact:Exact",
        "sgd": "opauc.linear.sgd:SGD",
        "progressive_selection": "opauc.linear.progressive_selection:ProgressiveSelection",
        "class_means": "opauc.linear.means:ClassMeans",
        "sketched_exact": "opauc.linear.sketch_exact:SketchedExact",
        "sketched_sgd": "opauc.linear.sketch_sgd:SketchedSGD",
        "sketched_grid": "opauc.linear.sketch_grid:SketchedGridSGD",
        "descent_grid": "opauc.linear.grid:GridSGD",
        "exact_cv": "opauc.linear.exact_cv:ExactCV",
        "logistic": "opauc.linear.logistic:Logistic",
        "partial_auc": "opauc.linear.partial_auc:PartialAuc",
        "within_groups": "opauc.linear.within_groups:WithinGroups",
        "drifting": "opauc.linear.drift:DriftingExact",
        "mean_difference": "opauc.baselines.mean_difference:MeanDifferenceSolver",
        "oam": "opauc.baselines.oam:OAMSolver",
        "ada_oam": "opauc.baselines.ada_oam:AdaOAMSolver",
        "fsauc": "opauc.baselines.fsauc:FSAUCSolver",
        "solam": "opauc.baselines.solam:SOLAMSolver",
        "spauc": "opauc.baselines.spauc:SPAUCSolver",
        "uni_exp": "opauc.baselines.uni_exp:UniExpSolver",
        "uni_squ": "opauc.baselines.uni_squ:UniSquSolver",
    },
)

# Solvers of more than two classes, by the names in model files.
SEVERAL_SOLVERS = Registry(
    "solver of several classes",
    {
        "multiclass_exact": "opauc.linear.multiclass.solver:MulticlassExact",
        "multiclass_exact_cv": "opauc.linear.multiclass.solver_cv:MulticlassExactCV",
    },
)

# Sums that can be saved by themselves.
STATISTICS = Registry(
    "statistics",
    {
        "ClassMoments": "opauc.linear.moments.classes:ClassMoments",
        "ClassSketch": "opauc.linear.moments.sketch:ClassSketch",
        "ExactMoments": "opauc.linear.moments.exact:ExactMoments",
        "FeatureMoments": "opauc.linear.moments.features:FeatureMoments",
        "FoldMoments": "opauc.linear.moments.folds:FoldMoments",
        "GroupMoments": "opauc.linear.moments.classes:GroupMoments",
        "LinearizedMoments": "opauc.linear.moments.linearized:LinearizedMoments",
        "MulticlassFoldMoments": "opauc.linear.moments.folds:MulticlassFoldMoments",
        "MulticlassMoments": "opauc.linear.moments.multiclass:MulticlassMoments",
        "WithinGroupMoments": "opauc.linear.moments.within_groups:WithinGroupMoments",
        "LinearizedSums": "opauc.additive.sums:LinearizedSums",
        "StreamingAuc": "opauc.metrics.streaming_auc:StreamingAuc",
        "StreamingGroupAuc": "opauc.metrics.streaming_group_auc:StreamingGroupAuc",
        "StreamingMulticlassAuc": "opauc.metrics.streaming_multiclass_auc:StreamingMulticlassAuc",
    },
)

# Linear maps of rows to fewer dimensions.
MAPS = Registry(
    "map",
    {
        "FeatureSubset": "opauc.linear.maps:FeatureSubset",
        "GaussianProjection": "opauc.linear.maps:GaussianProjection",
    },
)

# File formats, in the order in which they are listed to people.
FORMATS = Registry(
    "format",
    {
        "libsvm": "opauc.data.formats.libsvm:LIBSVM",
        "csv": "opauc.data.formats.csv.format:CSV",
        "tsv": "opauc.data.formats.csv.format:TSV",
        "parquet": "opauc.data.formats.arrow:PARQUET",
        "arrow": "opauc.data.formats.arrow:ARROW",
        "jsonl": "opauc.data.formats.json_lines:JSON_LINES",
        "numpy": "opauc.data.formats.numpy:NUMPY",
    },
)

# Estimators of the paper's methods and of later ones.
BASELINES = Registry(
    "baseline",
    {
        name: f"opauc.baselines:{name}"
        for name in (
            "AdaOAM", "BatchUniSqu", "FSAUC", "LSSVM", "MeanDifference", "OAM", "OPAUCf", "OPAUCpca", "OPAUCrp",
            "RandomWeights", "SOLAM", "SPAUC", "SVMOR", "SVMPerf", "UniExp", "UniLog", "UniSqu",
        )
    },
)  # fmt: skip

# What `opauc.save` writes and `opauc.load` reads.
ESTIMATORS = Registry(
    "estimator",
    {
        "OPAUC": "opauc.linear.opauc:OPAUC",
        "OPAUCCV": "opauc.linear.opauc_cv:OPAUCCV",
        "OnePassGAM": "opauc.additive.gam:OnePassGAM",
        **{name: f"opauc.baselines:{name}" for name in BASELINES},
    },
)

# Families of fits, by their names in model files.
FITS = Registry(
    "family",
    {
        "linear": "opauc.linear.fit:LinearFit",
        "additive": "opauc.additive.state:AdditiveFit",
        "additive_multiclass": "opauc.additive.multiclass.fit:MulticlassFit",
        "additive_scoring": "opauc.additive.scoring_only:ScoringOnlyFit",
        "batch": "opauc.core.fit:BatchFit",
    },
)

# What gives the terms of each class, of the families of fits whose scores are sums of terms.
TERMS = Registry(
    "family with terms",
    dict.fromkeys(
        ("additive", "additive_multiclass", "additive_scoring"), "opauc.additive.terms.explain:terms_of_classes"
    ),
)

# How the parameters of estimators that train on streams become a fit.
FACTORIES = Registry(
    "estimator for files",
    {
        "OPAUC": "opauc.linear.resolve:opauc_factory",
        "OPAUCCV": "opauc.linear.resolve:opauc_cv_factory",
        "OnePassGAM": "opauc.additive.factory:AdditiveFactory",
    },
)

# Formats that `opauc export` writes, in the order in which they are listed to people.
EXPORTS = Registry(
    "format of export",
    {
        "json": "opauc.exports.json_text:JSON",
        "js": "opauc.exports.js_code:JS",
        "c": "opauc.exports.c.code:C",
        "onnx": "opauc.exports.onnx.format:ONNX",
        "sql": "opauc.exports.sql.model:SQL",
        "scorecard": "opauc.exports.scorecard_files:SCORECARD",
    },
)

# How rows are read, by the names in model files.
READINGS = Registry(
    "reading",
    {
        "onehot": "opauc.data.encode.table_features:OneHotReading",
        "ordinal": "opauc.data.encode.number_reading:OrdinalReading",
    },
)

# What turns torch tensors into rows and arrays.
TENSOR_INPUT = Registry(
    "tensor input",
    {"rows": "opauc.engines.torch.rows:checked_tensor", "host": "opauc.engines.torch.rows:on_host"},
)

# Solvers that do their work on a torch device, by the names of the solvers they replace.
DEVICE_SOLVERS = Registry(
    "solver for devices",
    {"exact": "opauc.engines.torch.exact:DeviceExact", "descent_grid": "opauc.engines.torch.grid:DeviceGrid"},
)
