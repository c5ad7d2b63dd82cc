"""OPAUC with full covariance in 1,000 dimensions: features drawn, a Gaussian projection, principal components."""

from sklearn.base import BaseEstimator

from experiments.methods import estimator_method
from experiments.paper.column import PROJECTED, RIDGES, STEPS, Column, Context, Cost, Setting
from experiments.paper.data_set import HIGH_DIMENSION, Shape
from experiments.paper.families import descent_family
from experiments.paper.methods.opauc import row_cost as descent_cost
from opauc.baselines import OPAUCf, OPAUCpca, OPAUCrp
from opauc.baselines.opauc_pca import PrincipalComponents
from opauc.linear.maps import FeatureSubset, GaussianProjection
from opauc.metrics import FittedMethod
from opauc.types import Rows

SIZE = 1000
GRID = {"eta0": STEPS, "alpha": RIDGES}


def row_cost(shape: Shape) -> float:
    """Microseconds a row of one pass in 1,000 dimensions."""
    return descent_cost(shape._replace(n_features=SIZE))


def projected(kind: type[BaseEstimator], setting: Setting, context: Context) -> FittedMethod:
    """Algorithm 1 on mapped rows, last iterate."""
    model = kind(
        n_components=SIZE, solver="sgd", learning_rate="constant", average=False, random_state=context.trial, **setting
    )
    return estimator_method(kind.__name__, model)


def on_features(setting: Setting, context: Context) -> FittedMethod:
    """On features drawn at random."""
    return projected(OPAUCf, setting, context)


def on_projection(setting: Setting, context: Context) -> FittedMethod:
    """On a random projection."""
    return projected(OPAUCrp, setting, context)


def on_components(setting: Setting, context: Context) -> FittedMethod:
    """On principal components."""
    return projected(OPAUCpca, setting, context)


def some_features(rows: Rows, context: Context) -> Rows:
    """The features drawn for a trial."""
    return FeatureSubset.sample(min(SIZE, rows.shape[1]), context.trial, rows.shape[1]).rows(rows)


def projection(rows: Rows, context: Context) -> Rows:
    """The projection of a trial."""
    return GaussianProjection.sample(SIZE, context.trial, rows.shape[1]).rows(rows)


def components(rows: Rows, context: Context) -> Rows:
    """The principal components of the rows a setting is chosen on."""
    return PrincipalComponents(rows, min(SIZE, *rows.shape), context.trial).transform()


def drawing_cost(shape: Shape) -> float:
    """Microseconds a row of multiplying with a Gaussian matrix that is drawn anew every 16,384 rows."""
    return 1.0 * shape.entries + 30.0 * shape.n_features * SIZE / 1000 / min(16_384.0, shape.n_rows)


def component_cost(shape: Shape) -> float:
    """Microseconds a row of finding the components."""
    return 16.0 * shape.entries


FEATURES = Column(
    "OPAUC_f", PROJECTED, (HIGH_DIMENSION,), on_features, Cost(row_cost, share=0.75, passes=0.5), GRID,
    descent_family(average=False), some_features, about="OPAUC on 1,000 features drawn at random",
)  # fmt: skip
PROJECTION = Column(
    "OPAUC_rp", PROJECTED, (HIGH_DIMENSION,), on_projection,
    Cost(row_cost, share=0.65, passes=0.5, mapping=drawing_cost), GRID, descent_family(average=False), projection,
    about="OPAUC on a Gaussian projection to 1,000 features",
)  # fmt: skip
COMPONENTS = Column(
    "OPAUC_pca", PROJECTED, (HIGH_DIMENSION,), on_components,
    Cost(row_cost, share=0.65, passes=0.5, mapping=component_cost), GRID, descent_family(average=False), components,
    about="OPAUC on the first 1,000 principal components",
)  # fmt: skip
