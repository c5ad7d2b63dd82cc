"""scikit-learn's checks of estimators, without those that cannot hold where the order of rows matters."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from opauc.linear.estimator import StreamClassifier

# scikit-learn declares these two of SGDClassifier expected failures: where rows are processed in their order, a weight
# is a factor on a step and not a number of copies.
ORDER_FREE = {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}
QUICK = {"OPAUC", "OnePassGAM"}


def order_matters(model):
    """Return whether the order of the training rows matters, without fitting: tests are being collected."""
    if not isinstance(model, StreamClassifier):
        return False
    return model._factory().resolved(4).solver.order_matters


def checks_of(models):
    """Return parameters (model, check) of a test for models by name; those of `QUICK` are not slow."""
    return [
        pytest.param(model, check, id=f"{name}-{check.func.__name__}", marks=() if name in QUICK else pytest.mark.slow)
        for name, model in models.items()
        for dropped in [ORDER_FREE if order_matters(model) else set()]
        for _, check in estimator_checks_generator(model)
        if check.func.__name__ not in dropped
    ]
